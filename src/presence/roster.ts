// Who came and who went in one talkgroup between two announcements, and the pages of who is there.

/** One session in a talkgroup, as PRESENCE and MEMBERS show it. */
export interface Present {
  readonly session: number;
  readonly user_id: string;
  readonly username: string;
  readonly site: string;
}

/** What PRESENCE says; without entries when they were too many. Who was there and is in `joined` has changed. */
export type Announcement =
  | { readonly joined: readonly Present[]; readonly left: readonly number[]; readonly online: number }
  | { readonly online: number };

/** PROTOCOL.md, section 3: an announcement names so many at most, joined and left together. */
const ENTRIES_MAX = 32;

/** What a session looked like when it was last announced, and looks like now; null: not there. */
interface Change {
  readonly before: Present | null;
  readonly now: Present | null;
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
  joined(now: Present): void {
    const before = this.changes.get(now.session)?.before ?? null;
    if (before !== null && isSame(before, now)) this.changes.delete(now.session);
    else this.keep(now.session, { before, now });
  }

  /** A session that had joined went; `was` is what it looked like. */
  left(was: Present): void {
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

function isSame(one: Present, other: Present): boolean {
  return one.user_id === other.user_id && one.username === other.username && one.site === other.site;
}

/**
 * The `limit` (1 or more) sessions with the lowest numbers above `after`, in order, whatever the order of `sessions`;
 * `next` is the `after` of the next page, null at the end. Whoever stays is on exactly one page, whoever comes and goes.
 */
export function page<Session extends { readonly number: number }>(
  sessions: Iterable<Session>,
  after: number,
  limit: number,
): { page: Session[]; next: number | null } {
  const lowest: Session[] = [];
  let below = Number.POSITIVE_INFINITY;
  for (const session of sessions) {
    if (session.number <= after || session.number >= below) continue;
    lowest.push(session);
    // One more than fits, to see whether there is a next page. At twice that the higher half goes, so that what is
    // sorted stays small: for 100 of 10,000 in the worst order, 98 times 202.
    if (lowest.length === 2 * (limit + 1)) below = truncate(lowest, limit + 1);
  }
  truncate(lowest, limit + 1);
  const hasMore = lowest.length > limit;
  if (hasMore) lowest.pop();
  return { page: lowest, next: hasMore ? (lowest.at(-1)?.number ?? null) : null };
}

/** Keeps the `count` lowest, in order; the number of the last of them. */
function truncate(sessions: { readonly number: number }[], count: number): number {
  sessions.sort((one, other) => one.number - other.number);
  sessions.length = Math.min(sessions.length, count);
  return sessions.at(-1)?.number ?? Number.POSITIVE_INFINITY;
}
