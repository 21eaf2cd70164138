// Logs handshakes that are answered with a close, and keeps the last ones of users, so that an operator finds why a radio does
// not come in.
import type { UserId } from '../../ids.js';
import type { Close } from '../../protocol/closes.js';

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

/** A handshake of a user, as it is kept. */
export interface KeptRejection extends From {
  readonly user: UserId;
  readonly issuedAt: number;
  readonly close: Close;
  readonly atMs: number;
}

/** Lines of a relay in a second. A fleet that comes back after a fault brings thousands. */
const LINES_PER_SECOND = 10;
/** The same without a user: strangers leave room for the others, and fill no disk. */
const STRANGERS_PER_SECOND = 1;
/** Kept of all users, 200 bytes each. The oldest goes for one more. Strangers have none, and so push none out. */
const KEPT_MAX = 1000;
/** Of one user in an answer. */
const SHOWN_MAX = 10;

interface RejectionsOptions {
  readonly nowMs: () => number;
  readonly log: { info(fields: object, message: string): void };
}

export type Rejections = ReturnType<typeof createRejections>;

export function createRejections(options: RejectionsOptions) {
  const [users, strangers] = [linesOf(LINES_PER_SECOND, options), linesOf(STRANGERS_PER_SECOND, options)];
  const kept = new Set<KeptRejection>();

  return {
    /** Logs it. The first line after those that were left out has their number as `more`. */
    add({ issuedAt, ...who }: Rejected, close: Close): void {
      const { user, address, client } = who;
      if (user === undefined || issuedAt === undefined) return strangers(who, close);
      users(who, close);
      const [oldest] = kept;
      if (kept.size === KEPT_MAX && oldest !== undefined) kept.delete(oldest);
      kept.add({ user, issuedAt, address, client, close, atMs: options.nowMs() });
    },

    /** The last ones of the user, the newest first. */
    of: (user: UserId): readonly KeptRejection[] =>
      [...kept]
        .filter((one) => one.user === user)
        .slice(-SHOWN_MAX)
        .reverse(),
  };
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
