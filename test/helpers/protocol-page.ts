// docs/protocol.md as data: its examples as lines to be said and heard, its tables as cells, the messages its tables list.
import { readFileSync } from 'node:fs';
import type { Json } from './service.js';

/** `who> text` or `who< text`, and how many times, so many ms apart. */
export interface Line {
  readonly who: readonly string[];
  readonly isHeard: boolean;
  readonly text: string;
  readonly times: number;
  readonly apartMs: number;
}

export interface Example {
  /** The line of the page in which it begins. */
  readonly at: number;
  readonly groups: readonly Group[];
  /** Of the server. */
  readonly settings: Readonly<Record<string, string>>;
  readonly lines: readonly Line[];
}

/** A talkgroup, or without a name people who are in none. */
export interface Group {
  readonly name: string;
  readonly settings: { readonly floor_mode?: 'single' | 'broadcast'; readonly max_talk_ms?: number };
  readonly members: readonly string[];
}

export interface Table {
  /** Its column heads as in the page, with ` | ` between them. */
  readonly head: string;
  readonly rows: readonly (readonly string[])[];
}

// From dist/test/helpers.
const page = readFileSync(new URL('../../../docs/protocol.md', import.meta.url), 'utf8').split('\n');

/** Every block that is fenced as `wire`. */
export const examples = readExamples();
export const tables = readTables();

/** By type the fields of each message; true: it may be left out. */
export type Messages = ReadonlyMap<string, ReadonlyMap<string, boolean>>;
export const serverMessages = messagesFrom('server');
export const clientMessages = messagesFrom('client');

/** The closes of which the page says that no example shows them, and why. */
export const notShown = [...page.join('\n').matchAll(/Not shown in an example: (\d+ `[^`]+`), for \w+/g)].map(
  ([, close = '']) => close.replaceAll('`', ''),
);

/** The table whose first columns are headed so. */
export function table(head: string): Table {
  const found = tables.find((one) => one.head.startsWith(`${head} |`));
  if (found === undefined) throw new Error(`the page has no table of ${head}`);
  return found;
}

/** What stands in backticks. */
export function codesIn(cell = ''): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);
}

/** '' or what of this message is not as the tables say. */
export function faultOf({ type, ...fields }: Json, messages: Messages): string {
  const known = messages.get(String(type));
  if (known === undefined) return `${type} stands in no table`;
  const unknown = Object.keys(fields).filter((field) => !known.has(field));
  const absent = [...known].filter(([field, isOptional]) => !isOptional && !(field in fields));
  const wrong = [...unknown, ...absent.map(([field]) => field)];
  return wrong.length === 0 ? '' : `${type}: ${wrong.join(', ')}`;
}

function readExamples(): Example[] {
  const fences = page.flatMap((line, index) => (line.startsWith('```') ? [index] : []));
  return fences.flatMap((from, index) => {
    if (index % 2 === 1) return [];
    if (page[from] === '```') throw new Error(`the fence in line ${from + 1} has no language`);
    if (page[from] !== '```wire') return [];
    const [scene = '', ...lines] = page.slice(from + 1, fences[index + 1]);
    return { at: from + 1, ...readScene(scene), lines: readLines(lines) };
  });
}

/** `Fire, single, 1000 ms: ann, bob; Depot: ann; cid; DRAIN_MS=1000`. */
function readScene(scene: string): Pick<Example, 'groups' | 'settings'> {
  const parts = scene.split('; ');
  const settings = parts.filter((part) => part.includes('=')).map((part) => part.split('='));
  const groups = parts.filter((part) => !part.includes('=')).map(readGroup);
  return { groups, settings: Object.fromEntries(settings) };
}

function readGroup(part: string): Group {
  const read = /^(?:(\w+)(?:, (single|broadcast))?(?:, (\d+) ms)?: )?([\w, ]+)$/.exec(part);
  if (read === null) throw new Error(`no talkgroup with its members: ${part}`);
  const [, name = '', mode, limit, members = ''] = read;
  return {
    name,
    settings: {
      ...(mode !== undefined && { floor_mode: mode as 'single' | 'broadcast' }), // as matched
      ...(limit !== undefined && { max_talk_ms: Number(limit) }),
    },
    members: members.split(', '),
  };
}

function readLines(lines: readonly string[]): Line[] {
  const spoken = lines.filter((line) => line !== '' && !line.startsWith('-- '));
  const whole = spoken.join('\n').replaceAll(/\n +(?=[\da-f]{2} )/g, ' '); // the next bytes of a message
  return whole.replaceAll(/\n +/g, '').split('\n').map(readLine);
}

function readLine(line: string): Line {
  const read = /^([\w, ]+)([<>]) (.+?)(?: × (\d+)(?:, (\d+) ms apart)?)?$/.exec(line);
  if (read === null) throw new Error(`no line of an example: ${line}`);
  const [, who = '', sign, text = '', times = '1', apart = '0'] = read;
  return {
    who: who.split(', '),
    isHeard: sign === '<',
    text,
    times: Number(times),
    apartMs: Number(apart),
  };
}

function readTables(): Table[] {
  return page.flatMap((line, index) => {
    if (!line.startsWith('|---')) return [];
    const end = page.findIndex((other, at) => at > index && !other.startsWith('|'));
    const rows = page.slice(index + 1, end < 0 ? undefined : end).map(cellsOf);
    return { head: cellsOf(page[index - 1] ?? '').join(' | '), rows };
  });
}

function cellsOf(line: string): string[] {
  const cells = line.slice(1, -1).split('|');
  return cells.map((cell) => cell.trim());
}

function messagesFrom(side: string): Messages {
  const snapshot = table('snapshot').rows.flatMap(([field]) => codesIn(field));
  const rows = tables.flatMap(({ head, rows }) => (head === 'type | from | fields | meaning' ? rows : []));
  return new Map(
    rows
      .filter(([, from]) => from?.startsWith(side))
      .map(([type = '', , fields = '']) => {
        const listed = [...codesIn(fields), ...(fields.includes('a snapshot') ? snapshot : [])];
        return [type, new Map(listed.map((field) => [field.replace('?', ''), field.endsWith('?')]))];
      }),
  );
}
