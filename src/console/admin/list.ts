// A list that is read in pages. Its rows keep their identity over updates, so that focus and scroll stay.
import { batch, type ReadonlySignal, type Signal, signal } from '@preact/signals';
import { type Attempt, createAttempt } from '../app/attempt.js';
import { wordsOf } from './failure.js';

export interface Row<Item> {
  readonly id: string;
  readonly item: Signal<Item>;
  readonly action: Attempt;
}

export interface List<Item> {
  readonly rows: ReadonlySignal<readonly Row<Item>[]>;
  /** No further page exists. */
  readonly isWhole: ReadonlySignal<boolean>;
  readonly isReading: ReadonlySignal<boolean>;
  readonly failure: ReadonlySignal<string | null>;
  /** What `reload` would show or take away. */
  readonly waiting: ReadonlySignal<Waiting>;
  /** Reads the first page, once. */
  open(): void;
  more(): Promise<void>;
  /** Reads again as many rows as are shown. */
  reload(): Promise<void>;
  /** Reads the shown rows again, at most LIVE_ROWS. Their texts change. None comes, goes or moves. */
  refresh(): Promise<void>;
  /** Reads the first page again, such as in another order. */
  restart(): Promise<void>;
  /** The row of this item: the one that is shown, else one that is not in the list. */
  rowFor(item: Item): Row<Item>;
  /** A new row, first in the list. */
  add(item: Item): void;
  remove(id: string): void;
}

export interface ListSource<Item> {
  /** One page behind `after`, which is the `next` of the page before. */
  read(page: { after: string | null; limit: number }): Promise<{
    items: readonly Item[];
    next: string | null;
  }>;
  idOf(item: Item): string;
  /** Of a page that could not be read. Default: the words of administration. */
  inWords?(error: unknown): string;
  /** Given where the service lists in the order of ids: a list of which all is read is sorted by name. */
  nameOf?(item: Item): string;
}

export const PAGE_ROWS = 50;
/** Each further page would be one more request of every refresh. */
export const LIVE_ROWS = 200;

export interface Waiting {
  readonly added: number;
  readonly removed: number;
}

const NONE: Waiting = { added: 0, removed: 0 };

interface Reading {
  readonly after: string | null;
  /** At least this many, unless there are fewer. */
  readonly count: number;
}

export function createList<Item>({ read, idOf, nameOf, inWords = wordsOf }: ListSource<Item>): List<Item> {
  const rows = signal<readonly Row<Item>[]>([]);
  const isWhole = signal(false);
  const isReading = signal(false);
  const failure = signal<string | null>(null);
  const waits = signal(NONE);
  /** Counts changes of the rows. A refresh that began before one is thrown away. */
  let edition = 0;
  let isRefreshing = false;
  /** Ids of rows that `add` put first, out of the order of the service. */
  let placed = new Set<string>();
  /** The last row of `rowFor` that is not listed. */
  let apart: Row<Item> | null = null;
  let isOpened = false;
  let next: string | null = null;
  // At most one: a newer one replaces it, such as the next letter of a search.
  let waiting: Reading | null = null;

  async function run(first: Reading): Promise<void> {
    if (isReading.peek()) {
      waiting = first;
      return;
    }
    isReading.value = true;
    for (let reading: Reading | null = first; reading !== null; reading = waiting) {
      waiting = null;
      await attempt(reading);
    }
    isReading.value = false;
  }

  async function attempt({ after, count }: Reading): Promise<void> {
    try {
      const { items, end } = await pages({ after, count }, () => waiting === null);
      if (waiting === null) show(after, items, end);
    } catch (error) {
      if (waiting === null) failure.value = inWords(error);
    }
  }

  async function pages({ after, count }: Reading, isWanted: () => boolean) {
    // By id: a row that was renamed between two pages is on both.
    const items = new Map<string, Item>();
    let end = after;
    do {
      const page = await read({ after: end, limit: PAGE_ROWS });
      for (const item of page.items) items.set(idOf(item), item);
      end = page.next;
    } while (end !== null && items.size < count && isWanted());
    return { items: [...items.values()], end };
  }

  /** One at a time: a slow service is not asked more often. A failure waits for the next one. */
  async function refresh(): Promise<void> {
    if (!isOpened || isReading.peek() || isRefreshing) return;
    // The first reading has failed.
    if (rows.peek().length === 0 && failure.peek() !== null) return run({ after: null, count: 1 });
    isRefreshing = true;
    const before = edition;
    const isSame = () => edition === before && !isReading.peek();
    const shown = new Map(rows.peek().map((row) => [row.id, { row, item: row.item.peek() }]));
    const count = Math.min(shown.size, LIVE_ROWS);
    const found = await pages({ after: null, count }, isSame).catch(() => null);
    isRefreshing = false;
    if (found === null || !isSame()) return;
    const { items, end } = found;
    const ids = items.map(idOf);
    // Behind the last known one are rows of a page that is not shown.
    const last = isWhole.peek() ? ids.length : ids.findLastIndex((id) => shown.has(id) && !placed.has(id));
    const kept = ids.filter((id) => shown.has(id)).length;
    batch(() => {
      failure.value = null;
      for (const item of items) {
        const known = shown.get(idOf(item));
        // What was saved here meanwhile is newer than what was read.
        if (known !== undefined && known.row.item.peek() === known.item && !known.row.action.isBusy.peek())
          known.row.item.value = item;
      }
      waits.value = {
        added: ids.slice(0, last + 1).filter((id) => !shown.has(id)).length,
        // A row that is not on these pages may be on a later one.
        removed: end === null ? shown.size - kept : 0,
      };
    });
  }

  function show(after: string | null, items: readonly Item[], end: string | null): void {
    const known = new Map(rows.peek().map((row) => [row.id, row]));
    if (apart !== null) known.set(apart.id, apart);
    const kept = after === null ? [] : rows.peek();
    const shown = new Set(kept.map(({ id }) => id));
    // A row that was added here, and that its page has as well, is shown once.
    const found = items.filter((item) => !shown.has(idOf(item))).map((item) => rowOf(item, known));
    // By name only where the order of no shown row changes.
    if (nameOf !== undefined && after === null && end === null) {
      found.sort((a, b) => nameOf(a.item.peek()).localeCompare(nameOf(b.item.peek())));
    }
    batch(() => {
      rows.value = [...kept, ...found];
      isWhole.value = end === null;
      failure.value = null;
      waits.value = NONE;
    });
    if (after === null) placed = new Set();
    edition += 1;
    next = end;
  }

  function rowOf(item: Item, known: ReadonlyMap<string, Row<Item>>): Row<Item> {
    const row = known.get(idOf(item));
    if (row === undefined) {
      return { id: idOf(item), item: signal(item), action: createAttempt(inWords) };
    }
    row.item.value = item;
    return row;
  }

  return {
    ...{ rows, isWhole, isReading, failure, waiting: waits, refresh },
    rowFor(item) {
      const listed = rows.peek().find(({ id }) => id === idOf(item));
      if (listed !== undefined) return listed;
      apart = rowOf(item, new Map());
      return apart;
    },
    open() {
      if (isOpened) return;
      isOpened = true;
      // Later, because a component that is rendering may call this.
      queueMicrotask(() => void run({ after: null, count: 1 }));
    },
    async more() {
      if (isWhole.peek() || isReading.peek()) return;
      await run({ after: next, count: 1 });
    },
    reload: () => run({ after: null, count: rows.peek().length }),
    restart: () => run({ after: null, count: 1 }),
    add(item) {
      edition += 1;
      placed.add(idOf(item));
      rows.value = [rowOf(item, new Map()), ...rows.peek()];
    },
    remove(id) {
      edition += 1;
      rows.value = rows.peek().filter((row) => row.id !== id);
    },
  };
}
