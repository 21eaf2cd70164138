// Who came and who went in one talkgroup between two announcements, and the pages of who is there.
import type { Member } from '../protocol/bodies.js';

/** What PRESENCE says; without entries when they were too many. Who was there and is in `joined` has changed. */
export type Announcement =
  | { readonly joined: readonly Member[]; readonly left: readonly number[]; readonly online: number }
  | { readonly online: number };

/** docs/protocol.md, section 3: an announcement names so many at most, joined and left together. */
const ENTRIES_MAX = 32;

/** What a session looked like when it was last announced, and looks like now; null: not there. */
interface Change {
  readonly before: Member | null;
  readonly now: Member | null;
}

/**
 * One per talkgroup that somebody watches. It keeps what has changed since the last announcement and never who is
 * there, so its bound holds in a talkgroup of thousands too.
 */
export class Roster {
  private readonly changes = new Map<number, Change>();
  /** More changed than an announcement could name: nothing is kept until the next one. */
  private isFull = false;

  /** A session that was not there came; one that only was away within the period is no news, unless it changed. */
  joined(now: Member): void {
    const before = this.changes.get(now.session)?.before ?? null;
    if (before !== null && isSame(before, now)) this.changes.delete(now.session);
    else this.keep(now.session, { before, now });
  }

  /** A session that had joined went; `was` is what it looked like. */
  left(was: Member): void {
    const change = this.changes.get(was.session);
    if (change === undefined) this.keep(was.session, { before: was, now: null });
    else if (change.before === null) this.changes.delete(was.session);
    else this.keep(was.session, { before: change.before, now: null });
  }

  private keep(session: number, change: Change): void {
    if (this.isFull) return;
    this.changes.set(session, change);
    if (this.changes.size <= ENTRIES_MAX) return;
    this.isFull = true;
    this.changes.clear();
  }

  /** What happened since the last call, or null; `online` is the number of sessions there now. */
  flush(online: number): Announcement | null {
    if (this.isFull) {
      this.isFull = false;
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

/**
 * Who is there, in the order of their numbers, for pages of it: made when somebody first asks and kept up to date, so
 * that a page costs its own length and not that of the talkgroup.
 */
export class Listing<Session extends { readonly number: number }> {
  private readonly sorted: Session[];

  constructor(sessions: Iterable<Session>) {
    this.sorted = [...sessions].sort((one, other) => one.number - other.number);
  }

  /** It came; again changes nothing. */
  add(session: Session): void {
    const at = this.indexBehind(session.number);
    if (this.sorted[at - 1]?.number !== session.number) this.sorted.splice(at, 0, session);
  }

  /** It went, if it was there. */
  delete({ number }: Session): void {
    const at = this.indexBehind(number) - 1;
    if (this.sorted[at]?.number === number) this.sorted.splice(at, 1);
  }

  /**
   * The `limit` (1 or more) sessions with the lowest numbers above `after`, in order; `next` is the `after` of the next
   * page, null at the end. Whoever stays is on exactly one page, whoever comes and goes.
   */
  page(after: number, limit: number): { readonly page: readonly Session[]; readonly next: number | null } {
    const from = this.indexBehind(after);
    const page = this.sorted.slice(from, from + limit);
    const hasMore = this.sorted.length > from + limit;
    return { page, next: hasMore ? (page.at(-1)?.number ?? null) : null };
  }

  /** Of the first with a higher number. */
  private indexBehind(number: number): number {
    let low = 0;
    let high = this.sorted.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.sorted[middle]?.number ?? Number.POSITIVE_INFINITY) <= number) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
