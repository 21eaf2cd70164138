// Counts what a receiver misses while it gets no audio. Made when that begins.
import type { MissedAudio } from '../../protocol/bodies.js';
import { textOf } from '../../protocol/server-messages.js';
import type { Talkgroup } from '../members/members.js';

/** Talkgroups whose frames are kept after it left them: in LAG less than 32 KiB. Of those beyond it the oldest is not told. */
const LEFT_MAX = 400;

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
  /** By number of a talkgroup whose audio is not meant for it at present: what it missed before. */
  private readonly before = new Map<number, MissedAudio>();
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
    if (this.given.has(talkgroup)) return;
    const missed = this.before.get(talkgroup.number)?.missed ?? 0;
    this.before.delete(talkgroup.number);
    this.given.set(talkgroup, given - missed);
    this.counted.set(talkgroup, missed);
  }

  /** It missed so many of the talkgroup's frames before, some of them at another relay, and misses none at present. */
  missedBefore({ number, id }: Talkgroup, missed: number): void {
    if (missed === 0) return;
    this.before.set(number, { talkgroup_id: id, missed });
    const [oldest = number] = this.before.keys();
    if (this.before.size > LEFT_MAX) this.before.delete(oldest);
  }

  /** The frames missed by number of the talkgroup. Of those whose audio it misses at present none is left out. */
  *missed(): Iterable<readonly [number, number]> {
    for (const [talkgroup, given] of this.given) yield [talkgroup.number, this.relayed(talkgroup) - given];
    for (const [number, { missed }] of this.before) yield [number, missed];
  }

  /** The content of LAG. Each frame counts once in the metrics, also when the socket died in between. */
  countMissed(): MissedAudio[] {
    const all: MissedAudio[] = [];
    for (const talkgroup of this.given.keys()) {
      const missed = this.count(talkgroup);
      if (missed > 0) all.push({ talkgroup_id: talkgroup.id, missed });
    }
    return [...all, ...this.before.values()];
  }

  /** Also what is buffered: it will enter after that. */
  private count(talkgroup: Talkgroup): number {
    const frames = this.relayed(talkgroup) - (this.given.get(talkgroup) ?? Number.POSITIVE_INFINITY);
    if (frames <= 0) return 0;
    this.counts.missed += frames - (this.counted.get(talkgroup) ?? 0);
    this.counted.set(talkgroup, frames);
    return frames;
  }

  /**
   * From now on the talkgroup's audio is not meant for it: the session left it, or wants no audio of it. Of this talkgroup
   * alone: all thousands of a session may stop in one step.
   */
  stop(talkgroup: Talkgroup): void {
    this.missedBefore(talkgroup, this.count(talkgroup));
    this.given.delete(talkgroup);
    this.counted.delete(talkgroup);
  }
}

export const lagText = (talkgroups: readonly MissedAudio[], sinceMs: number) =>
  textOf({ type: 'LAG', talkgroups, since_ms: sinceMs });
