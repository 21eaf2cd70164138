// Logs handshakes that are answered with a close. Keeps the last ones of users, and the closes of sessions whose token or account
// is not valid any more, so that an operator finds why a radio does not come in.
import type { UserId } from '../../ids.js';
import { type Close, closes } from '../../protocol/closes.js';

/** Where a handshake comes from, for the log. */
export interface From {
  readonly address: string;
  /** What the app calls itself. null: it does not. */
  readonly client: string | null;
}

/** The owner of the token, and where it came from. Without a user the token is missing, or signed with another key. */
export interface Rejected extends From {
  readonly user?: UserId;
  /** When the token was issued (Unix seconds). */
  readonly issuedAt?: number;
  /** Where the account was read. */
  readonly username?: string;
}

/** A connection of a user that was closed. */
interface Closed extends From {
  readonly user: UserId;
  readonly issuedAt: number;
}

/** The same, as it is kept. */
export interface KeptRejection extends From {
  readonly issuedAt: number;
  readonly close: Close;
  readonly atMs: number;
}

/** Lines of a relay in a second. A fleet that comes back after a fault brings thousands. */
const LINES_PER_SECOND = 10;
/** The same without a user: strangers leave room for the others, and fill no disk. */
const STRANGERS_PER_SECOND = 1;
/** Users whose rejections are kept, 2 KB each at most. Strangers have none, and so push none out. */
const USERS_MAX = 1000;
/** Kept of one user, the newest. A radio that tries again and again pushes out its own ones alone. */
const KEPT_MAX = 10;
/** Users of whom the last admission is known, 100 bytes each. */
const ADMITTED_MAX = 10_000;

interface RejectionsOptions {
  readonly nowMs: () => number;
  readonly log: { info(fields: object, message: string): void };
}

export type Rejections = ReturnType<typeof createRejections>;

export function createRejections(options: RejectionsOptions) {
  const [users, strangers] = [linesOf(LINES_PER_SECOND, options), linesOf(STRANGERS_PER_SECOND, options)];
  /** By user, in the order of their last rejections. Of each the oldest first. */
  const kept = new Map<UserId, KeptRejection[]>();
  /** In the order of the times. */
  const admittedAtMs = new Map<UserId, number>();

  function keep({ user, issuedAt, address, client }: Closed, close: Close): void {
    const own = kept.get(user) ?? [];
    // What came before says why. That it tries too often is what follows.
    if (close === closes.rate_limited && own.length > 0) return;
    if (own.length === KEPT_MAX) own.shift();
    own.push({ issuedAt, address, client, close, atMs: options.nowMs() });
    place(kept, user, own, USERS_MAX);
  }

  return {
    /** Logs it. The first line after those that were left out has their number as `more`. */
    add({ issuedAt, ...who }: Rejected, close: Close): void {
      const { user, address, client } = who;
      if (user === undefined || issuedAt === undefined) return strangers(who, close);
      users(who, close);
      keep({ user, issuedAt, address, client }, close);
    },

    /** Of a session, whose end has its own line in the log. Its client may not come again: it stops after 1008. */
    keep,

    /** A session of the user was opened. */
    admitted: (user: UserId) => place(admittedAtMs, user, options.nowMs(), ADMITTED_MAX),

    /** The last ones of the user, the newest first, and when a session was last opened. */
    of: (user: UserId): UserRejections => ({
      rejected: (kept.get(user) ?? []).toReversed(),
      admittedAtMs: admittedAtMs.get(user) ?? null,
    }),
  };
}

export interface UserRejections {
  readonly rejected: readonly KeptRejection[];
  /** null: never, or so many others came since. */
  readonly admittedAtMs: number | null;
}

/** As the newest one. The oldest goes for one more than `max`. */
function place<Key, Value>(map: Map<Key, Value>, key: Key, value: Value, max: number): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= max) return;
  for (const oldest of map.keys()) {
    map.delete(oldest);
    return;
  }
}

function linesOf(perSecond: number, { nowMs, log }: RejectionsOptions) {
  let secondAtMs = Number.NEGATIVE_INFINITY;
  let lines = 0;
  let more = 0;

  return (who: Omit<Rejected, 'issuedAt'>, { code, reason }: Close): void => {
    if (nowMs() - secondAtMs >= 1000) {
      secondAtMs = nowMs();
      lines = 0;
    }
    if (lines === perSecond) {
      more++;
      return;
    }
    lines++;
    log.info({ ...who, code, reason, ...(more > 0 && { more }) }, 'handshake rejected');
    more = 0;
  };
}
