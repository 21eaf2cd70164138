// Mass listeners: a few probes that read at once and time each frame, and sinks that read rarely; all check sequences.
import { readSequence } from '../src/relay/frame.js';
import { nowMs } from './clock.js';
import { readDueMs } from './timed-frame.js';
import type { Member } from './users.js';
import { type ConnectionLost, RawRadio, type Target } from './wire.js';

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
  readonly users: readonly Member[];
  /** Every so many-th listener is a probe; the others are sinks. */
  readonly probeEvery: number;
  /** Frames in a run. */
  readonly frames: number;
  /** Called by probes: the frame's number, and milliseconds from when it was due to heard. */
  readonly heard: (sequence: number, latencyMs: number) => void;
  /** A connection ended without our doing. */
  readonly lost: (loss: ConnectionLost) => void;
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
    options.users,
    (token, i) => new RawRadio({ target, token, lost, receive: listener(options, tally, isProbe(i)) }),
  );
  const sinks = radios.filter((_, i) => !isProbe(i));
  for (const sink of sinks) sink.hold();
  return {
    tally,
    sip(part, parts) {
      for (let i = part % parts; i < sinks.length; i += parts) sinks[i]?.sip();
    },
    flow() {
      for (const sink of sinks) sink.flow();
    },
  };
}

/** Connections under way at once: below the server's bounds and the kernel's listen backlog. */
const JOINING_MAX = 64;

/** Connects one radio for each user, in their order, JOINING_MAX at a time; rejects when one cannot join. */
export async function joinAll(
  users: readonly Member[],
  connect: (token: string, index: number) => RawRadio,
): Promise<readonly RawRadio[]> {
  const radios: RawRadio[] = [];
  const waiting = users.entries();
  const work = async () => {
    for (const [i, { token }] of waiting) {
      const radio = connect(token, i);
      radios[i] = radio;
      await radio.joined;
    }
  };
  await Promise.all(Array.from({ length: JOINING_MAX }, work));
  return radios;
}

/** The reading end of one listener: runs for each of tens of thousands of deliveries a second. */
function listener({ frames, heard }: SwarmOptions, tally: Tally, isProbe: boolean) {
  const seen = new Uint8Array(frames);
  let last = -1;
  return (bytes: Buffer, start: number, end: number) => {
    const view = new DataView(bytes.buffer, bytes.byteOffset + start, end - start);
    const dueMs = readDueMs(view);
    if (Number.isNaN(dueMs)) return; // of somebody whose frames are not counted
    const sequence = readSequence(view);
    if (seen[sequence] !== 0) {
      tally.duplicated++;
      return;
    }
    seen[sequence] = 1;
    tally.received++;
    if (sequence < last) tally.outOfOrder++;
    else last = sequence;
    if (isProbe) heard(sequence, nowMs() - dueMs);
  };
}
