// Says which threads of a service relay, how its CPU time is dealt out over them, and what that makes of more cores.
import type { Played } from '../generator/loads/contest.js';

/** A turn of a server that tells the CPU time of its threads. */
export type ThreadTurn = Pick<Played, 'round' | 'delivered' | 'isWhole' | 'threadsUs'>;

/** CPU microseconds of the relay threads for each delivery, by round. Turns that were not over in time are left out. */
export interface ThreadCosts {
  /** Of all relay threads together. */
  readonly all: ReadonlyMap<number, number>;
  /** Of the one that used the most over all turns. */
  readonly busiest: ReadonlyMap<number, number>;
}

export function threadCostsOf(turns: readonly ThreadTurn[], relayThreads: number): ThreadCosts {
  const whole = turns.filter(({ isWhole }) => isWhole);
  const threads = relayThreadsOf(whole, relayThreads);
  const costs = (of: readonly string[]) =>
    new Map(
      whole.map(({ round, delivered, threadsUs }) => [
        round,
        of.reduce((sum, thread) => sum + (threadsUs?.[thread] ?? 0), 0) / delivered,
      ]),
    );
  return { all: costs(threads), busiest: costs(threads.slice(0, 1)) };
}

/**
 * The busiest first. They are those that used the most CPU time over all turns: beside deliveries the other threads of the
 * service have next to nothing to do. Names do not tell, because Node 20 gives all threads the same one.
 */
function relayThreadsOf(turns: readonly ThreadTurn[], count: number): string[] {
  const sums = new Map<string, number>();
  for (const { threadsUs = {} } of turns)
    for (const [thread, us] of Object.entries(threadsUs)) sums.set(thread, (sums.get(thread) ?? 0) + us);
  return [...sums]
    .sort(([, a], [, b]) => b - a)
    .slice(0, count)
    .map(([thread]) => thread);
}

/** What is measured of one node or thread for each frame: CPU microseconds. */
export interface FramePrices {
  /** To take a frame of a talker. */
  readonly inbound: number;
  /** To deliver it to one listener. */
  readonly delivery: number;
  /** To pass it on to all others. */
  readonly publish: number;
  /** To take it from another one, without its deliveries. */
  readonly receive: number;
}

/**
 * An estimate: deliveries per second of so many nodes over those of one, when each has a core, the cores of NATS come
 * beside, and talkers and listeners of each talkgroup are spread evenly. A frame costs its node `inbound` and `publish`,
 * each other one `receive`, and all of them together a delivery for each listener.
 */
export function speedUpOf(
  { inbound, delivery, publish, receive }: FramePrices,
  { nodes, members }: { readonly nodes: number; readonly members: number },
): number {
  const alone = inbound + (members - 1) * delivery;
  return (nodes * alone) / (alone + publish + (nodes - 1) * receive);
}
