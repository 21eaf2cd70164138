// Lists accounts, finds them by a part of the name or by their device, creates them, and revokes their tokens.
import { type ReadonlySignal, signal } from '@preact/signals';
import { type Rest, storedBy } from '../../client/rest.js';
import { type Attempt, createAttempt } from '../app/attempt.js';
import { wordsOf } from './failure.js';
import { createHolders, type Holders } from './holders.js';
import { createList, type List, type Row } from './list.js';
import { type Diagnosis, type OneUser, oneOf, type Page, queryOf, type User } from './rows.js';
import { createTable, type Table } from './table.js';
import { texts } from './texts.js';

export interface Users {
  readonly rest: Rest;
  readonly table: Table<User>;
  /** What is stored of users whose cards were opened, by id. A text says why it cannot be read. */
  readonly shown: ReadonlySignal<ReadonlyMap<string, OneUser | string>>;
  /** Reads that of one user, and brings the row up to date. */
  show(row: Row<User>): Promise<void>;
  readonly creation: Attempt;
  /** As the user would register. An empty serial: the account has no device. */
  create(wanted: { username: string; password: string; deviceSerial: string }): Promise<boolean>;
  revoke(row: Row<User>): Promise<boolean>;
  remove(row: Row<User>): Promise<boolean>;
  /** Gives the rights of a dispatcher, or takes them and logs the user out. */
  setDispatcher(row: Row<User>, isWanted: boolean): Promise<boolean>;
  /** What the card changes, and what came of it. */
  changesOf(row: Row<User>): Attempt;
  /** An empty serial takes the device away. */
  setDevice(row: Row<User>, serial: string): Promise<boolean>;
  setPassword(row: Row<User>, password: string, areTokensKept: boolean): Promise<boolean>;
  /** Asks all relays. null: no talkgroup is in question. */
  diagnose(row: Row<User>, talkgroupId: string | null): Promise<Diagnosis>;
  /** Its key holders, from the time that they are shown until `closeCard`. */
  holdersOf(row: Row<User>): Holders;
  /** Opens its card, and reads what it shows. */
  open(row: Row<User>): void;
  closeCard(row: Row<User>): void;
  /** Reads one account and opens its card. The last one that was asked for wins. */
  openCard(userId: string): Promise<void>;
}

export function createUsers(rest: Rest): Users {
  const shown = signal<ReadonlyMap<string, OneUser | string>>(new Map());
  const creation = createAttempt(wordsOf);
  /** Counts the cards that were asked for. */
  let wanted = 0;
  const holders = new WeakMap<Row<User>, Holders>();
  const changes = new WeakMap<Row<User>, Attempt>();
  const table = createTable<User>({
    sort: 'username',
    idOf: ({ id }) => id,
    async read(query) {
      const { users: items, next } = await rest.get<Page<'users', User>>(`/users${query}`);
      return { items, next };
    },
  });

  async function show({ id, item }: Row<User>): Promise<void> {
    const found = await rest.get<OneUser>(`/users/${id}`).catch(wordsOf);
    shown.value = new Map(shown.peek()).set(id, found);
    if (typeof found === 'string') return;
    item.value = { ...item.peek(), device: found.device, device_id: found.device?.id ?? null };
  }

  /** Behind a change: what the card shows of the user, and the key holders, which a revocation deletes. */
  async function showAgain(row: Row<User>): Promise<void> {
    if (!shown.peek().has(row.id)) return;
    await Promise.all([show(row), holders.get(row)?.list.reload()]);
  }

  function open(row: Row<User>): void {
    void show(row);
    table.side.value = { kind: 'card', row };
  }

  function changesOf(row: Row<User>): Attempt {
    const known = changes.get(row) ?? createAttempt(wordsOf);
    changes.set(row, known);
    return known;
  }

  return {
    ...{ rest, table, shown, show, creation, changesOf, open },
    create: ({ username, password, deviceSerial }) =>
      creation.run(async () => {
        const body = { username, password, ...(deviceSerial !== '' && { deviceSerial }) };
        // The answer has a token of the new user, which is not for an administrator: nothing keeps it.
        const { userId } = await rest.post<{ userId: string }>('/auth/register', body);
        const user = await readUser(rest, userId);
        if (user !== null) table.list.add(user);
        return texts.createdUser(username);
      }),
    diagnose: ({ id }, talkgroupId) =>
      rest.get<Diagnosis>(
        `/users/${id}/diagnosis${talkgroupId === null ? '' : `?talkgroup_id=${talkgroupId}`}`,
      ),
    holdersOf(row) {
      const known = holders.get(row) ?? createHolders(rest, row.id);
      holders.set(row, known);
      return known;
    },
    closeCard(row) {
      if (changes.get(row)?.isBusy.peek() === false) changes.delete(row);
      holders.delete(row);
    },
    async openCard(userId) {
      wanted += 1;
      const own = wanted;
      try {
        const user = await readUser(rest, userId);
        if (own !== wanted) return; // another one was chosen meanwhile
        table.trouble.value = user === null ? texts.missing : null;
        if (user !== null) open(table.list.rowFor(user));
      } catch (error) {
        if (own === wanted) table.trouble.value = wordsOf(error);
      }
    },
    revoke: (row) =>
      row.action.run(async () => {
        const words = await revokeTokens(rest, row.id);
        await showAgain(row);
        return words;
      }),
    setDispatcher: (row, dispatcher) =>
      row.action.run(async () => {
        const answer = await storedBy(rest.patch(`/users/${row.id}`, { dispatcher }));
        row.item.value = { ...row.item.peek(), dispatcher };
        await showAgain(row);
        if (answer === null) return texts.unconfirmed;
        return dispatcher ? texts.admitted : texts.dismissed;
      }),
    remove: (row) =>
      row.action.run(async () => {
        const answer = await storedBy(rest.remove(`/users/${row.id}`));
        return answer === null ? texts.unconfirmed : texts.deleted;
      }),
    setDevice: (row, serial) =>
      changesOf(row).run(async () => {
        const path = `/users/${row.id}/device`;
        const before = row.item.peek().device;
        const answer = await storedBy<object>(serial === '' ? rest.remove(path) : rest.put(path, { serial }));
        await showAgain(row);
        if (answer === null) return texts.unconfirmed;
        return before === null ? texts.saved : texts.deviceSetRevoked;
      }),
    setPassword: (row, password, areTokensKept) =>
      changesOf(row).run(async () => {
        const body = { password, keep_tokens: areTokensKept };
        const answer = await storedBy(rest.put(`/users/${row.id}/password`, body));
        await showAgain(row);
        if (answer === null) return texts.unconfirmed;
        return areTokensKept ? texts.saved : texts.revoked;
      }),
  };
}

/** Logs the user out everywhere. Returns what to say. */
export async function revokeTokens(rest: Rest, userId: string): Promise<string> {
  const answer = await storedBy(rest.post(`/users/${userId}/revoke`));
  return answer === null ? texts.unconfirmed : texts.revoked;
}

/** Accounts with names that begin as `startNow` says when the page is read. */
export function usersByName(rest: Rest, startNow: () => string): List<User> {
  return createList<User>({
    async read({ after, limit }) {
      const query = queryOf({ limit, after, q: startNow() });
      const { users: items, next } = await rest.get<Page<'users', User>>(`/users${query}`);
      return { items, next };
    },
    idOf: ({ id }) => id,
    nameOf: ({ username }) => username,
  });
}

/** null: no such account. */
async function readUser(rest: Rest, id: string): Promise<User | null> {
  const { users } = await rest.get<Page<'users', User>>(`/users${oneOf(id)}`);
  return users.find((user) => user.id === id) ?? null;
}
