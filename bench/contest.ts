// A contest: the same load on several servers, in turns, from one generator.
import { once } from 'node:events';
import type { Latency } from './histogram.js';
import { startNode } from './processes.js';
import type { Target } from './wire.js';

/** The load of each server: one talker, in turns of `turnFrames`; nothing is said between them. */
export interface Load {
  readonly listeners: number;
  /** Every so many-th listener is a probe. */
  readonly probeEvery: number;
  readonly framesPerSecond: number;
  readonly payloadBytes: number;
  readonly turnFrames: number;
  /** Measured turns of each server; one more comes before, to warm up. */
  readonly turns: number;
}

/** What the generator needs to know; plain data. */
export interface ContestTask {
  /** With the process id of each server. */
  readonly peers: readonly (Target & { readonly pid: number })[];
  /** The talker's, then the listeners'. */
  readonly tokens: readonly string[];
  readonly talkgroup: number;
  readonly load: Load;
}

/** One measured turn; the share is of one core. */
export interface Turn {
  readonly peer: number;
  readonly cpuUsPerDelivery: number;
  readonly serverShare: number;
}

/** What the listeners of one server have seen; `lost` to `outOfOrder` over all of its frames. */
export interface Heard {
  readonly latency: Latency;
  readonly sent: number;
  readonly lost: number;
  /** Heard twice, or never sent. */
  readonly duplicated: number;
  readonly outOfOrder: number;
}

export interface Contest {
  /** In the order in which they were played: the n-th turns of all peers are neighbours. */
  readonly turns: readonly Turn[];
  readonly heard: readonly Heard[];
  /** How late frames left the generator; counted into their latency. */
  readonly late: Latency;
  /** Over all turns, in shares of one core: what the generator used, and what neither it nor the servers did. */
  readonly generatorShare: number;
  readonly othersShare: number;
}

/** Runs in a process of its own, ended by `signal`; rejects when a radio could not join or lost its connection. */
export async function runContest(
  task: ContestTask,
  { cores, signal }: { cores: string | null; signal: AbortSignal },
): Promise<Contest> {
  const child = startNode(new URL('./generator.js', import.meta.url), {
    cores,
    signal,
    env: { PATH: process.env.PATH },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  child.on('error', () => {}); // an abort; the wait below hears of it too
  child.send(task);
  const answered = once(child, 'message', { signal });
  const ended = once(child, 'exit').then(() =>
    Promise.reject(new Error('the generator ended without a result')),
  );
  const [contest] = await Promise.race([answered, ended]);
  return contest as Contest;
}
