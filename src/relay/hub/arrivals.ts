// Lets a handshake wait for the other relays, so that WELCOME is right about talkers elsewhere, and for its session.
import type { UserId } from '../../ids.js';
import type { Close } from '../../protocol/closes.js';
import type { LiveSession, User } from '../members/members.js';
import type { Seeking } from './moving.js';

export interface ArrivalsOptions {
  /** Resolves when the other relays have said what they have of the user's talkgroups. null: nothing to wait for. */
  readonly ready: (user: User) => Promise<void> | null;
  /** Removes a user without a session from memory. */
  readonly drop: (user: UserId) => void;
  /** Handshakes that may wait. Beyond them WELCOME does not wait, and the radio gets a new session. */
  readonly waitingMax: number;
  readonly log: { error(fields: object, message: string): void };
}

/** The user a read has just shown, and when the token was issued (Unix seconds). */
export interface Arriving {
  readonly user: User;
  readonly issuedAt: number;
  /** The session that another relay may have. null: none. */
  readonly seeking: Seeking | null;
}

/** What becomes of a handshake that waited: a change of rights meanwhile may close it. */
type Done = (refused: Close | null) => void;

export function createArrivals({ ready, drop, waitingMax, log }: ArrivalsOptions) {
  let waiting = 0;

  return {
    /** Calls `done` exactly once, and at once when there is nothing to wait for. The user stays in memory until then. */
    arrive({ user, issuedAt, seeking }: Arriving, done: Done): void {
      const answers = waiting < waitingMax ? ready(user) : null;
      if (waiting >= waitingMax || (answers === null && seeking === null)) return done(null);
      waiting++;
      const place = placeOf(user, issuedAt, drop);
      // The session comes last, so that its burst finds the other relays listening.
      const come = async () => {
        await answers;
        await seeking?.fetch({ user, issuedAt }, () => place.refused() !== null);
      };
      const failed = (error: unknown) => log.error({ user: user.id, err: error }, 'session not fetched');
      void come()
        .catch(failed)
        .then(() => {
          waiting--;
          user.sessions.delete(place);
          try {
            done(place.refused());
          } catch (error) {
            log.error({ user: user.id, err: error }, 'admission failed');
          }
          seeking?.settle();
          drop(user.id);
        });
    },
  };
}

/** Keeps the place of a session: changes of rights are applied to its user, and may end it. */
function placeOf(user: User, issuedAt: number, drop: (user: UserId) => void) {
  let refused: Close | null = null;
  const nothing = () => {};
  const place = {
    number: 0,
    user,
    isLive: false,
    issuedAt,
    heardAtMs: 0,
    hears: () => false,
    withdrawn: nothing,
    granted: nothing,
    joined: nothing,
    left: nothing,
    missed: nothing,
    hearing: nothing,
    send: nothing,
    close(close: Close): void {
      refused ??= close;
      user.sessions.delete(place);
      drop(user.id);
    },
    refused: () => refused,
  } satisfies LiveSession & { refused(): Close | null };
  user.sessions.add(place);
  return place;
}
