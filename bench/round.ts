// One round: a talker speaks on schedule into a server, listeners hear, and both sides' cost is read.
import { once } from 'node:events';
import type { Latency } from './histogram.js';
import { startNode } from './processes.js';
import type { Target } from './wire.js';

/** The load of a round. The frames before and after the window are sent, counted and checked, but not timed. */
export interface Load {
  readonly listeners: number;
  /** Every so many-th listener is a probe. */
  readonly probeEvery: number;
  readonly framesPerSecond: number;
  readonly payloadBytes: number;
  /** Frames before the window: the burst's start events, caches, the generator's own warming up. */
  readonly leadInFrames: number;
  readonly windowFrames: number;
}

/** What the generator needs to know; plain data. */
export interface RoundTask {
  readonly target: Target;
  /** Of the server. */
  readonly pid: number;
  /** The talker's, then the listeners'. */
  readonly tokens: readonly string[];
  readonly talkgroup: number;
  readonly load: Load;
}

/** What a round showed. Shares are of one core. */
export interface Round {
  readonly sent: number;
  /** Deliveries that should have been and were not. */
  readonly lost: number;
  readonly duplicated: number;
  readonly outOfOrder: number;
  /** In the window. */
  readonly delivered: number;
  readonly latency: Latency;
  readonly server: { readonly cpuUs: number; readonly cpuUsPerDelivery: number; readonly cpuShare: number };
  readonly generator: { readonly cpuShare: number; readonly lateP99Ms: number; readonly lateMaxMs: number };
  /** What everything else on the machine used meanwhile, stolen time included; in steps of 10 ms. */
  readonly others: { readonly cpuShare: number };
}

/** Runs in a process of its own, ended by `signal`; rejects when a radio could not join or lost its connection. */
export async function runRound(
  task: RoundTask,
  { cores, signal }: { cores: string | null; signal: AbortSignal },
): Promise<Round> {
  const child = startNode(new URL('./generator.js', import.meta.url), {
    cores,
    signal,
    env: { PATH: process.env.PATH },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  // `signal` ends it with an error that the wait below reports as well.
  child.on('error', () => {});
  child.send(task);
  const heard = once(child, 'message', { signal });
  const ended = once(child, 'exit').then(() =>
    Promise.reject(new Error('the generator ended without a result')),
  );
  ended.catch(() => {}); // it always ends, mostly after its result
  const [round] = await Promise.race([heard, ended]);
  return round as Round;
}
