// The lines of a backup: gzip of JSON lines. docs/operations.md tells operators what is in it.
//
// The first line is a head. Then each table has a line with its name, and a line for each of its rows. The last line has the
// numbers of rows and the SHA-256 of all lines before it, so that a file that was cut or changed is noticed before anything is
// written.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { StringDecoder } from 'node:string_decoder';
import { createGunzip } from 'node:zlib';

export const FORMAT = 'talkgroup-radio-backup';
/** Of the lines. The schema of the tables has a version of its own. */
export const FORMAT_VERSION = 1;

export interface Head {
  readonly format: typeof FORMAT;
  readonly version: number;
  /** Of the service that wrote it. */
  readonly service: string;
  /** Of the tables. */
  readonly schema_version: number;
  /** ISO 8601. */
  readonly taken_at: string;
  /** Last value of each sequence. null: it has given none. */
  readonly sequences: Readonly<Record<string, number | null>>;
  /** The key of the tokens, where the service keeps it itself. */
  readonly token_key?: string;
}

/** By table. */
export type RowCounts = Readonly<Record<string, number>>;

/** Of a table: its rows follow. */
export const tableLine = (table: string): string => `${JSON.stringify(['table', table])}\n`;

/** The last line. */
export const endLine = (counts: RowCounts, sha256: string): string =>
  `${JSON.stringify(['end', counts, sha256])}\n`;

/** Why a file is not restored, for its operator. */
export class BackupError extends Error {
  override name = 'BackupError';
}

/** What a line is. A row stays as PostgreSQL wrote it. */
export type Line =
  | { readonly kind: 'table'; readonly table: string }
  | { readonly kind: 'row'; readonly row: string };

export interface Checked {
  readonly head: Head;
  readonly counts: RowCounts;
}

/** Reads the whole file once. Throws BackupError unless it is whole, and of a format that this code knows. */
export async function checkFile(path: string): Promise<Checked> {
  let head: Head | null = null;
  let counts: RowCounts | null = null;
  const found: Record<string, number> = {};
  let table = '';
  const hash = createHash('sha256');
  for await (const line of linesOf(path)) {
    if (head === null) head = readHead(line);
    else if (counts !== null) throw damaged('it goes on behind its last line');
    else if (line.startsWith('["end"')) {
      const [, told, sha256] = JSON.parse(line) as [string, RowCounts, string];
      if (hash.digest('hex') !== sha256) throw damaged('its SHA-256 is another one');
      counts = told;
      continue;
    } else if (line.startsWith('[')) {
      table = tableOf(line);
      found[table] = 0;
    } else found[table] = (found[table] ?? 0) + 1;
    hash.update(`${line}\n`);
  }
  if (head === null) throw new BackupError('the file is empty');
  if (counts === null) throw damaged('its last line is missing');
  for (const [name, count] of Object.entries(counts))
    if (found[name] !== count) throw damaged(`${name} has ${found[name] ?? 0} rows of ${count}`);
  return { head, counts };
}

/** The tables and rows of a file that was checked. */
export async function* contentOf(path: string): AsyncGenerator<Line> {
  let isHead = true;
  for await (const line of linesOf(path)) {
    if (isHead) isHead = false;
    else if (line.startsWith('{')) yield { kind: 'row', row: line };
    else if (line.startsWith('["table"')) yield { kind: 'table', table: tableOf(line) };
  }
}

/** Not by `node:readline`, which from Node 24 on also ends a line at U+2028. */
async function* linesOf(path: string): AsyncGenerator<string> {
  const file = createReadStream(path);
  const text = file.pipe(createGunzip());
  file.once('error', (error) => text.destroy(error));
  const decoder = new StringDecoder('utf8');
  let begun = '';
  try {
    for await (const chunk of text) {
      const lines = (begun + decoder.write(chunk as Buffer)).split('\n');
      begun = lines.pop() ?? '';
      yield* lines;
    }
    begun += decoder.end();
    if (begun !== '') yield begun;
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (/^Z_/.test(code)) throw damaged('it is no gzip, or was cut');
    throw error;
  } finally {
    file.destroy();
  }
}

function readHead(line: string): Head {
  const head = parse(line) as Partial<Head> | null;
  if (head?.format !== FORMAT) throw new BackupError('the file is no backup of this service');
  if (head.version !== FORMAT_VERSION)
    throw new BackupError(`the backup has format ${head.version}, this code knows ${FORMAT_VERSION}`);
  return head as Head; // written by `backup`, and the hash shows that it was not changed
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null; // SyntaxError: it is another file
  }
}

const tableOf = (line: string): string => (JSON.parse(line) as [string, string])[1];

const damaged = (how: string) => new BackupError(`the backup is damaged: ${how}`);
