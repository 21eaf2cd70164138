// Applies a change of permissions, or of a talkgroup, to live sessions.
import type { EmergencyRow } from '../../directory/records.js';
import type { Close } from '../../protocol/closes.js';
import type { Fanout } from '../delivery/fanout.js';
import type { FloorControl } from '../floor/control.js';
import type { LiveSession, Talkgroup, User } from '../members/members.js';
import { keyHolders, keyRotated, talkgroupChanged } from './messages.js';
import { refusalOf } from './refusal.js';
import type { RightsChanges } from './settle.js';

export interface ChangesOptions {
  readonly fanout: Pick<Fanout, 'event' | 'tell'>;
  readonly floor: Pick<FloorControl, 'change' | 'close' | 'endUnencrypted'>;
  readonly followEmergencies: (talkgroup: Talkgroup, rows: readonly EmergencyRow[]) => void;
  /** The connection of the session is about to be closed, because its token or its account is not valid any more. */
  readonly refused: (session: LiveSession, close: Close) => void;
  readonly nowMs: () => number;
  /** Work on the session with this number threw: only this session ends. */
  readonly fail: (session: number, error: unknown) => void;
  readonly log: { error(fields: object, message: string): void };
}

/** None of them throws: one bad session must not hold up the reads that all sessions wait for. */
export function createChanges(options: ChangesOptions): RightsChanges {
  const { fanout, floor, followEmergencies, refused, nowMs, fail, log } = options;

  function each({ sessions }: User, act: (session: LiveSession) => void): void {
    for (const session of [...sessions]) {
      try {
        act(session);
      } catch (error) {
        fail(session.number, error);
      }
    }
  }

  /** An exception is not the fault of one session, and the rest of the change is applied. */
  function forAll(talkgroup: Talkgroup, act: () => void): void {
    try {
      act();
    } catch (error) {
      log.error({ talkgroup: talkgroup.id, err: error }, 'talkgroup change failed');
    }
  }

  return {
    withdrawn: (membership) => each(membership.user, (session) => session.withdrawn(membership)),
    granted: (membership) => each(membership.user, (session) => session.granted(membership)),
    missed: (user, memberships) => each(user, (session) => session.missed(memberships)),
    joined: (membership) => each(membership.user, (session) => session.joined(membership)),
    left: (membership) => each(membership.user, (session) => session.left(membership, 'left')),
    deleted: (talkgroup) => {
      // All bursts end before a member is told, so that every member hears of every end.
      forAll(talkgroup, () => floor.close(talkgroup, nowMs()));
      for (const membership of talkgroup.memberships)
        each(membership.user, (session) => session.left(membership, 'deleted'));
    },
    rotated: (talkgroup) =>
      forAll(talkgroup, () => fanout.event(talkgroup.feed, (event) => keyRotated(talkgroup, event, nowMs()))),
    changed: (talkgroup) => {
      forAll(talkgroup, () => fanout.tell(talkgroup.feed, talkgroupChanged(talkgroup)));
      forAll(talkgroup, () => floor.change(talkgroup, nowMs()));
    },
    required: (talkgroup) => forAll(talkgroup, () => floor.endUnencrypted(talkgroup, nowMs())),
    holders: (user, waiting) => each(user, (session) => session.send(keyHolders(waiting))),
    hearing: (membership) => each(membership.user, (session) => session.hearing(membership)),
    emergencies: (talkgroup, rows) => forAll(talkgroup, () => followEmergencies(talkgroup, rows)),
    checked: (user, account) =>
      each(user, (session) => {
        const close = refusalOf(account, session.issuedAt);
        if (close === null) return;
        if (session.isLive) refused(session, close);
        session.close(close, 'disabled');
      }),
    failed: (user, error) => {
      for (const { number } of [...user.sessions]) fail(number, error);
    },
  };
}
