// Mixes the voices of all talkgroups for the audio thread: a queue for each voice, a volume and a side for each talkgroup.
import { createPlaying, type Playing } from './playing.js';
import { type FromPlayer, listen, type Port, type ToPlayer } from './ports.js';

/** How loud a talkgroup is on the left and the right of the first output, and on both sides of the second one. */
export type Gains = { left: number; right: number; second: number };

/** The page to the player. A talkgroup is known by its place. */
export type ToMixer =
  | { kind: 'add'; place: number; port: Port; gains: Gains }
  | { kind: 'remove'; place: number }
  | { kind: 'gains'; place: number; gains: Gains };

export type Mixer = {
  receive(message: ToMixer): void;
  /** Adds the next samples to left and right of the first output and of the second one, which are silent before. */
  mix(first: readonly Float32Array[], second: readonly Float32Array[]): void;
  /** The mean power of each talkgroup since the last call, by place. null while nothing changed from silence. */
  powers(): Float32Array | null;
};

type Talkgroup = {
  readonly port: Port;
  voices: Playing[];
  /** What is heard now, which follows `wanted` within a quantum. */
  gains: Gains;
  wanted: Gains;
  power: number;
};

const FADE_MS = 5;
const QUANTUM = 128;
/** Loudness returns to 1 within half a second after a peak above the full scale. */
const RECOVERY = 0.005;

/** Creates a mixer without talkgroups. */
export function createMixer(rate: number): Mixer {
  const fade = Math.round((rate * FADE_MS) / 1000);
  const talkgroups: (Talkgroup | null)[] = [];
  const sum = new Float32Array(QUANTUM);
  const limits = [createLimiter(), createLimiter()] as const;
  // Used again for each message, because the audio thread must not create objects.
  const message = { kind: 'played', voice: 0, due: 0 } satisfies FromPlayer;
  const nothing: ArrayBuffer[] = [];
  let powers = new Float32Array(0);
  let samples = 0;
  let wasSilent = true;
  let port: Port | null = null;

  return { receive, mix, powers: takePowers };

  function receive(told: ToMixer): void {
    if (told.kind === 'add') {
      const talkgroup: Talkgroup = {
        port: told.port,
        voices: [],
        gains: told.gains,
        wanted: told.gains,
        power: 0,
      };
      talkgroups[told.place] = talkgroup;
      if (powers.length < talkgroups.length) powers = new Float32Array(talkgroups.length);
      listen<ToPlayer>(told.port, (heard) => follow(talkgroup, heard));
      const hello: FromPlayer = { kind: 'rate', rate };
      told.port.postMessage(hello, []);
    } else if (told.kind === 'remove') {
      talkgroups[told.place]?.port.close();
      talkgroups[told.place] = null;
    } else {
      const talkgroup = talkgroups[told.place];
      if (talkgroup) talkgroup.wanted = told.gains;
    }
  }

  function follow(talkgroup: Talkgroup, heard: ToPlayer): void {
    let voice = talkgroup.voices.find(({ number }) => number === heard.voice);
    if (heard.kind === 'drop') return voice?.drop();
    if (!voice) {
      voice = createPlaying(heard.voice, fade);
      talkgroup.voices.push(voice);
    }
    if (voice.push(heard.samples, heard.length, heard.due)) return;
    // The queue is full, because the worker sent more than was played. It is told as played, so that the count is right.
    port = talkgroup.port;
    played(heard.voice, heard.due);
  }

  function mix(first: readonly Float32Array[], second: readonly Float32Array[]): void {
    samples += QUANTUM;
    for (let place = 0; place < talkgroups.length; place++) {
      const talkgroup = talkgroups[place];
      if (talkgroup) mixOne(talkgroup, first, second);
    }
    limits[0](first);
    limits[1](second);
  }

  function mixOne(
    talkgroup: Talkgroup,
    first: readonly Float32Array[],
    second: readonly Float32Array[],
  ): void {
    const { voices, gains, wanted } = talkgroup;
    talkgroup.gains = wanted;
    if (voices.length === 0) return;
    sum.fill(0);
    port = talkgroup.port;
    let isOneOver = false;
    for (const voice of voices) {
      voice.mix(sum, played);
      isOneOver ||= voice.isOver;
    }
    if (isOneOver) talkgroup.voices = voices.filter(({ isOver }) => !isOver);
    talkgroup.power +=
      add(sum, first[0], gains.left, wanted.left) +
      add(sum, first[1], gains.right, wanted.right) +
      add(sum, second[0], gains.second, wanted.second) +
      add(sum, second[1], gains.second, wanted.second);
  }

  function played(voice: number, due: number): void {
    message.voice = voice;
    message.due = due;
    port?.postMessage(message, nothing);
  }

  function takePowers(): Float32Array | null {
    let isSilent = true;
    for (let place = 0; place < talkgroups.length; place++) {
      const talkgroup = talkgroups[place];
      powers[place] = talkgroup ? talkgroup.power / Math.max(1, samples) : 0;
      if (talkgroup) talkgroup.power = 0;
      isSilent &&= powers[place] === 0;
    }
    samples = 0;
    const isNews = !isSilent || !wasSilent;
    wasSilent = isSilent;
    return isNews ? powers : null;
  }
}

/** Adds a quantum with a volume that goes from one value to the other. Returns the power that was added. */
function add(sum: Float32Array, to: Float32Array | undefined, from: number, wanted: number): number {
  if (to === undefined || (from === 0 && wanted === 0)) return 0;
  let power = 0;
  for (let i = 0; i < sum.length; i++) {
    const value = (sum[i] ?? 0) * (from + ((wanted - from) * i) / sum.length);
    to[i] = (to[i] ?? 0) + value;
    power += value * value;
  }
  return power;
}

/** Makes a quantum quieter that is louder than the full scale, as several voices at once can be. */
function createLimiter(): (channels: readonly Float32Array[]) => void {
  let gain = 1;
  return (channels) => {
    let peak = 1;
    for (const channel of channels) for (const value of channel) peak = Math.max(peak, Math.abs(value));
    const from = gain;
    gain = Math.min(1 / peak, gain + RECOVERY);
    if (from === 1 && gain === 1) return;
    for (const channel of channels) {
      for (let i = 0; i < channel.length; i++) {
        const share = from + ((gain - from) * i) / channel.length;
        // A peak at the beginning of a quantum comes before the gain has followed.
        channel[i] = Math.max(-1, Math.min(1, (channel[i] ?? 0) * share));
      }
    }
  };
}
