// Counts what a receiver misses while it gets no audio. Made when that begins.
import type { MissedAudio } from '../../protocol/bodies.js';
import { textOf } from '../../protocol/server-messages.js';
import type { Talkgroup } from '../members/members.js';

/** The frames of others relayed ever in the talkgroup. */
type Relayed = (talkgroup: Talkgroup) => number;

/** One receiver without audio: since when, and which frames of which talkgroups it misses. */
export class Behind {
  readonly sinceMs: number;
  /** uWebSockets.js dropped a text for its socket, or may have. */
  lostText: boolean;
  /** By talkgroup without audio: the frames that it had been given by then, of all relayed ever. */
  private readonly given = new Map<Talkgroup, number>();
  /** By talkgroup: the missed frames that are in the metrics. */
  private readonly counted = new Map<Talkgroup, number>();
  private readonly relayed: Relayed;
  private readonly counts: { missed: number };

  constructor(relayed: Relayed, counts: { missed: number }, sinceMs: number, lostText: boolean) {
    this.relayed = relayed;
    this.counts = counts;
    this.sinceMs = sinceMs;
    this.lostText = lostText;
  }

  /** Talkgroups whose audio it misses. */
  get talkgroups(): Iterable<Talkgroup> {
    return this.given.keys();
  }

  /** From now on it misses the talkgroup's audio, of which it was given so much. */
  miss(talkgroup: Talkgroup, given: number): void {
    if (!this.given.has(talkgroup)) this.given.set(talkgroup, given);
  }

  /** As before at another relay: it misses the talkgroup's audio, of which it missed so many frames there. */
  goOn(talkgroup: Talkgroup, missed: number): void {
    this.given.set(talkgroup, this.relayed(talkgroup) - missed);
    this.counted.set(talkgroup, missed);
  }

  /** The frames missed by talkgroup, none left out. */
  *missed(): Iterable<readonly [Talkgroup, number]> {
    for (const [talkgroup, given] of this.given) yield [talkgroup, this.relayed(talkgroup) - given];
  }

  /** The content of LAG. Each frame counts once in the metrics, also when the socket died in between. */
  countMissed(): MissedAudio[] {
    const missed: MissedAudio[] = [];
    for (const [talkgroup, given] of this.given) {
      const frames = this.relayed(talkgroup) - given; // also what is buffered: it will enter after that
      if (frames <= 0) continue;
      missed.push({ talkgroup_id: talkgroup.id, missed: frames });
      this.counts.missed += frames - (this.counted.get(talkgroup) ?? 0);
      this.counted.set(talkgroup, frames);
    }
    return missed;
  }

  /** LAG does not name the talkgroup: the session left it, or wants no audio of it. */
  forget(talkgroup: Talkgroup): void {
    this.countMissed();
    this.given.delete(talkgroup);
    this.counted.delete(talkgroup);
  }
}

export const lagText = (talkgroups: readonly MissedAudio[], sinceMs: number) =>
  textOf({ type: 'LAG', talkgroups, since_ms: sinceMs });
