// What a change of rights does to live sessions.
import type { Account, EmergencyRow } from '../talk/store.js';
import { type Close, closes } from './closes.js';
import type { Fanout } from './fanout.js';
import type { Floors } from './floors.js';
import type { Membership, Talkgroup } from './members.js';
import { say } from './messages.js';
import type { Session } from './session.js';
import type { RightsEffects } from './settle.js';
import type { Talk } from './talk.js';

export interface EffectsOptions {
  readonly fanout: Fanout;
  readonly floors: Floors;
  /** What is held of its burst reaches nobody. */
  readonly discard: (talk: Talk) => void;
  readonly followEmergencies: (talkgroup: Talkgroup, rows: readonly EmergencyRow[]) => void;
  readonly nowMs: () => number;
}

export function createEffects({
  fanout,
  floors,
  discard,
  followEmergencies,
  nowMs,
}: EffectsOptions): RightsEffects {
  const each = ({ user }: Membership, act: (session: Session) => void) => {
    for (const session of [...user.sessions]) act(session);
  };
  return {
    withdrawn: (membership) =>
      each(membership, (session) => {
        session.reception.unhear(membership);
        const talk = session.talkAt(membership.talkgroup);
        if (talk !== undefined) discard(talk);
      }),
    granted: (membership) => each(membership, ({ reception }) => reception.hear(membership)),
    missed: (user) => {
      for (const session of [...user.sessions]) session.resync();
    },
    joined: (membership) =>
      each(membership, (session) => {
        session.reception.hear(membership);
        session.send(say.talkgroupJoined(session.snapshot(membership.talkgroup)));
      }),
    left: (membership) => each(membership, (session) => dismiss(session, membership, 'left')),
    deleted: (talkgroup) => {
      // All bursts end before anybody is dismissed, so that every member hears of every end.
      floors.close(talkgroup, nowMs());
      for (const membership of talkgroup.memberships)
        each(membership, (session) => dismiss(session, membership, 'deleted'));
    },
    rotated: (talkgroup) => fanout.event(talkgroup, (number) => say.keyRotated(talkgroup, number)),
    changed: (talkgroup) => {
      fanout.tell(talkgroup, say.talkgroupChanged(talkgroup));
      floors.change(talkgroup, nowMs());
    },
    emergencies: followEmergencies,
    checked: (user, account) => {
      for (const session of [...user.sessions]) {
        const refused = refusalOf(account, session.issuedAt);
        if (refused !== null) session.close(refused, 'disabled');
      }
    },
  };
}

/** What a read says about a token that once was good. */
export function refusalOf(account: Account | null, issuedAt: number): Close | null {
  if (account === null) return closes.unknown_user;
  if (issuedAt < account.valid_from) return closes.invalid_token;
  return account.device_active ? null : closes.device_disabled;
}

function dismiss(session: Session, membership: Membership, reason: 'left' | 'deleted'): void {
  session.forget(membership, reason);
  session.send(say.talkgroupLeft(membership.talkgroup, reason));
}
