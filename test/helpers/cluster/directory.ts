// The database of relays in virtual time: one talkgroup and its members, read and changed a moment later.

import { type Change, type Notice, noticeOf } from '../../../src/db/notice.js';
import type { Account, EmergencyRow } from '../../../src/directory/records.js';
import type { UserId } from '../../../src/ids.js';
import type { EmergencyState, FloorMode } from '../../../src/protocol/codes.js';
import type { EmergencyWrites } from '../../../src/relay/emergencies/emergencies.js';
import { userIdOf as idOfRadio, talkgroupIdOf } from '../relay/relays.js';
import { accountRow, talkgroupRow } from '../relay/rows.js';

export const TALKGROUP = 7;
export const TALKGROUP_ID = talkgroupIdOf(TALKGROUP);
export const userIdOf = (user: number) => idOfRadio(0, user);
export const USERS = 6;
/** This one is an administrator. */
export const ADMIN = 0;

/** `notify` is called with each change that was made. */
export function createDirectory(
  settings: { mode: FloorMode; maxTalkMs: number },
  notify: (notice: Notice) => void,
) {
  let { mode, maxTalkMs } = settings;
  let revision = 1;
  const strangers = new Set<UserId>();
  const emergencies = new Map<string, { row: EmergencyRow; state: EmergencyState }>();
  const row = () =>
    talkgroupRow({
      ...{ id: TALKGROUP_ID, number: TALKGROUP, floor_mode: mode, max_talk_ms: maxTalkMs, revision },
      emergencies: [...emergencies.values()].flatMap(({ row, state }) =>
        state === 'cleared' ? [] : [{ ...row, state }],
      ),
    });
  const changed = (change: Change): Notice => {
    const notice = noticeOf(change);
    notify(notice);
    return notice;
  };
  const emergencyChanged = () => changed({ kind: 'emergency_changed', talkgroup: TALKGROUP_ID });

  return {
    accounts: (ids: readonly UserId[]): Account[] =>
      ids.map((id) =>
        accountRow(id, {
          ...(id === userIdOf(ADMIN) && { role: 'admin' }),
          memberships: strangers.has(id) ? [] : [row()],
        }),
      ),
    talkgroups: () => [row()],
    writes: {
      async raise(_talkgroup, row) {
        if (!emergencies.has(row.id)) emergencies.set(row.id, { row, state: 'raised' });
        return emergencyChanged();
      },
      acknowledge: async () => null,
      async clear(id) {
        const one = emergencies.get(id);
        if (one === undefined || one.state === 'cleared') return 'unknown';
        one.state = 'cleared';
        return emergencyChanged();
      },
    } satisfies EmergencyWrites,
    setSettings(next: { mode: FloorMode; maxTalkMs: number }): void {
      ({ mode, maxTalkMs } = next);
      revision++;
      changed({ kind: 'talkgroup_changed', talkgroup: TALKGROUP_ID });
    },
    /** The user is no member any more. */
    remove(user: UserId): void {
      strangers.add(user);
      changed({ kind: 'left', user, talkgroup: TALKGROUP_ID });
    },
    join(user: UserId): void {
      strangers.delete(user);
      changed({ kind: 'joined', user, talkgroup: TALKGROUP_ID });
    },
  };
}
export type Directory = ReturnType<typeof createDirectory>;
