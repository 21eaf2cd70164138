// Logs handshakes that are answered with a close, so that an operator finds why a radio does not come in.
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
  /** Where the account was read. */
  readonly username?: string;
}

/** Lines of a relay in a second. A fleet that comes back after a fault brings thousands. */
const LINES_PER_SECOND = 10;
/** The same without a user: strangers leave room for the others, and fill no disk. */
const STRANGERS_PER_SECOND = 1;

interface RejectionsOptions {
  readonly nowMs: () => number;
  readonly log: { info(fields: object, message: string): void };
}

/** Returns what logs one. The first line after those that were left out has their number as `more`. */
export function createRejections(options: RejectionsOptions) {
  const [users, strangers] = [linesOf(LINES_PER_SECOND, options), linesOf(STRANGERS_PER_SECOND, options)];
  return (who: Rejected, close: Close): void => (who.user === undefined ? strangers : users)(who, close);
}

function linesOf(perSecond: number, { nowMs, log }: RejectionsOptions) {
  let secondAtMs = Number.NEGATIVE_INFINITY;
  let lines = 0;
  let more = 0;

  return (who: Rejected, { code, reason }: Close): void => {
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
