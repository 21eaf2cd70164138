// Applies a change of permissions to live sessions.
import type { EmergencyRow } from '../directory/records.js';
import type { Fanout } from './delivery/fanout.js';
import type { Floors } from './floors.js';
import type { Membership, Talkgroup, User } from './members/members.js';
import { say } from './messages.js';
import { refusalOf } from './rights/refusal.js';
import type { RightsEffects } from './rights/settle.js';
import type { Session } from './session.js';
import type { Talk } from './talk.js';

export interface EffectsOptions {
  readonly fanout: Fanout;
  readonly floors: Floors;
  /** What is held of its burst reaches nobody. */
  readonly discard: (talk: Talk) => void;
  readonly followEmergencies: (talkgroup: Talkgroup, rows: readonly EmergencyRow[]) => void;
  readonly nowMs: () => number;
  /** A throw for this session: it alone ends. */
  readonly fail: (session: Session, error: unknown) => void;
  readonly log: { error(fields: object, message: string): void };
}

/** None of them throws: one bad session must not hold up the reads that everybody waits for. */
export function createEffects({
  fanout,
  floors,
  discard,
  followEmergencies,
  nowMs,
  fail,
  log,
}: EffectsOptions): RightsEffects {
  function each({ sessions }: User, act: (session: Session) => void): void {
    for (const session of [...sessions]) {
      try {
        act(session);
      } catch (error) {
        fail(session, error);
      }
    }
  }

  /** Something for all in the talkgroup: a throw is no session's own, and what else there is to do goes on. */
  function forAll(talkgroup: Talkgroup, act: () => void): void {
    try {
      act();
    } catch (error) {
      log.error({ talkgroup: talkgroup.id, err: error }, 'talkgroup change failed');
    }
  }

  return {
    withdrawn: (membership) =>
      each(membership.user, (session) => {
        session.reception.unhear(membership);
        const talk = session.talkAt(membership.talkgroup);
        if (talk !== undefined) discard(talk);
      }),
    granted: (membership) => each(membership.user, ({ reception }) => reception.hear(membership)),
    missed: (user, memberships) => each(user, ({ telling }) => telling.resync(memberships)),
    joined: (membership) =>
      each(membership.user, (session) => {
        session.reception.hear(membership);
        session.send(say.talkgroupJoined(session.snapshot(membership.talkgroup)));
      }),
    left: (membership) => each(membership.user, (session) => dismiss(session, membership, 'left')),
    deleted: (talkgroup) => {
      // All bursts end before anybody is dismissed, so that every member hears of every end.
      forAll(talkgroup, () => floors.close(talkgroup, nowMs()));
      for (const membership of talkgroup.memberships)
        each(membership.user, (session) => dismiss(session, membership, 'deleted'));
    },
    rotated: (talkgroup) =>
      forAll(talkgroup, () => fanout.event(talkgroup.feed, (number) => say.keyRotated(talkgroup, number))),
    changed: (talkgroup) => {
      forAll(talkgroup, () => fanout.tell(talkgroup.feed, say.talkgroupChanged(talkgroup)));
      forAll(talkgroup, () => floors.change(talkgroup, nowMs()));
    },
    emergencies: (talkgroup, rows) => forAll(talkgroup, () => followEmergencies(talkgroup, rows)),
    checked: (user, account) =>
      each(user, (session) => {
        const refused = refusalOf(account, session.issuedAt);
        if (refused !== null) session.close(refused, 'disabled');
      }),
    failed: ({ sessions }, error) => {
      for (const session of [...sessions]) fail(session, error);
    },
  };
}

function dismiss(session: Session, membership: Membership, reason: 'left' | 'deleted'): void {
  session.forget(membership, reason);
  session.send(say.talkgroupLeft(membership.talkgroup, reason));
}
