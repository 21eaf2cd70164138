// Lists all talkgroups, creates, changes and deletes them, and rotates their keys.
import { type Rest, RestError, storedBy } from '../../client/rest.js';
import { type Attempt, createAttempt } from '../app/attempt.js';
import { wordsOf } from './failure.js';
import type { Row } from './list.js';
import { createMembers, type Managed, type Members } from './members.js';
import { type Encryption, type FloorMode, oneOf, type Page, type Talkgroup } from './rows.js';
import { createTable, type Table } from './table.js';
import { texts } from './texts.js';

export interface Talkgroups {
  readonly table: Table<Talkgroup>;
  readonly creation: Attempt;
  create(wanted: { name: string; floorMode: FloorMode } & Protection): Promise<boolean>;
  rename(row: Row<Talkgroup>, name: string): Promise<boolean>;
  changeMode(row: Row<Talkgroup>, mode: FloorMode): Promise<boolean>;
  /** In seconds, 0 for none. */
  changeLimit(row: Row<Talkgroup>, seconds: number): Promise<boolean>;
  protect(row: Row<Talkgroup>, wanted: Protection): Promise<boolean>;
  /** `days`: how long recordings are kept. 0: the talkgroup is not recorded. */
  record(row: Row<Talkgroup>, days: number): Promise<boolean>;
  rotate(row: Row<Talkgroup>): Promise<boolean>;
  /** `mayForget` asks the user when encrypted recordings would be lost. */
  remove(row: Row<Talkgroup>, mayForget: () => Promise<boolean>): Promise<boolean>;
  /** Its members, to be read anew. */
  membersOf(row: Row<Talkgroup>): Members;
}

export interface Protection {
  readonly encryption: Encryption;
  readonly mayEmergencyBeClear: boolean;
}

/** What POST and PATCH answer: fewer fields than the list has. */
interface Answer {
  readonly talkgroup: Pick<Talkgroup, 'id' | 'name' | 'rotation_counter' | 'created_at'>;
}

/** `mayPermit`: whether the account may read and change who has keys. */
export function createTalkgroups(rest: Rest, mayPermit: boolean): Talkgroups {
  const creation = createAttempt(wordsOf);
  const table = createTable<Talkgroup>({
    sort: 'name',
    idOf: ({ id }) => id,
    async read(query) {
      const path = `/admin/talkgroups${query}`;
      const { talkgroups: items, next } = await rest.get<Page<'talkgroups', Talkgroup>>(path);
      return { items, next };
    },
  });

  const patch = (row: Row<Talkgroup>, body: object, changed: Partial<Talkgroup>) =>
    row.action.run(async () => {
      const answer = await storedBy(rest.patch<Answer>(`/talkgroups/${row.id}`, body));
      row.item.value = { ...row.item.peek(), ...changed };
      return answer === null ? texts.unconfirmed : texts.saved;
    });

  /** The service creates a talkgroup as `allowed`. Returns in words why another choice failed: the talkgroup is there. */
  async function protectNew(id: string, wanted: Protection): Promise<string | null> {
    if (wanted.encryption === 'allowed' && wanted.mayEmergencyBeClear) return null;
    try {
      await storedBy(rest.patch<Answer>(`/talkgroups/${id}`, bodyOf(wanted)));
      return null;
    } catch (error) {
      return wordsOf(error);
    }
  }

  return {
    ...{ table, creation },
    create: ({ name, floorMode, ...protection }) =>
      creation.run(async () => {
        const body = { name, floor_mode: floorMode };
        const { talkgroup } = await rest.post<Answer>('/talkgroups', body);
        const failure = await protectNew(talkgroup.id, protection);
        // The answer lacks its number and its talk limit.
        const path = `/admin/talkgroups${oneOf(talkgroup.id)}`;
        const { talkgroups } = await rest.get<Page<'talkgroups', Talkgroup>>(path);
        for (const one of talkgroups) if (one.id === talkgroup.id) table.list.add(one);
        const created = texts.createdTalkgroup(talkgroup.name);
        return failure === null ? created : `${created} ${texts.notProtected(failure)}`;
      }),
    rename: (row, name) => patch(row, { name }, { name }),
    changeMode: (row, mode) => patch(row, { floor_mode: mode }, { floor_mode: mode }),
    changeLimit(row, seconds) {
      const body = { max_talk_ms: Math.round(seconds * 1000) };
      return patch(row, body, body);
    },
    protect: (row, wanted) => patch(row, bodyOf(wanted), bodyOf(wanted)),
    record: (row, days) => patch(row, { recording_days: days }, { recording_days: days }),
    rotate: (row) =>
      row.action.run(async () => {
        const body = { talkgroup_id: row.id };
        const answer = await storedBy(rest.post<{ rotation_counter: number }>('/keys/rotate', body));
        // Each request that is carried out adds 1, and this one was.
        const counter = answer?.rotation_counter ?? row.item.peek().rotation_counter + 1;
        row.item.value = { ...row.item.peek(), rotation_counter: counter };
        return answer === null ? texts.unconfirmed : texts.rotated(counter);
      }),
    remove: (row, mayForget) =>
      row.action.run(async () => {
        const path = `/talkgroups/${row.id}`;
        const answer = await storedBy(rest.remove(path)).catch(async (error: unknown) => {
          const isAsked = error instanceof RestError && error.code === 'recordings_encrypted';
          if (!isAsked || !(await mayForget())) throw error;
          return storedBy(rest.remove(`${path}?forget_recordings=true`));
        });
        return answer === null ? texts.unconfirmed : texts.deleted;
      }),
    membersOf: (row) => createMembers(rest, managed(row, mayPermit)),
  };
}

const managed = ({ id, item }: Row<Talkgroup>, mayPermit: boolean): Managed => ({
  id,
  hasKeys: () => mayPermit && item.peek().encryption === 'required',
  counted(change) {
    const { members } = item.peek();
    item.value = { ...item.peek(), members: Math.max(0, members + change) };
  },
});

const bodyOf = ({ encryption, mayEmergencyBeClear }: Protection) => ({
  ...{ encryption, clear_emergency: mayEmergencyBeClear },
});
