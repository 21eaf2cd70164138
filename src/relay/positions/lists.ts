// Reads the lists of watched devices, and reads them again: when a change notification names their talkgroup, and now and
// then, because a position that another relay told of may be lost.
import type { UserId } from '../../ids.js';
import type { Devices } from './devices.js';
import { type DevicesRead, List, type ListChange } from './list.js';

/** The reads at once. The others wait. */
const READS_MAX = 4;
/** Rows in a second, which take a tenth of the thread. Beyond it reads wait, so that speech does not. */
const ROWS_PER_S = 20_000;
/** As many rows as in this time (ms) may be read ahead of it. */
const AHEAD_MS = 50;
/** A list is read again this long after the first time (ms): by then all relays know that they are to tell its positions. */
const SOON_MS = 1000;
/** And from then on this often (ms), because nothing waits for a relay that does not read. */
const OFTEN_MS = 30_000;
/** Between two reads of a list (ms), however many change notifications name it. */
const APART_MS = 2000;
/** After a change notification (ms): others of the same change may follow. */
const GATHER_MS = 100;

export interface ListsOptions {
  readonly devices: Devices;
  readonly nowMs: () => number;
  /** Not called for the first read. */
  readonly changed: (list: List, change: ListChange) => void;
  readonly log: { error(fields: object, message: string): void };
}

interface Entry {
  readonly list: List;
  readonly read: () => Promise<DevicesRead>;
  /** Settled with the first read, and a failed one. */
  readonly waiting: { readonly resolve: () => void; readonly reject: (error: unknown) => void }[];
  /** Devices that it counts for. */
  counted: number;
  /** Watches of it, and sessions that wait for the first read. */
  uses: number;
  isReading: boolean;
  dueAtMs: number;
  readAtMs: number;
}

export type Lists = ReturnType<typeof createLists>;

export function createLists({ devices, nowMs, changed, log }: ListsOptions) {
  const entries = new Map<List, Entry>();
  /** To be read: those for which sessions wait, by user, and the others. Users take turns. */
  const first = new Map<UserId, Set<Entry>>();
  const again = new Set<Entry>();
  let reading = 0;
  /** When the rows that were read have had their share of time. */
  let freeAtMs = Number.NEGATIVE_INFINITY;
  let size = 0;

  function count(entry: Entry, devices: number): void {
    size += devices - entry.counted;
    entry.counted = devices;
  }

  /** true: it succeeded. */
  async function read(entry: Entry): Promise<boolean> {
    const { list } = entry;
    reading++;
    entry.isReading = true;
    entry.dueAtMs = Number.POSITIVE_INFINITY;
    try {
      const shown = await entry.read();
      freeAtMs = Math.max(freeAtMs, nowMs()) + (shown.devices.length / ROWS_PER_S) * 1000;
      if (entries.get(list) === entry) show(entry, shown);
      for (const { resolve } of entry.waiting.splice(0)) resolve();
      return true;
    } catch (error) {
      // Expected: the database is away or late. Those that wait are told, and the others keep what they have.
      for (const { reject } of entry.waiting.splice(0)) reject(error);
      entry.dueAtMs = nowMs() + APART_MS;
      return false;
    } finally {
      reading--;
      entry.isReading = false;
    }
  }

  function show(entry: Entry, shown: DevicesRead): void {
    const { list } = entry;
    const isFirst = !list.isRead;
    entry.readAtMs = nowMs();
    entry.dueAtMs = Math.min(entry.dueAtMs, entry.readAtMs + (isFirst ? SOON_MS : OFTEN_MS));
    const change = list.show(shown);
    count(entry, list.size);
    if (!isFirst && change.came.length + change.gone.length > 0) changed(list, change);
  }

  /** The next one of the user whose turn it is. */
  function takeFirst(): Entry | undefined {
    for (const [user, entries] of first) {
      const [entry] = entries;
      first.delete(user);
      if (entry === undefined) continue;
      entries.delete(entry);
      first.set(user, entries); // behind the others
      return entry;
    }
    return undefined;
  }

  function takeAgain(): Entry | undefined {
    const [entry] = again;
    if (entry !== undefined) again.delete(entry);
    return entry;
  }

  function begin(): void {
    while (reading < READS_MAX && nowMs() + AHEAD_MS >= freeAtMs) {
      const awaited = takeFirst();
      const entry = awaited ?? takeAgain();
      if (entry === undefined) return;
      // No watch waits for it any more, or it is read for another user.
      if (entry.isReading || (awaited !== undefined && entry.waiting.length === 0)) continue;
      read(entry).then(
        // While the database is away the next ones wait for the timer.
        (isRead) => isRead && begin(),
        (error) => log.error({ err: error }, 'watched devices not followed'), // a bug
      );
    }
  }

  /** Its devices may be others now. */
  function touch(list: List): void {
    const entry = entries.get(list);
    if (entry === undefined) return;
    const soonest = Math.max(nowMs() + GATHER_MS, entry.readAtMs + APART_MS);
    entry.dueAtMs = Math.min(entry.dueAtMs, soonest);
  }

  function tick(): void {
    const now = nowMs();
    for (const entry of entries.values()) {
      if (now < entry.dueAtMs) continue;
      entry.dueAtMs = Number.POSITIVE_INFINITY;
      again.add(entry);
    }
    begin();
  }

  return {
    /** A new list. Its devices are in it when `ready` has resolved. Until then it counts for `expected`. */
    add(source: () => Promise<DevicesRead>, expected: number): List {
      const list = new List(devices);
      const entry: Entry = {
        ...{ list, read: source, waiting: [], counted: 0, uses: 0, isReading: false },
        ...{ dueAtMs: Number.POSITIVE_INFINITY, readAtMs: Number.NEGATIVE_INFINITY },
      };
      entries.set(list, entry);
      count(entry, expected);
      return list;
    },

    /** One more use of the list. */
    use(list: List): void {
      const entry = entries.get(list);
      if (entry !== undefined) entry.uses++;
    },

    /** One use less. true: it was the last one, and the list has ended. */
    leave(list: List): boolean {
      const entry = entries.get(list);
      if (entry === undefined || --entry.uses > 0) return false;
      entries.delete(list);
      for (const awaited of first.values()) awaited.delete(entry);
      again.delete(entry);
      count(entry, 0);
      list.end();
      return true;
    },

    /** Resolves when the list was read, which waits for the turn of the user. Rejects when that failed. */
    ready(list: List, user: UserId): Promise<void> {
      const entry = entries.get(list);
      if (entry === undefined || list.isRead) return Promise.resolve();
      const isRead = new Promise<void>((resolve, reject) => entry.waiting.push({ resolve, reject }));
      const awaited = first.get(user) ?? new Set();
      first.set(user, awaited.add(entry));
      begin();
      return isRead;
    },

    touch,

    touchAll(): void {
      for (const list of entries.keys()) touch(list);
    },

    /** Called every 50 ms. */
    tick,

    all: (): Iterable<List> => entries.keys(),

    /** Devices in all lists. */
    get size(): number {
      return size;
    },
  };
}
