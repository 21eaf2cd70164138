// Reads and writes the CSV file of a fleet: one row for each radio.
import { CsvError, parse } from 'csv-parse/sync';

/** The columns, in the order in which an export has them. */
export const COLUMNS = [
  'username',
  'serial',
  'device_name',
  'site',
  'talkgroups',
  'dispatcher',
  'password',
] as const;
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
  const decoded = decode(bytes);
  if (typeof decoded === 'number') return failed(decoded, 'the text is not UTF-8');
  // Of any system. The parser would count a break of two characters twice inside of quotes.
  const text = decoded.replaceAll(/\r\n?/g, '\n');
  const head = /[^\n]+/.exec(text)?.[0] ?? '';
  let whole = 0;
  let records: Parsed[];
  try {
    records = parse(text, {
      ...{ bom: true, info: true, relax_column_count: true, trim: true, to: ROWS_MAX + 2 },
      ...{ skip_empty_lines: true, skip_records_with_empty_values: true },
      delimiter: !head.includes(',') && head.includes(';') ? ';' : ',',
      on_record(record, { lines }) {
        whole = lines;
        return record;
      },
    }) as unknown as Parsed[]; // with `info` each record has its place beside it
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    // Its own message may have a part of a password.
    return failed(whole + 1, `a quote is wrong here or in a line below (${error.code})`);
  }
  const [header, ...rows] = records;
  if (header === undefined) return failed(1, 'the file is empty');
  const fault = headerFault(header.record);
  if (fault !== null) return failed(header.info.lines, fault);
  if (rows.length > ROWS_MAX) return failed(1, `the file has more than ${ROWS_MAX} rows`);
  return linesOf(header.record as Column[], rows);
}

interface Parsed {
  readonly record: readonly string[];
  /** `lines`: the line where it ends. */
  readonly info: { readonly lines: number };
}

/** A first line that names no column may be a row, whose password is not to be seen. */
function headerFault(names: readonly string[]): string | null {
  const known: readonly string[] = COLUMNS;
  if (!names.includes('username')) return `the first line must name the columns: ${COLUMNS.join(', ')}`;
  const other = names.find((name) => !known.includes(name));
  if (other !== undefined) return `no such column: ${JSON.stringify(other)}`;
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  return twice === undefined ? null : `the column ${twice} is there twice`;
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
    return /[",;\n\r]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  });
  return `${quoted.join(',')}\r\n`;
}
