// Shows a table: a bar with what is found, a head that sorts, rows of one height, and the next page when its end is near.
import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { useFocusLeft } from '../app/focus-left.js';
import { Icon } from '../icons/icon.js';
import type { List, Row } from './list.js';
import type { Section } from './state.js';
import type { Table } from './table.js';
import { texts } from './texts.js';

export interface Column<Item> {
  /** As REST names it in `sort`. */
  readonly key: string;
  /** The service does not sort by it. */
  readonly isUnsorted?: boolean;
  readonly title: string;
  /** Of names, which get more of the width than others. */
  readonly isName?: boolean;
  /** Of numbers, which stand at the end of their cell. */
  readonly isNumber?: boolean;
  /** Its cells have a control, which cuts its text itself. */
  readonly isControl?: boolean;
  cell(row: Row<Item>): ComponentChildren;
}

interface TableProps<Item> {
  readonly section: Section;
  readonly table: Table<Item>;
  readonly columns: readonly Column<Item>[];
  nameOf(row: Row<Item>): string;
  actions(row: Row<Item>): ComponentChildren;
}

/** The end of the shown rows is this near when the next page is read (CSS pixels). */
const NEAR = 400;
/** How often the shown rows are read again. */
const LIVE_MS = 5_000;

export function TableView<Item>(props: TableProps<Item>) {
  const { section, table } = props;
  const { list } = table;
  list.open();
  useEffect(() => {
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') void list.refresh();
    }, LIVE_MS);
    return () => clearInterval(timer);
  }, [list]);
  const rows = list.rows.value;
  return (
    <>
      <Tools section={section} table={table} nameOf={props.nameOf} />
      <div
        class="admin-scroll"
        onScroll={({ currentTarget: at }) => {
          if (at.scrollHeight - at.scrollTop - at.clientHeight < NEAR && list.failure.peek() === null)
            void list.more();
        }}
      >
        <table class={`admin-table ${section}`} aria-label={texts[section]}>
          <Head {...props} />
          <tbody>
            {rows.map((row) => (
              <BodyRow key={row.id} row={row} {...props} />
            ))}
          </tbody>
        </table>
        {rows.length === 0 && list.isWhole.value && !list.isReading.value && (
          <p class="admin-empty quiet">{texts.nothing}</p>
        )}
        {!list.isWhole.value && rows.length > 0 && (
          <button
            type="button"
            class="admin-more"
            aria-disabled={list.isReading.value}
            onClick={() => void list.more()}
          >
            {texts.more}
          </button>
        )}
      </div>
    </>
  );
}

/** The search, how many rows there are, and what the last action said. All at places of fixed size. */
function Tools<Item>({ section, table, nameOf }: Pick<TableProps<Item>, 'section' | 'table' | 'nameOf'>) {
  const { list } = table;
  const row = table.acted.value;
  const outcome = row?.action.outcome.value ?? null;
  const words = row !== null && outcome !== null ? texts.said(nameOf(row), outcome.text) : '';
  const failure = list.failure.value;
  const trouble = failure ?? table.trouble.value;
  const isBad = trouble !== null || outcome?.isError === true;
  const count = texts.count[section](list.rows.value.length);
  const counted = list.isWhole.value ? count : texts.firstOf(count);
  return (
    <div class="admin-tools">
      <label class="admin-find">
        <Icon name="search" />
        <span class="visually-hidden">{texts.find[section]}</span>
        <input
          id="admin-find"
          type="search"
          autocomplete="off"
          spellcheck={false}
          placeholder={texts.findHint[section]}
          value={table.find.value}
          onInput={(event) => table.search(event.currentTarget.value)}
        />
      </label>
      <button type="button" aria-disabled={list.isReading.value} onClick={() => void list.reload()}>
        {texts.reload}
      </button>
      <p class={isBad ? 'admin-outcome error' : 'admin-outcome'} role="status">
        {trouble ?? words}
      </p>
      <Waiting list={list} />
      <p class="admin-count quiet" role="status">
        {list.isReading.value ? texts.reading : counted}
      </p>
    </div>
  );
}

/** Rows come when the user wants them, so that none moves below a pointer. The place has a fixed size. */
function Waiting<Item>({ list }: { list: List<Item> }) {
  const { added, removed } = list.waiting.value;
  return (
    <div class="admin-waiting" role="status">
      {added + removed > 0 && <ShowWaiting list={list} text={texts.waiting(added, removed)} />}
    </div>
  );
}

/** The focus goes to the first new row, and without one to the search. */
function ShowWaiting<Item>({ list, text }: { list: List<Item>; text: string }) {
  const button = useFocusLeft(() => focusRow(null));
  const show = async () => {
    const before = new Set(list.rows.peek().map(({ id }) => id));
    await list.reload();
    focusRow(list.rows.peek().find(({ id }) => !before.has(id))?.id ?? null);
  };
  return (
    <button type="button" ref={button} onClick={() => void show()}>
      {text}
    </button>
  );
}

function Head<Item>({ columns, table }: TableProps<Item>) {
  const sort = table.sort.value;
  return (
    <thead>
      <tr>
        {columns.map(({ key, title, isUnsorted = false, isNumber = false, isName = false }) => {
          const isSorted = sort === key || sort === `-${key}`;
          const isDescending = sort === `-${key}`;
          return (
            <th
              key={key}
              scope="col"
              class={`${isNumber ? 'number' : ''} ${isName ? 'name-column' : ''}`}
              {...(isSorted && { 'aria-sort': isDescending ? 'descending' : 'ascending' })}
            >
              {isUnsorted ? (
                <span class="admin-unsorted">{title}</span>
              ) : (
                <button
                  type="button"
                  class={isSorted ? 'admin-sort sorted' : 'admin-sort'}
                  onClick={() => table.sortBy(key)}
                >
                  {title}
                  <span class={isDescending ? 'admin-order descending' : 'admin-order'}>
                    {isSorted && <Icon name="arrow-down-narrow-wide" />}
                  </span>
                </button>
              )}
            </th>
          );
        })}
        <th scope="col" class="admin-actions">
          <span class="visually-hidden">{texts.columns.actions}</span>
        </th>
      </tr>
    </thead>
  );
}

function BodyRow<Item>({ row, table, columns, actions }: TableProps<Item> & { row: Row<Item> }) {
  const side = table.side.value;
  const isOpen = side !== null && side.kind !== 'new' && side.row.id === row.id;
  return (
    <tr id={`row-${row.id}`} class={isOpen ? 'open' : ''}>
      {columns.map(({ key, isNumber = false, isControl = false, cell }) => (
        <td key={key} class={`${isNumber ? 'number' : ''} ${isControl ? '' : 'plain'}`}>
          {cell(row)}
        </td>
      ))}
      <td class="admin-actions">{actions(row)}</td>
    </tr>
  );
}

/** The menu of a row, after the next rendering. Without a row the search. */
export function focusRow(id: string | null): void {
  requestAnimationFrame(() => {
    const opener = id === null ? null : document.querySelector<HTMLElement>(`#row-${id} .menu > button`);
    (opener ?? document.getElementById('admin-find'))?.focus();
  });
}
