// Takes what the listeners of a load hear: each frame of each talker once, and how late it is at some of them.
import { HEADER_BYTES, SENDER_AT } from '../../src/protocol/frame.js';
import { createRecorder, type Latency } from '../figures/histogram.js';
import { nowMs } from '../machine/clock.js';
import type { Receive } from '../radios/dialects/dialect.js';
import type { RawRadio } from '../radios/raw-radio.js';
import { sinksOf, sipping } from '../radios/swarm.js';
import { dueMsAt, timedFrame } from '../radios/timed-frame.js';

/** Opus at 24 kbit/s, 50 frames a second. */
export const PAYLOAD_BYTES = 60;
export const PERIOD_MS = 20;
/** The number of the frame among all of its talker, behind the due time. */
const NUMBER_AT = HEADER_BYTES + 8;

export interface LoadFrame {
  readonly talkgroup: number;
  readonly flags: number;
  /** From the start of its burst. */
  readonly sequence: number;
  readonly number: number;
  readonly dueMs: number;
}

export function loadFrame({ number, ...frame }: LoadFrame): Uint8Array {
  const bytes = timedFrame({ ...frame, payloadBytes: PAYLOAD_BYTES });
  new DataView(bytes.buffer, bytes.byteOffset).setUint32(NUMBER_AT, number);
  return bytes;
}

/** As many listeners read at once and take the time. The others read a few times a second, which costs a tenth. */
const PROBES_MAX = 100;

export interface Hearing {
  /** The next listener. */
  listener(): Listener;
  /** Frames of the sessions that talk. */
  talks(sessions: readonly number[]): void;
  /** Those that take no time read rarely from now on, until `flow`. */
  hold(): void;
  flow(): void;
  /** Of all listeners, each frame once. */
  received(): number;
  heard(): Heard;
}

export interface Listener {
  readonly receive: Receive;
  /** Called once, before it hears anything. */
  has(radio: RawRadio): void;
}

export interface Heard {
  /** Frames that each listener heard, each once. */
  readonly byListener: readonly number[];
  readonly twice: number;
  /** Of the listeners that take the time. */
  readonly latency: Latency;
  readonly probes: number;
}

/** `framesMax`: of one talker. */
export function createHearing(listeners: number, framesMax: number): Hearing {
  const probeEvery = Math.ceil(listeners / PROBES_MAX);
  const recorder = createRecorder();
  const byListener: number[] = [];
  const sinks: RawRadio[] = [];
  const reading = sipping(sinksOf(sinks), PERIOD_MS);
  let places: ReadonlyMap<number, number> = new Map();
  let received = 0;
  let twice = 0;

  /** Runs for each of tens of thousands of deliveries a second. */
  function ear(index: number, isProbe: boolean): Receive {
    /** A bit for each frame, by talker. */
    const heard: Uint8Array[] = [];
    byListener[index] = 0;
    return (bytes, start, end) => {
      if (end - start < NUMBER_AT + 4) return; // of another user
      const place = places.get(bytes.readUInt32BE(start + SENDER_AT));
      if (place === undefined) return;
      const number = bytes.readUInt32BE(start + NUMBER_AT);
      if (number >= framesMax) return;
      heard[place] ??= new Uint8Array((framesMax >> 3) + 1);
      const bits = heard[place];
      const bit = 1 << (number & 7);
      if (((bits[number >> 3] ?? 0) & bit) !== 0) {
        twice++;
        return;
      }
      bits[number >> 3] = (bits[number >> 3] ?? 0) | bit;
      byListener[index] = (byListener[index] ?? 0) + 1;
      received++;
      if (isProbe) recorder.record(nowMs() - dueMsAt(bytes, start));
    };
  }

  return {
    listener() {
      const index = byListener.length;
      const isProbe = index % probeEvery === 0;
      return {
        receive: ear(index, isProbe),
        has: (radio) => {
          if (!isProbe) sinks.push(radio);
        },
      };
    },
    talks(sessions) {
      places = new Map(sessions.map((session, place) => [session, place]));
    },
    hold() {
      if (sinks.length > 0) reading.hold();
    },
    flow: reading.flow,
    received: () => received,
    heard: () => ({
      ...{ byListener, twice, latency: recorder.latency() },
      probes: byListener.length - sinks.length,
    }),
  };
}
