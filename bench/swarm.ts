// Mass listeners: a few probes that read at once and time each frame, and sinks that read rarely; all check sequences.
import { HEADER_BYTES, readSequence } from '../src/relay/frame.js';
import { nowMs } from './clock.js';
import { RawRadio, type Target } from './wire.js';

/** Frames of one run, numbered from 0 in the header's 16 bits: no run may be longer. */
const FRAMES_MAX = 65_536;

/** What the listeners of a run have seen, over all of them. */
export interface Tally {
  received: number;
  /** Heard twice, or never sent. */
  duplicated: number;
  outOfOrder: number;
}

export interface SwarmOptions {
  readonly target: Target;
  readonly tokens: readonly string[];
  /** Every so many-th listener is a probe; the others are sinks. */
  readonly probeEvery: number;
  /** Frames in a run. */
  readonly frames: number;
  /** The first frame that is timed, and the first that no longer is. */
  readonly timed: { readonly from: number; readonly to: number };
  /** Called by probes for timed frames: milliseconds from due to heard. */
  readonly heard: (latencyMs: number) => void;
  /** A connection ended without our doing. */
  readonly lost: (error: Error) => void;
}

export interface Swarm {
  readonly tally: Readonly<Tally>;
  /** Reads once from each sink of one of `parts` equal parts. */
  sip(part: number, parts: number): void;
  /** From now on sinks read like probes. */
  flow(): void;
}

/** Resolves when all listeners have joined; rejects when one could not. */
export async function connectSwarm(options: SwarmOptions): Promise<Swarm> {
  const { target, probeEvery, lost } = options;
  if (options.frames > FRAMES_MAX) throw new RangeError(`a run has at most ${FRAMES_MAX} frames`);
  const tally: Tally = { received: 0, duplicated: 0, outOfOrder: 0 };
  const isProbe = (index: number) => index % probeEvery === 0;
  const radios = await joinAll(
    options.tokens,
    (token, i) => new RawRadio({ target, token, lost, receive: listener(options, tally, isProbe(i)) }),
  );
  const sinks = radios.filter((_, i) => !isProbe(i));
  for (const sink of sinks) sink.flows = false;
  return {
    tally,
    sip(part, parts) {
      for (let i = part % parts; i < sinks.length; i += parts) sinks[i]?.sip();
    },
    flow() {
      for (const sink of sinks) {
        sink.flows = true;
        sink.sip();
      }
    },
  };
}

/** Connections under way at once: below the server's bounds and the kernel's listen backlog. */
const JOINING_MAX = 64;

/** Connects one radio for each token, in their order, JOINING_MAX at a time; rejects when one cannot join. */
export async function joinAll(
  tokens: readonly string[],
  connect: (token: string, index: number) => RawRadio,
): Promise<readonly RawRadio[]> {
  const radios: RawRadio[] = [];
  const waiting = tokens.entries();
  const work = async () => {
    for (const [i, token] of waiting) {
      const radio = connect(token, i);
      radios[i] = radio;
      await radio.joined;
    }
  };
  await Promise.all(Array.from({ length: JOINING_MAX }, work));
  return radios;
}

/** The reading end of one listener: runs for each of tens of thousands of deliveries a second. */
function listener({ frames, timed, heard }: SwarmOptions, tally: Tally, isProbe: boolean) {
  const seen = new Uint8Array(frames);
  let last = -1;
  return (bytes: Buffer, start: number, end: number) => {
    const view = new DataView(bytes.buffer, bytes.byteOffset + start, end - start);
    const sequence = readSequence(view);
    if (seen[sequence] !== 0) {
      tally.duplicated++;
      return;
    }
    seen[sequence] = 1;
    tally.received++;
    if (sequence < last) tally.outOfOrder++;
    else last = sequence;
    if (isProbe && sequence >= timed.from && sequence < timed.to) heard(nowMs() - readDueMs(view));
  };
}

/** The payload begins with the time at which the frame was due (nowMs); the rest of it is silence. */
export function writeDueMs(payload: Uint8Array, dueMs: number): void {
  new DataView(payload.buffer, payload.byteOffset).setFloat64(0, dueMs);
}

const readDueMs = (frame: DataView): number => frame.getFloat64(HEADER_BYTES);
