// Keeps the handshakes that wait for a read of their user.
import type { Account } from '../../directory/records.js';
import type { UserId } from '../../ids.js';
import type { User } from '../members/members.js';

/** The outcome of a load: the account and its user, no such user, or no answer in time. */
export type Loaded =
  | { readonly kind: 'loaded'; readonly account: Account; readonly user: User }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'failed' };

/** Called exactly once. */
type Done = (loaded: Loaded) => void;

interface Waiter {
  readonly done: Done;
  readonly untilMs: number;
}

export interface LoadsOptions {
  readonly nowMs: () => number;
  /** Loads that may wait. */
  readonly waitingMax: number;
}

/** A handshake waits at most this long (ms) for its memberships. */
const LOAD_MS_MAX = 2000;

export function createLoads({ nowMs, waitingMax }: LoadsOptions) {
  const waiters = new Map<UserId, Waiter[]>();
  let waiting = 0;

  return {
    /** Returns false and keeps nothing when too many wait. */
    add(id: UserId, done: Done): boolean {
      if (waiting >= waitingMax) return false;
      waiting++;
      const queue = waiters.get(id);
      const waiter = { done, untilMs: nowMs() + LOAD_MS_MAX };
      if (queue === undefined) waiters.set(id, [waiter]);
      else queue.push(waiter);
      return true;
    },

    /** The users that loads wait for. */
    waiting: waiters as ReadonlyMap<UserId, unknown>,

    /** Removes the loads of this user, in the order in which they came. */
    take(id: UserId): readonly Done[] {
      const queue = waiters.get(id) ?? [];
      waiters.delete(id);
      waiting -= queue.length;
      return queue.map(({ done }) => done);
    },

    /** Fails the loads whose time is over. Called at every tick, because a read may hang until its deadline. */
    expire(): void {
      const now = nowMs();
      for (const [id, queue] of waiters) {
        const late = queue.filter((waiter) => waiter.untilMs <= now);
        if (late.length === 0) continue;
        const rest = queue.filter((waiter) => waiter.untilMs > now);
        if (rest.length === 0) waiters.delete(id);
        else waiters.set(id, rest);
        waiting -= late.length;
        for (const waiter of late) waiter.done({ kind: 'failed' });
      }
    },

    /** Fails all of them. */
    close(): void {
      for (const queue of waiters.values()) for (const waiter of queue) waiter.done({ kind: 'failed' });
      waiters.clear();
    },
  };
}
