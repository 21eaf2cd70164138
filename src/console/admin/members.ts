// Lists the members of one talkgroup, removes them, and finds users to add.
import { type ReadonlySignal, signal } from '@preact/signals';
import type { Rest } from '../app/rest.js';
import { type Action, createAction } from './action.js';
import { storedBy } from './failure.js';
import { createList, type List, type Row } from './list.js';
import { type Member, type Page, queryOf, type Talkgroup, type User } from './rows.js';
import { texts } from './texts.js';
import { usersByName } from './users.js';

export interface Members {
  readonly list: List<Member>;
  /** Users to add. Nothing is listed before a search. */
  readonly found: List<User>;
  readonly start: ReadonlySignal<string>;
  /** What the last change said, beside the members. */
  readonly action: Action;
  search(start: string): void;
  add(row: Row<User>): Promise<boolean>;
  remove(row: Row<Member>): Promise<boolean>;
}

export function createMembers(rest: Rest, talkgroup: Row<Talkgroup>): Members {
  const start = signal('');
  const action = createAction();
  const path = `/talkgroups/${talkgroup.id}/members`;
  const found = usersByName(rest, () => start.peek());
  const list = createList<Member>({
    async read({ after, limit }) {
      const answer = await rest.get<Page<'members', Member>>(`${path}${queryOf({ limit, after })}`);
      return { items: answer.members, next: answer.next };
    },
    idOf: ({ user_id }) => user_id,
    nameOf: ({ user }) => user.username,
  });

  function count(change: number): void {
    const item = talkgroup.item.peek();
    talkgroup.item.value = { ...item, members: Math.max(0, item.members + change) };
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
          list.add({ user_id: row.id, site: '', user: { id: row.id, username, role } });
          count(1);
        }
        return answer === null ? texts.unconfirmed : texts.added(username);
      }),
    remove: (row) =>
      action.run(async () => {
        const answer = await storedBy(rest.remove(`${path}/${row.id}`));
        list.remove(row.id);
        count(-1);
        return answer === null ? texts.unconfirmed : texts.removed(row.item.peek().user.username);
      }),
  };
}
