// Collects the sessions that came and left in one talkgroup between two announcements.
import { type Member, PRESENCE_ENTRIES_MAX } from '../../protocol/bodies.js';

/** The content of PRESENCE, without entries when they were too many. A present session in `joined` has changed. */
export type Announcement =
  | { readonly joined: readonly Member[]; readonly left: readonly number[]; readonly online: number }
  | { readonly online: number };

/** A session as it was last announced, and as it is now. null: not there. Of another relay's: `unknown`. */
interface Change {
  readonly before: Member | 'unknown' | null;
  readonly now: Member | null;
}

/**
 * One for each talkgroup that a session watches. It keeps the changes since the last announcement, never the sessions
 * that are there, so its size is bounded in a talkgroup of thousands, too.
 */
export class Roster {
  private readonly changes = new Map<number, Change>();
  /** More changes than an announcement can name: none is kept until the next one. */
  private isFull = false;
  /** Sessions of other relays came or left since the last announcement. */
  private isRecounted = false;
  /** A page of the members was sent since the last announcement: its reader must hear of each change behind it. */
  private isListed = false;

  /**
   * A session came. One that left and came back within the period is no change, unless it is different now, or a page
   * may have gone without it.
   */
  joined(now: Member): void {
    const before = this.changes.get(now.session)?.before ?? null;
    const isBack = before !== null && before !== 'unknown' && isSame(before, now);
    if (isBack && !this.isListed) this.changes.delete(now.session);
    else this.keep(now.session, { before, now });
  }

  /** A session that had joined left. `was` is how it was announced. A page may have it that came within the period. */
  left(was: Member): void {
    const change = this.changes.get(was.session);
    if (change === undefined) this.keep(was.session, { before: was, now: null });
    else if (change.before === null && !this.isListed) this.changes.delete(was.session);
    else this.keep(was.session, { before: change.before, now: null });
  }

  /** Sessions of another relay came and left, as it tells once a second. Two of its messages may fall in one period. */
  toldElsewhere(joined: readonly Member[], left: readonly number[]): void {
    for (const session of left) this.keep(session, { before: 'unknown', now: null });
    for (const now of joined) this.keep(now.session, { before: 'unknown', now });
  }

  private keep(session: number, change: Change): void {
    if (this.isFull) return;
    this.changes.set(session, change);
    if (this.changes.size <= PRESENCE_ENTRIES_MAX) return;
    this.isFull = true;
    this.changes.clear();
  }

  /** A page of the members is sent. */
  listed(): void {
    this.isListed = true;
  }

  /** Sessions of other relays came or left: the announcement has no names, and clients ask for the members. */
  recounted(): void {
    this.isRecounted = true;
  }

  /** The changes since the last call, or null. `online` is the number of sessions there now. */
  flush(online: number): Announcement | null {
    const isRecounted = this.isRecounted;
    this.isRecounted = false;
    this.isListed = false;
    if (this.isFull || isRecounted) {
      this.isFull = false;
      this.changes.clear();
      return { online };
    }
    if (this.changes.size === 0) return null;
    const joined = [];
    const left = [];
    for (const [session, { now }] of this.changes) {
      if (now === null) left.push(session);
      else joined.push(now);
    }
    this.changes.clear();
    return { joined, left, online };
  }
}

function isSame(one: Member, other: Member): boolean {
  return one.user_id === other.user_id && one.username === other.username && one.site === other.site;
}
