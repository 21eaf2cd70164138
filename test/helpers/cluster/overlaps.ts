// Judges for how long sessions of two relays have the floor at once. Times are virtual ms.
import type { Node } from './node.js';
import type { Radio } from './radio.js';
import type { Network, Schedule } from './world.js';

/** Two grants at once may last for this time (ms) after relays can reach each other. */
const MERGE_MS_MAX = 500;
/** While nothing is broken, they may last for this time (ms): a preemption is carried out on two relays, one after the other. */
const OVERLAP_MS_MAX = 150;
/** The same when a message between these relays or their homes was lost meanwhile. */
const LOSSY_MS_MAX = 1500;
/** A relay that is lost counts as the home for this time (ms): 1,500 after its last beacon, 250 between two looks, 100 for parts. */
export const DEAD_MS = 1850;
/** A lost message counts for this time (ms) before: a relay repeats its part after 300, and takes no answer to an old one. */
const LOST_BEFORE_MS = 500;
/** Two looks at the same overlap are at most this far apart (ms). */
const LOOK_MS_MAX = 60;

interface Overlap {
  readonly sinceMs: number;
  readonly lastMs: number;
}

export class Overlaps {
  /** When a relay got its first member or lost its last one, or settings were last read. */
  changedAtMs = 0;
  private readonly schedule: Schedule;
  private readonly network: Network;
  private readonly overlaps = new Map<string, Overlap>();
  /** Since when two relays do not reach each other. */
  private readonly apartSinceMs = new Map<string, number>();
  /** When a relay last followed a home that it did not reach. */
  private readonly astrayAtMs = new Map<number, number>();
  /** When one relay last reached two others that did not reach each other. */
  private splitAtMs = Number.NEGATIVE_INFINITY;

  constructor(schedule: Schedule, network: Network) {
    this.schedule = schedule;
    this.network = network;
  }

  /** Every 50 ms. */
  look(relays: readonly Node[], dead: readonly Node[], isTransitive: boolean): void {
    const nowMs = this.schedule.now();
    if (!isTransitive) this.splitAtMs = nowMs;
    for (const relay of relays)
      for (const other of [...relays, ...dead]) {
        const pair = `${relay.id} ${other.id}`;
        if (relay !== other && this.network.reach(relay.id, other.id)) this.apartSinceMs.delete(pair);
        else if (!this.apartSinceMs.has(pair)) this.apartSinceMs.set(pair, nowMs);
      }
    for (const relay of relays) if (this.isAstray(relay, relays)) this.astrayAtMs.set(relay.id, nowMs);
  }

  /**
   * A relay that cannot be reached any more is taken for the home until it is found out. Its side of the cut has a floor of
   * its own until then, as docs/protocol.md says (history 1700008703). The home may follow such a relay, too, and decides
   * nothing until it finds out (history 50000242).
   */
  private isAstray(relay: Node, relays: readonly Node[]): boolean {
    const home = relays.find(({ id }) => id === relay.view.home);
    return this.followsLost(relay) || (home !== undefined && this.followsLost(home));
  }

  private followsLost(relay: Node): boolean {
    const { home } = relay.view;
    if (home === relay.id || this.network.reach(relay.id, home)) return false;
    const sinceMs = this.apartSinceMs.get(`${relay.id} ${home}`) ?? this.schedule.now();
    return this.schedule.now() - Math.max(sinceMs, relay.wokeAtMs) <= DEAD_MS;
  }

  /** Both have the floor, and their relays reach each other. */
  isTooLong(one: Radio, other: Radio): boolean {
    const nowMs = this.schedule.now();
    const pair = `${one.number} ${other.number}`;
    const known = this.overlaps.get(pair);
    const sinceMs = known === undefined || nowMs - known.lastMs > LOOK_MS_MAX ? nowMs : known.sinceMs;
    this.overlaps.set(pair, { sinceMs, lastMs: nowMs });
    const mendedAtMs = Math.max(
      ...[this.network.changedAtMs(), this.changedAtMs, this.splitAtMs],
      ...[one, other].map(({ relay }) => this.astrayAtMs.get(relay.id) ?? Number.NEGATIVE_INFINITY),
    );
    const isLost = this.lostAtMs(one.relay, other.relay) >= Math.max(sinceMs, mendedAtMs) - LOST_BEFORE_MS;
    const maxMs = isLost ? LOSSY_MS_MAX : MERGE_MS_MAX;
    return nowMs > Math.max(sinceMs + (isLost ? LOSSY_MS_MAX : OVERLAP_MS_MAX), mendedAtMs + maxMs);
  }

  /** When a message between the two relays or their homes was last lost. */
  private lostAtMs(one: Node, other: Node): number {
    const ids = [...new Set([one.id, other.id, one.view.home, other.view.home])];
    return Math.max(...ids.flatMap((from) => ids.map((to) => this.network.lostAtMs(from, to))));
  }
}
