// Reads and writes the CSV file of a fleet: one row for each radio.
import { type CsvError, parse } from 'csv-parse/sync';

/** The columns, in the order in which an export has them. */
export const COLUMNS = ['username', 'serial', 'device_name', 'site', 'talkgroups', 'password'] as const;
export type Column = (typeof COLUMNS)[number];

/** Between talkgroups in their cell. */
export const SEPARATOR = '|';
const ROWS_MAX = 50_000;
export const FILE_BYTES_MAX = 16 << 20;

/** A row with the line of the file where it begins. An empty cell is left out. */
export interface Line {
  readonly line: number;
  readonly cells: Readonly<Partial<Record<Column, string>>>;
}

/** A fault of the file. `column` null: of the whole line. */
export interface LineError {
  readonly line: number;
  readonly column: Column | null;
  readonly text: string;
}

export interface ReadFile {
  readonly lines: readonly Line[];
  readonly errors: readonly LineError[];
}

/** Commas or, when the header has no comma, semicolons. UTF-8, with or without a byte order mark. */
export function readCsv(bytes: Uint8Array): ReadFile {
  const failed = (line: number, text: string): ReadFile => ({
    lines: [],
    errors: [{ line, column: null, text }],
  });
  if (bytes.length > FILE_BYTES_MAX) return failed(1, `the file is larger than ${FILE_BYTES_MAX >> 20} MiB`);
  const text = decode(bytes);
  if (typeof text === 'number') return failed(text, 'the text is not UTF-8');
  const [head = ''] = text.split('\n', 1);
  let records: Parsed[];
  try {
    records = parse(text, {
      ...{ bom: true, info: true, relax_column_count: true, skip_empty_lines: true, trim: true },
      delimiter: !head.includes(',') && head.includes(';') ? ';' : ',',
    }) as unknown as Parsed[]; // with `info` each record has its place beside it
  } catch (error) {
    const { lines = 1, message } = error as CsvError & { lines?: number };
    return failed(lines, message);
  }
  const [header, ...rows] = records;
  if (header === undefined) return failed(1, 'the file is empty');
  const errors = headerErrors(header.record);
  if (errors.length > 0) return { lines: [], errors };
  if (rows.length > ROWS_MAX) return failed(1, `the file has ${rows.length} rows, at most ${ROWS_MAX}`);
  return linesOf(header.record as Column[], rows);
}

interface Parsed {
  readonly record: readonly string[];
  /** `lines`: the line where it ends. */
  readonly info: { readonly lines: number };
}

function headerErrors(names: readonly string[]): LineError[] {
  const known: readonly string[] = COLUMNS;
  const error = (text: string): LineError => ({ line: 1, column: null, text });
  return [
    ...names.filter((name) => !known.includes(name)).map((name) => error(`no such column: ${name}`)),
    ...names
      .filter((name, at) => known.includes(name) && names.indexOf(name) !== at)
      .map((name) => error(`the column ${name} is there twice`)),
    ...(names.includes('username') ? [] : [error('the column username is missing')]),
  ];
}

function linesOf(columns: readonly Column[], rows: readonly Parsed[]): ReadFile {
  const lines: Line[] = [];
  const errors: LineError[] = [];
  for (const { record, info } of rows) {
    const breaks = record.reduce((sum, cell) => sum + (cell.match(/\n/g)?.length ?? 0), 0);
    const line = info.lines - breaks;
    if (record.length !== columns.length) {
      errors.push({ line, column: null, text: `${record.length} cells, the header has ${columns.length}` });
      continue;
    }
    const cells = columns.flatMap((column, at) => {
      const text = record[at] ?? '';
      return text === '' ? [] : [[column, unescaped(column, text)] as const];
    });
    lines.push({ line, cells: Object.fromEntries(cells) });
  }
  return { lines, errors };
}

/** The number of the first line with other bytes when it is not UTF-8. */
function decode(bytes: Uint8Array): string | number {
  const utf8 = new TextDecoder('utf-8', { fatal: true });
  try {
    return utf8.decode(bytes);
  } catch {
    // Expected: another encoding.
    let line = 1;
    for (let from = 0; from < bytes.length; line++) {
      const end = bytes.indexOf(0x0a, from);
      const part = bytes.subarray(from, end < 0 ? bytes.length : end);
      if (!isUtf8(part)) return line;
      from = end < 0 ? bytes.length : end + 1;
    }
    return line;
  }
}

function isUtf8(bytes: Uint8Array): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false; // expected: the line that is looked for
  }
}

/** A spreadsheet takes such a cell for a formula, and users choose their names. */
const FORMULA = /^'*[=+\-@\t\r]/;
/** The same behind what makes it a text. */
const ESCAPED = /^'+[=+\-@\t\r]/;

/** A password is taken as it is. */
const unescaped = (column: Column, text: string) =>
  column !== 'password' && ESCAPED.test(text) ? text.slice(1) : text;

/** A line of the file, with its end. Cells that a spreadsheet would run begin with `'`. */
export function csvLine(cells: readonly string[]): string {
  const quoted = cells.map((cell) => {
    const text = FORMULA.test(cell) ? `'${cell}` : cell;
    return /[",;\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  });
  return `${quoted.join(',')}\r\n`;
}
