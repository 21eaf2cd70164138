// Holds the running bursts of this relay by talkgroup.
import type { Talkgroup } from '../members/members.js';
import type { Talk } from './talk.js';

const NONE: ReadonlySet<Talk> = new Set();

/** Only what runs: a talkgroup leaves with its last burst. */
export class Bursts {
  private readonly running = new Map<Talkgroup, Set<Talk>>();

  /** The talks with a running burst there, the oldest burst first. */
  in(talkgroup: Talkgroup): ReadonlySet<Talk> {
    return this.running.get(talkgroup) ?? NONE;
  }

  /** Number of running bursts. */
  get count(): number {
    let count = 0;
    for (const talks of this.running.values()) count += talks.size;
    return count;
  }

  add(talk: Talk): void {
    const talks = this.running.get(talk.talkgroup);
    if (talks === undefined) this.running.set(talk.talkgroup, new Set([talk]));
    else talks.add(talk);
  }

  delete(talk: Talk): void {
    const talks = this.running.get(talk.talkgroup);
    talks?.delete(talk);
    if (talks?.size === 0) this.running.delete(talk.talkgroup);
  }
}
