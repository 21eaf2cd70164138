// Answers the presses of a user that the home of a floor denies all the time, without another question to the home.
import type { UserId } from '../../ids.js';
import type { Outcome } from '../floor/state.js';

/**
 * First frames of a user, over all sockets, that the home may deny within this time (ms) before the next ones are answered
 * as the last one was. The budgets of a user allow 220 first frames per second in a talkgroup, and each question is a
 * message to the home and one back. No person presses as often.
 */
const DENIED_MAX = 4;
const WITHIN_MS = 100;

type Code = Extract<Outcome, { readonly kind: 'denied' }>['code'];

/** Of one floor. Remembers the users of the last WITHIN_MS. */
export class DeniedPresses {
  private readonly byUser = new Map<UserId, { readonly count: number; readonly code: Code }>();
  private sinceMs = Number.NEGATIVE_INFINITY;

  /** The home denied a first frame of the user. */
  add(user: UserId, code: Code, nowMs: number): void {
    if (this.isOver(nowMs)) {
      this.byUser.clear();
      this.sinceMs = nowMs;
    }
    this.byUser.set(user, { count: (this.byUser.get(user)?.count ?? 0) + 1, code });
  }

  /** The answer to a first frame of the user. null: the home must be asked. */
  answerTo(user: UserId, nowMs: number): Code | null {
    const denied = this.isOver(nowMs) ? undefined : this.byUser.get(user);
    return denied !== undefined && denied.count >= DENIED_MAX ? denied.code : null;
  }

  private isOver(nowMs: number): boolean {
    return nowMs - this.sinceMs >= WITHIN_MS;
  }
}
