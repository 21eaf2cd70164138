// Describes a session that moves to another relay, and makes it again there.
import { U32 } from '../../protocol/bodies.js';
import { modes } from '../../protocol/codes.js';
import { type Static, Type } from '../../typebox.js';
import { HOLDS } from '../delivery/held.js';
import { movedBurst, movesAlong } from '../floor/moved.js';
import { MovedBurst } from '../floor/moved-burst.js';
import type { Talk } from '../floor/talk.js';
import { Behind } from '../reception/behind.js';
import { isMeantToHear } from '../reception/hearing.js';
import type { Session } from './session.js';

/** Talkgroups that a session on its way has subscriptions in. One with more stays where it is. */
export const MOVED_TALKGROUPS_MAX = 3000;
/** Bursts of a session on its way. A session talks in no more talkgroups at once. */
export const MOVED_BURSTS_MAX = 8;

/** Ages are ms. About 200 bytes as JSON, 60 for each subscription and 250 for each burst. */
export type MovedState = Static<typeof MovedState>;
export const MovedState = Type.Object({
  session: U32,
  /** Times that it has moved to another relay, with this one. */
  moves: U32,
  /** Number of its last burst. */
  bursts: U32,
  /** How it hears a talkgroup, where that is not the default. */
  subscriptions: Type.Array(
    Type.Object({
      /** Of the talkgroup. */
      number: U32,
      mode: Type.Enum([...modes, 'none'] as const),
      presence: Type.Boolean(),
      /** Name of its hold. null: it hears live. */
      hold: Type.Union([Type.String({ maxLength: 8 }), Type.Null()]),
    }),
    { maxItems: MOVED_TALKGROUPS_MAX },
  ),
  /** Running bursts. */
  talks: Type.Array(MovedBurst, { maxItems: MOVED_BURSTS_MAX }),
  /** What it missed since its audio was paused. null: it was not. */
  behind: Type.Union([
    Type.Object({
      since_ms: Type.Number({ minimum: 0 }),
      missed: Type.Array(Type.Object({ number: U32, frames: U32 }), { maxItems: MOVED_TALKGROUPS_MAX }),
    }),
    Type.Null(),
  ]),
});

const HOLD_LIST = Object.values(HOLDS).flatMap((byMs) => Object.values(byMs));

/** The talks whose bursts move with the session. */
export const talksOf = ({ uplink }: Session): readonly Talk[] => [...uplink.talks.all()].filter(movesAlong);

/** The session as it is now. */
export function stateOf(session: Session, nowMs: number): MovedState {
  const { behind, subscriptions } = session.reception;
  return {
    session: session.number,
    moves: session.moves + 1,
    bursts: session.bursts,
    subscriptions: [...(subscriptions ?? [])].map(([number, { mode, presence, hold }]) => ({
      ...{ number, mode, presence },
      hold: hold?.name ?? null,
    })),
    talks: talksOf(session).map((talk) => movedBurst(talk, nowMs)),
    behind: behind && {
      since_ms: nowMs - behind.sinceMs,
      missed: [...behind.missed()].map(([number, frames]) => ({ number, frames: Math.max(0, frames) })),
    },
  };
}

/** Gives a new session what it had elsewhere, but its bursts. What it had of talkgroups that its user left is dropped. */
export function restore(
  session: Session,
  { bursts, moves, subscriptions, behind }: MovedState,
  { nowMs, counts }: { readonly nowMs: number; readonly counts: { missed: number } },
): void {
  const { reception, user } = session;
  const known = subscriptions.filter(({ number }) => user.memberships.has(number));
  session.bursts = bursts;
  session.moves = moves;
  reception.subscriptions = new Map(
    known.map(({ number, mode, presence, hold }) => [
      number,
      { mode, presence, hold: HOLD_LIST.find(({ name }) => name === hold) ?? null },
    ]),
  );
  if (behind === null) return;
  const relayed = ({ number, feed }: Talk['talkgroup']) =>
    feed.relayed - (session.talkAt(number)?.relayed ?? 0);
  reception.behind = new Behind(relayed, counts, nowMs - behind.since_ms, true);
  for (const { number, frames } of behind.missed) {
    const membership = user.memberships.get(number);
    if (membership === undefined) continue;
    const { talkgroup } = membership;
    reception.behind.missedBefore(talkgroup, frames);
    if (isMeantToHear(reception, membership)) reception.behind.miss(talkgroup, relayed(talkgroup));
  }
}
