// The state of one table: its rows in the order that the service gives them, the search, and what is open.
import { batch, type ReadonlySignal, type Signal, signal } from '@preact/signals';
import { createList, type List, type ListSource, type Row } from './list.js';
import { queryOf } from './rows.js';

/** What is open at the right of the table. A new item has no row. */
export type Side<Item> =
  | { readonly kind: 'new' }
  | { readonly kind: 'card' | 'members' | 'encryption' | 'recording'; readonly row: Row<Item> };

export interface Table<Item> {
  readonly list: List<Item>;
  /** The text that is searched for. Empty: all items are listed. */
  readonly find: ReadonlySignal<string>;
  /** As REST names it: a column, with `-` before it for descending. */
  readonly sort: ReadonlySignal<string>;
  search(text: string): void;
  /** Sorts by the column. A second time: in the other direction. */
  sortBy(column: string): void;
  /** The cell that is edited: at most one. */
  readonly editing: Signal<{ readonly id: string; readonly column: string } | null>;
  /** The row of the last action, of which the outcome is shown. */
  readonly acted: Signal<Row<Item> | null>;
  readonly side: Signal<Side<Item> | null>;
  /** What went wrong besides the list and the actions of its rows, until the next search. */
  readonly trouble: Signal<string | null>;
  /** Removes the row and all that is open of it. Returns the id of the row that takes its place, null when there is none. */
  remove(row: Row<Item>): string | null;
}

interface TableSource<Item> {
  readonly sort: string;
  readonly idOf: ListSource<Item>['idOf'];
  /** Reads one page with this query, which begins with `?`. */
  read(query: string): ReturnType<ListSource<Item>['read']>;
}

export function createTable<Item>({ sort: first, idOf, read }: TableSource<Item>): Table<Item> {
  const find = signal('');
  const sort = signal(first);
  const editing: Table<Item>['editing'] = signal(null);
  const acted: Table<Item>['acted'] = signal(null);
  const side: Table<Item>['side'] = signal(null);
  const trouble: Table<Item>['trouble'] = signal(null);
  const list = createList<Item>({
    read: ({ after, limit }) => read(queryOf({ sort: sort.peek(), find: find.peek(), limit, after })),
    idOf,
  });

  return {
    ...{ list, find, sort, editing, acted, side, trouble },
    search(text) {
      find.value = text;
      trouble.value = null;
      void list.restart();
    },
    sortBy(column) {
      sort.value = sort.peek() === column ? `-${column}` : column;
      editing.value = null;
      void list.restart();
    },
    remove(row) {
      const ids = list.rows.peek().map(({ id }) => id);
      const at = ids.indexOf(row.id);
      const open = side.peek();
      batch(() => {
        list.remove(row.id);
        if (open !== null && 'row' in open && open.row === row) side.value = null;
        if (editing.peek()?.id === row.id) editing.value = null;
      });
      return ids[at + 1] ?? ids[at - 1] ?? null;
    },
  };
}
