// Notes when frames came to a listener, and plays them as the client would: how late speech is at the ear.
import { createJitter } from '../../src/client/sound/jitter.js';
import { createSlower } from '../../src/client/sound/tempo.js';
import { quartiles } from '../figures/figures.js';
import { nowMs } from '../machine/clock.js';

/** One frame that a listener heard. Milliseconds by nowMs(). */
export interface Arrival {
  readonly sequence: number;
  readonly dueMs: number;
  readonly atMs: number;
}

export interface Ears {
  /** Called for each measured frame of each probe. */
  note(listener: number, sequence: number, latencyMs: number): void;
  /** What each of them has heard since the last call, of those that heard anything. */
  take(): readonly (readonly Arrival[])[];
}

/** Of every so many-th probe, by its place among the listeners. null: nothing is noted. */
export function createEars(probes: readonly number[], every: number | undefined): Ears | null {
  if (every === undefined) return null;
  const heard = new Map(probes.filter((_, i) => i % every === 0).map((probe) => [probe, [] as Arrival[]]));
  return {
    note(listener, sequence, latencyMs) {
      const atMs = nowMs();
      heard.get(listener)?.push({ sequence, dueMs: atMs - latencyMs, atMs });
    },
    take: () => [...heard.values()].map((arrivals) => arrivals.splice(0)).filter(({ length }) => length > 0),
  };
}

/** A frame of speech, and the period in which the player asks for the next one. */
const PERIOD_MS = 20;
/** The delay that play ends up with is that of the last second. */
const LAST_FRAMES = 50;
const SPEECH = new Uint8Array(0);
/** A frame as it is played, 20 ms at 48 kHz. Only its length counts. */
const SAMPLES = new Float32Array(960);

export interface Heard {
  /**
   * From the beginning of a frame at the mouth to when it is played: the frame itself, the way through server and generator,
   * and the jitter buffer. Encoder, network and sound devices come on top. null: nothing was played.
   */
  readonly mouthToEarMs: number | null;
  readonly underrunsPerMinute: number | null;
}

/** Of all ears together: the median of their delays, and the underruns of all of them. */
export function listenWith(ears: readonly (readonly Arrival[])[]): Heard {
  const played = ears.map((arrivals, i) => play(arrivals, (PERIOD_MS * i) / ears.length));
  const delaysMs = played.map(({ delaysMs }) => quartiles(delaysMs.slice(-LAST_FRAMES)).median);
  const minutes = played.reduce((sum, { ms }) => sum + ms, 0) / 60_000;
  const underruns = played.reduce((sum, one) => sum + one.underruns, 0);
  const mouthToEarMs = quartiles(delaysMs.filter(Number.isFinite)).median;
  return {
    mouthToEarMs: Number.isFinite(mouthToEarMs) ? mouthToEarMs : null,
    underrunsPerMinute: minutes > 0 ? underruns / minutes : null,
  };
}

/** The clock of a player runs `phaseMs` behind the first frame. Speech has no pauses here, so no packet is left out. */
function play(arrivals: readonly Arrival[], phaseMs: number) {
  const jitter = createJitter(PERIOD_MS);
  const slower = createSlower();
  const dueMs = new Map(arrivals.map((arrival) => [arrival.sequence, arrival.dueMs]));
  const [fromMs = 0, toMs = 0] = [arrivals[0]?.atMs, arrivals.at(-1)?.atMs];
  const delaysMs: number[] = [];
  let next = 0;
  for (let ms = fromMs + phaseMs; ms <= toMs; ) {
    for (let come = arrivals[next]; come !== undefined && come.atMs <= ms; come = arrivals[++next])
      jitter.push(come.sequence, SPEECH, come.atMs);
    const piece = jitter.pull(ms);
    if (piece.kind === 'packet') delaysMs.push(ms + PERIOD_MS - (dueMs.get(piece.sequence) ?? Number.NaN));
    const isSlower = piece.kind === 'packet' && piece.pace === 'short';
    ms += isSlower ? (slower(SAMPLES).length / SAMPLES.length) * PERIOD_MS : PERIOD_MS;
  }
  return { delaysMs, underruns: jitter.counts.underruns, ms: toMs - fromMs };
}
