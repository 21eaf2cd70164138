// Keeps the key holder of a browser in IndexedDB. The private key cannot be read from there, only used.
import type { Holder, HolderKey } from './holder.js';
import type { Memory } from './key-store.js';

/** What it needs of IndexedDB, in a page and in a worker. The types of the client know no DOM. */
type Request<Result> = { result: Result; error: unknown; onsuccess: unknown; onerror: unknown };
type Store = {
  get(key: string): Request<unknown>;
  put(value: unknown, key: string): Request<unknown>;
  delete(key: string): Request<unknown>;
  getAllKeys(): Request<unknown[]>;
  getAll(): Request<unknown[]>;
};
type Database = {
  createObjectStore(name: string): unknown;
  transaction(name: string, mode: 'readonly' | 'readwrite'): { objectStore(name: string): Store };
  close(): void;
};
type Opening = Request<Database> & { onupgradeneeded: unknown };
/** The global `indexedDB`, or one like it. */
export type Databases = { open(name: string, version: number): Opening };

const NAME = 'talkgroup-radio keys';
const HOLDERS = 'holders';
const MEMORY = 'memory';

/** The holder of one account in this browser, and what its radio remembers. */
export type HolderDatabase = {
  /** The registered holder of the user. null: there is none. It creates nothing. */
  registered(userId: string): Promise<Holder | null>;
  /** The key pair of the user, created at the first time. `holderId` null: it is not registered yet. */
  holder(userId: string): Promise<HolderKey & { holderId: string | null }>;
  /** Keeps the id that the service gave the holder. */
  keepHolderId(userId: string, key: HolderKey, holderId: string): Promise<Holder>;
  /** Forgets the key pair: the service does not know the holder any more. The next one has another pair. */
  forget(userId: string): Promise<void>;
  /** What was remembered of this user, read once. */
  memory(userId: string): Promise<Memory>;
  close(): void;
};

/** Rejects where the browser has no IndexedDB, as in some private windows. */
export async function openHolderDatabase(
  databases: Databases = (globalThis as unknown as { indexedDB: Databases }).indexedDB,
): Promise<HolderDatabase> {
  const opening = databases.open(NAME, 1);
  opening.onupgradeneeded = () => {
    opening.result.createObjectStore(HOLDERS);
    opening.result.createObjectStore(MEMORY);
  };
  const database = await settled(opening);
  const store = (name: string, mode: 'readonly' | 'readwrite') =>
    database.transaction(name, mode).objectStore(name);

  const stored = async (userId: string) =>
    // Written by this file alone.
    (await settled(store(HOLDERS, 'readonly').get(userId))) as
      | (HolderKey & { holderId: string | null })
      | undefined;

  return {
    async registered(userId) {
      const found = await stored(userId);
      return found && found.holderId !== null ? { ...found, holderId: found.holderId } : null;
    },
    async holder(userId) {
      const found = await stored(userId);
      if (found) return found;
      // Loaded here, because most browsers that open the database never make a key.
      const { createHolderKey } = await import('./holder.js');
      const created = { ...(await createHolderKey()), holderId: null };
      await settled(store(HOLDERS, 'readwrite').put(created, userId));
      return created;
    },
    async keepHolderId(userId, { pair, publicKey }, holderId) {
      const kept = { pair, publicKey, holderId };
      await settled(store(HOLDERS, 'readwrite').put(kept, userId));
      return kept;
    },
    async forget(userId) {
      await settled(store(HOLDERS, 'readwrite').delete(userId));
    },
    async memory(userId) {
      const names = (await settled(store(MEMORY, 'readonly').getAllKeys())) as string[];
      const values = (await settled(store(MEMORY, 'readonly').getAll())) as string[];
      const texts = new Map(names.map((name, i) => [name, values[i] ?? '']));
      const nameOf = (talkgroupId: string) => `${userId} ${talkgroupId}`;
      return {
        read: (talkgroupId) => texts.get(nameOf(talkgroupId)) ?? null,
        write(talkgroupId, text) {
          texts.set(nameOf(talkgroupId), text);
          // A full disk costs what would have been remembered, and no audio.
          settled(store(MEMORY, 'readwrite').put(text, nameOf(talkgroupId))).catch(() => {});
        },
      };
    },
    close: () => database.close(),
  };
}

function settled<Result>(request: Request<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}
