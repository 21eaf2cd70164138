// Lists accounts by the start of their names, and revokes their tokens.
import { type ReadonlySignal, signal } from '@preact/signals';
import type { Rest } from '../app/rest.js';
import { wordsOf, storedBy } from './failure.js';
import { createList, type List, type Row } from './list.js';
import { type Device, type Page, queryOf, type User } from './rows.js';
import { texts } from './texts.js';

export interface Users {
  readonly list: List<User>;
  /** The start of the names that are listed. Empty: all. */
  readonly start: ReadonlySignal<string>;
  search(start: string): void;
  /** What is known of devices, in words, by device id. */
  readonly devices: ReadonlySignal<ReadonlyMap<string, string>>;
  showDevice(deviceId: string): Promise<void>;
  revoke(row: Row<User>): Promise<boolean>;
}

export function createUsers(rest: Rest): Users {
  const start = signal('');
  const devices = signal<ReadonlyMap<string, string>>(new Map());
  const list = usersByName(rest, () => start.peek());

  function learn(id: string, words: string): void {
    devices.value = new Map(devices.peek()).set(id, words);
  }

  return {
    ...{ list, start, devices },
    search(text) {
      start.value = text;
      void list.reload();
    },
    async showDevice(id) {
      learn(id, texts.reading);
      try {
        const device = await readDevice(rest, id);
        learn(id, device === null ? texts.unknownDevice : texts.deviceFacts(device));
      } catch (error) {
        learn(id, wordsOf(error));
      }
    },
    revoke: (row) =>
      row.action.run(async () => {
        const answer = await storedBy(rest.post(`/users/${row.id}/revoke`));
        return answer === null ? texts.unconfirmed : texts.revoked;
      }),
  };
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

/** The page of one row behind the id before this one. null: no such device. */
async function readDevice(rest: Rest, id: string): Promise<Device | null> {
  const query = queryOf({ limit: 1, after: idBefore(id) });
  const { devices } = await rest.get<Page<'devices', Device>>(`/devices${query}`);
  const [device] = devices;
  return device?.id === id ? device : null;
}

/** The UUID before this one in the order of pages. The lowest one has none and stays. */
export function idBefore(id: string): string {
  const value = BigInt(`0x${id.replaceAll('-', '')}`);
  const digits = (value > 0n ? value - 1n : value).toString(16).padStart(32, '0');
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
