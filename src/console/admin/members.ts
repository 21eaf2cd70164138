// Lists the members of one talkgroup, takes them out, revokes their tokens, and finds users to add.
import { type ReadonlySignal, signal } from '@preact/signals';
import { type Rest, storedBy } from '../../client/rest.js';
import { type Attempt, createAttempt } from '../app/attempt.js';
import { wordsOf } from './failure.js';
import { createList, type List, type Row } from './list.js';
import { type Member, type MemberKeys, type Page, queryOf, type User } from './rows.js';
import { texts } from './texts.js';
import { revokeTokens, usersByName } from './users.js';

/** The talkgroup of the members, as the table or the tile knows it. */
export interface Managed {
  readonly id: string;
  /** Whether its members are permitted to have keys one by one, by this account. */
  hasKeys(): boolean;
  /** Members came or went. Negative: fewer. */
  counted(change: number): void;
}

export interface Members {
  readonly list: List<Member>;
  /** Users to add. Nothing is listed before a search. */
  readonly found: List<User>;
  readonly start: ReadonlySignal<string>;
  /** What the last change said, beside the members. */
  readonly action: Attempt;
  search(start: string): void;
  add(row: Row<User>): Promise<boolean>;
  remove(row: Row<Member>): Promise<boolean>;
  revoke(row: Row<Member>): Promise<boolean>;
  /** Where encryption is required: lets the member have keys, or not any more. */
  permitKeys(row: Row<Member>, isAllowed: boolean): Promise<boolean>;
}

type ReadMember = Omit<Member, 'keys'>;
type ReadKeys = MemberKeys & { readonly user_id: string };

export function createMembers(rest: Rest, talkgroup: Managed): Members {
  const start = signal('');
  const action = createAttempt(wordsOf);
  const path = `/talkgroups/${talkgroup.id}/members`;
  const found = usersByName(rest, () => start.peek());
  const list = createList<Member>({
    async read({ after, limit }) {
      const query = queryOf({ limit, after });
      // Both lists have pages in the order of user ids. Who joins between the two readings has no keys yet.
      const [{ members, next }, keys] = await Promise.all([
        rest.get<Page<'members', ReadMember>>(`${path}${query}`),
        readKeys(query),
      ]);
      const items = members.map((member) => ({ ...member, keys: keys.get(member.user_id) ?? null }));
      return { items, next };
    },
    idOf: ({ user_id }) => user_id,
    nameOf: ({ user }) => user.username,
  });

  async function readKeys(query: string): Promise<ReadonlyMap<string, MemberKeys>> {
    if (!talkgroup.hasKeys()) return new Map();
    const { members } = await rest.get<Page<'members', ReadKeys>>(`/talkgroups/${talkgroup.id}/keys${query}`);
    return new Map(members.map(({ user_id, ...keys }) => [user_id, keys]));
  }

  return {
    ...{ list, found, start, action },
    search(text) {
      start.value = text;
      if (text !== '') void found.reload();
    },
    add: (row) =>
      action.run(async () => {
        const { username, role } = row.item.peek();
        const answer = await storedBy(rest.put(`${path}/${row.id}`));
        if (!list.rows.peek().some(({ id }) => id === row.id)) {
          // The next reading shows the site of the user's device.
          // LIMIT: a member of a page that is not shown yet counts twice until the next reading.
          list.add({ user_id: row.id, site: '', user: { id: row.id, username, role }, keys: null });
          talkgroup.counted(1);
          if (talkgroup.hasKeys()) await list.reload();
        }
        return answer === null ? texts.unconfirmed : texts.added(username);
      }),
    permitKeys: (row, isAllowed) =>
      action.run(async () => {
        const answer = await storedBy(rest.put(`${path}/${row.id}/keys`, { allowed: isAllowed }));
        const { user, keys, ...member } = row.item.peek();
        const holders = keys?.holders ?? 0;
        row.item.value = { ...member, user, keys: { may_have_keys: isAllowed, holders } };
        if (answer === null) return texts.unconfirmed;
        return isAllowed ? texts.keysAllowed(user.username) : texts.keysTaken(user.username);
      }),
    remove: (row) =>
      action.run(async () => {
        const answer = await storedBy(rest.remove(`${path}/${row.id}`));
        list.remove(row.id);
        talkgroup.counted(-1);
        return answer === null ? texts.unconfirmed : texts.takenOut(row.item.peek().user.username);
      }),
    revoke: (row) => action.run(() => revokeTokens(rest, row.id)),
  };
}
