// A cell that is edited in its place. Enter and a double click begin, Enter saves, Escape restores.
import { useState } from 'preact/hooks';
import { Icon } from '../icons/icon.js';
import type { Row } from './list.js';
import { focusAtOnce } from './parts.js';
import type { Table } from './table.js';
import { texts } from './texts.js';

interface EditProps<Item> {
  readonly table: Table<Item>;
  readonly row: Row<Item>;
  /** As REST names it. */
  readonly column: string;
  /** The head of the column. */
  readonly title: string;
  /** Of the row. */
  readonly name: string;
  /** What is shown. */
  readonly text: string;
  /** What is edited. */
  readonly value: string;
  /** Instead of any text: values and their words. */
  readonly choices?: Readonly<Record<string, string>>;
  readonly isNumber?: boolean;
  /** What the value means, such as its unit. */
  readonly hint?: string;
  /** The first cell of the row, which names it. */
  readonly isFirst?: boolean;
  /** false: the text alone. */
  readonly mayEdit?: boolean;
  save(value: string): Promise<boolean>;
}

export function EditCell<Item>(props: EditProps<Item>) {
  const { table, row, column, title, text, isFirst = false, mayEdit = true } = props;
  if (!mayEdit) return <span class={`admin-cell name line ${isFirst ? 'first' : ''}`}>{text}</span>;
  const now = table.editing.value;
  if (now?.id === row.id && now.column === column) return <Field {...props} />;
  const begin = () => {
    row.action.outcome.value = null;
    table.editing.value = { id: row.id, column };
  };
  return (
    <button
      type="button"
      id={cellOf(row, column)}
      class={`admin-cell name line ${isFirst ? 'first' : ''}`}
      title={text}
      aria-label={texts.edit(text, title.toLowerCase())}
      aria-description={texts.editHint}
      onDblClick={begin}
      // Enter, Space, and the press of a screen reader. A single click of a pointer has a count.
      onClick={(event) => event.detail === 0 && begin()}
    >
      {text}
    </button>
  );
}

function Field<Item>({
  table,
  row,
  column,
  title,
  name,
  value: now,
  choices,
  isNumber = false,
  hint,
  save,
}: EditProps<Item>) {
  // As it was when editing began: what others change meanwhile does not change what is entered.
  const [value] = useState(now);
  const outcome = row.action.outcome.value;
  const error = outcome?.isError ? outcome.text : null;
  const end = () => {
    const edited = table.editing.peek();
    // While the change was stored the user went on to another cell.
    if (edited?.id !== row.id || edited.column !== column) return;
    table.editing.value = null;
    requestAnimationFrame(() => {
      // The user may have gone on before the change was stored.
      if (document.activeElement === document.body) document.getElementById(cellOf(row, column))?.focus();
    });
  };
  const label = texts.valueOf(title, name);
  return (
    <form
      class="admin-edit"
      onSubmit={async (event) => {
        event.preventDefault();
        const wanted = String(new FormData(event.currentTarget).get('value') ?? '');
        if (wanted === value) end();
        else if (!row.action.isBusy.peek()) {
          table.acted.value = null; // said at the cell
          if (!(await save(wanted))) return;
          table.acted.value = row;
          end();
        }
      }}
      onKeyDown={(event) => {
        if (event.key === 'Escape') {
          event.stopPropagation();
          row.action.outcome.value = null;
          end();
        } else if (event.key !== 'Enter') row.action.outcome.value = null;
      }}
    >
      {choices === undefined ? (
        <input
          name="value"
          required
          autocomplete="off"
          aria-label={label}
          aria-description={hint}
          title={hint}
          defaultValue={value}
          ref={selectAtOnce}
          {...(isNumber && { type: 'number', min: '0', max: '3600', step: 'any' })}
        />
      ) : (
        <select name="value" aria-label={label} ref={focusAtOnce}>
          {Object.entries(choices).map(([one, words]) => (
            <option key={one} value={one} selected={one === value}>
              {words}
            </option>
          ))}
        </select>
      )}
      <button type="submit" class="primary admin-icon" aria-label={texts.save} title={texts.save}>
        <Icon name="check" />
      </button>
      {error !== null && (
        <p class="admin-error" role="alert">
          {error}
        </p>
      )}
    </form>
  );
}

const cellOf = ({ id }: { id: string }, column: string) => `cell-${id}-${column}`;

function selectAtOnce(input: HTMLInputElement | null): void {
  input?.focus();
  input?.select();
}
