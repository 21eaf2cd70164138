// Prints rows for eyes, as a table, or for programs, as lines of JSON.

export type Row = Readonly<Record<string, string | number | boolean | null | readonly string[]>>;

/** One line of each row, its cells below the names of the columns. */
export function tableOf(rows: readonly Row[]): string {
  const [first] = rows;
  if (first === undefined) return '';
  const names = Object.keys(first);
  const lines = [names.map(headOf), ...rows.map((row) => names.map((name) => cellOf(row[name] ?? null)))];
  const widths = names.map((_, column) =>
    lines.reduce((width, cells) => Math.max(width, charactersOf(cells[column] ?? '')), 0),
  );
  const padded = (text: string, width: number) => text + ' '.repeat(width - charactersOf(text));
  return lines
    .map((cells) => cells.map((cell, column) => padded(cell, widths[column] ?? 0)).join('  '))
    .map((line) => `${line.trimEnd()}\n`)
    .join('');
}

/** One line of JSON for each row. */
export const linesOf = (rows: readonly object[]): string =>
  rows.map((row) => `${JSON.stringify(row)}\n`).join('');

const headOf = (name: string) => name.replaceAll('_', ' ').toUpperCase();
const charactersOf = (text: string) => [...text].length;

function cellOf(value: Row[string]): string {
  if (value === null) return '-';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return typeof value === 'object' ? value.join(', ') || '-' : String(value);
}
