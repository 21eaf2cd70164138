// Turns the packets of one burst into pieces of sound, when the player has room for them.

import { opusMs } from '../audio/opus.js';
import { CODEC_RATE, type Decoder, FRAME_SAMPLES, type Samples } from './codec.js';
import { createJitter, type JitterCounts } from './jitter.js';
import type { Port, ToPlayer } from './ports.js';
import { createResampler } from './resample.js';
import { createFaster, createSlower } from './tempo.js';

/** The player of a talkgroup, and how long its voices are buffered at least. */
export type Line = { readonly port: Port; readonly rate: number; readonly targetMs: number };

export type Voice = {
  /** Its number at the player. */
  readonly number: number;
  readonly counts: Readonly<JitterCounts>;
  /** Times that the player had nothing to play, because this thread was late. */
  readonly starved: number;
  hear(sequence: number, payload: Uint8Array, nowMs: number): void;
  /** The player has played a piece. False when the voice is over. */
  played(length: number, nowMs: number): boolean;
  /** What is queued is stale. The voice continues under another number, because the player drops the first one. */
  lagged(number: number, nowMs: number): void;
  /** No packet follows. False when the voice is over now, because the rest cannot be heard. */
  ended(nowMs: number): boolean;
  close(): void;
};

/** The player has so much, at least, beside the piece that it plays. */
const AHEAD_MIN = FRAME_SAMPLES;
/** A player that played nothing for so long stands still (ms). Its context is suspended. */
const STANDING_MS = 1_000;
const PERIOD_MS = 20;
/** A frame below this is a pause: −50 dBFS, or 20 dB below the loudest one of the last seconds. */
const PAUSE_LEVEL = 0.003;
const PAUSE_SHARE = 0.1;
const LOUDEST_DECAY = 0.998;

/** Creates the voice of a burst. The decoder arrives before the first packet is due, 40 ms after it came. */
export function createVoice(
  line: Line,
  firstNumber: number,
  first: Uint8Array,
  opening: Promise<Decoder>,
): Voice {
  const periodMs = opusMs(first) ?? PERIOD_MS;
  const periodSamples = (periodMs * CODEC_RATE) / 1000;
  const jitter = createJitter(periodMs, line.targetMs);
  const paced = { late: createFaster(), short: createSlower(), live: same, surplus: same };
  const resample = line.rate === CODEC_RATE ? null : createResampler(CODEC_RATE, line.rate);
  let number = firstNumber;
  let decoder: Decoder | null = null;
  let isClosed = false;
  let isFinishing = false;
  /** Samples at the player, at 48 kHz. */
  let ahead = 0;
  let playedAtMs = Number.NEGATIVE_INFINITY;
  let loudest = 0;
  let starved = 0;

  void opening.then((opened) => {
    if (isClosed) opened.free();
    else decoder = opened;
  });

  return {
    get number() {
      return number;
    },
    counts: jitter.counts,
    get starved() {
      return starved;
    },
    hear(sequence, payload, nowMs) {
      if (isStanding(nowMs)) jitter.clear();
      jitter.push(sequence, payload, nowMs);
      if (ahead === 0) {
        playedAtMs = nowMs;
        fill(nowMs);
      }
    },
    played(length, nowMs) {
      ahead -= length;
      if (ahead === 0 && !isFinishing) starved += 1;
      playedAtMs = nowMs;
      fill(nowMs);
      return ahead > 0;
    },
    lagged(nextNumber, nowMs) {
      jitter.clear();
      send({ kind: 'drop', voice: number });
      number = nextNumber;
      ahead = 0;
      fill(nowMs);
    },
    ended(nowMs) {
      jitter.end();
      return ahead > 0 && !isStanding(nowMs);
    },
    close() {
      isClosed = true;
      send({ kind: 'drop', voice: number });
      decoder?.free();
    },
  };

  function isStanding(nowMs: number): boolean {
    return ahead > 0 && nowMs - playedAtMs > STANDING_MS;
  }

  function fill(nowMs: number): void {
    while (ahead <= AHEAD_MIN && !isFinishing) next(nowMs);
  }

  function next(nowMs: number): void {
    const piece = jitter.pull(nowMs);
    switch (piece.kind) {
      case 'silence':
        return play(null, periodSamples);
      case 'lost':
        return conceal();
      case 'over':
        // One more piece of silence: the player fades into it.
        isFinishing = true;
        return play(null, FRAME_SAMPLES);
      case 'packet': {
        const samples = decoder?.decode(piece.payload) ?? new Float32Array(periodSamples);
        const isLeftOut = piece.pace === 'surplus' || piece.pace === 'late';
        if (isLeftOut && isPause(samples)) return jitter.leftOut();
        return playAll(paced[piece.pace](samples));
      }
    }
  }

  function conceal(): void {
    for (let left = periodSamples; left > 0; left -= FRAME_SAMPLES) {
      const samples = decoder?.decode(null) ?? new Float32Array(FRAME_SAMPLES);
      playAll(left < samples.length ? samples.slice(0, left) : samples);
    }
  }

  function isPause(samples: Samples): boolean {
    let power = 0;
    for (const sample of samples) power += sample * sample;
    const level = Math.sqrt(power / samples.length);
    loudest = Math.max(level, loudest * LOUDEST_DECAY);
    return level < Math.max(PAUSE_LEVEL, loudest * PAUSE_SHARE);
  }

  /** A packet of 60 ms is three pieces. A shorter piece is the first one, so that the player has a whole one ahead. */
  function playAll(samples: Samples): void {
    if (samples.length <= FRAME_SAMPLES) return play(samples, samples.length);
    const first = samples.length % FRAME_SAMPLES || FRAME_SAMPLES;
    for (let from = 0, to = first; from < samples.length; from = to, to += FRAME_SAMPLES)
      play(samples.slice(from, to), to - from);
  }

  function play(samples: Samples | null, length: number): void {
    ahead += length;
    if (resample === null) return send({ kind: 'play', voice: number, samples, length, due: length });
    // Silence too, so that the player gets as many samples as it plays.
    const resampled = resample(samples ?? new Float32Array(length));
    const sound = samples === null ? null : resampled;
    send({ kind: 'play', voice: number, samples: sound, length: resampled.length, due: length });
  }

  function send(message: ToPlayer): void {
    const samples = message.kind === 'play' ? message.samples : null;
    line.port.postMessage(message, samples === null ? [] : [samples.buffer]);
  }
}

const same = (samples: Samples) => samples;
