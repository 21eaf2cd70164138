// docs/protocol.md and docs/protocol-examples.md as data: their examples as lines to send and receive, their tables as
// cells, and the messages and objects that the tables list, with type, required and default of each field.

import type { Json } from '../service/service.js';
import { fencesOf, readPage } from './pages.js';

/** `who> text` or `who< text`, and how many times, so many ms apart. */
export interface Line {
  readonly who: readonly string[];
  readonly isHeard: boolean;
  readonly text: string;
  readonly times: number;
  readonly apartMs: number;
}

export interface Example {
  /** The page and the line in which it begins, such as `protocol.md:40`. */
  readonly at: string;
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

interface Page {
  readonly name: string;
  readonly text: string;
}

const pages = ['protocol.md', 'protocol-examples.md'].map(
  (name): Page => ({ name, text: readPage(`docs/${name}`) }),
);

/** Every block that is fenced as `wire`. */
export const examples = pages.flatMap(readExamples);
export const tables = pages.flatMap(readTables);

/** One row of a table of fields. */
export interface Field {
  /** As the page writes it, such as `integer, 0 to 7`. */
  readonly type: string;
  readonly isRequired: boolean;
  /** The cell of the default. */
  readonly preset: string;
}

export type Fields = ReadonlyMap<string, Field>;
/** By type the fields of each message, and by name those of each object. */
export type Messages = ReadonlyMap<string, Fields>;
const objects = fieldsOf('object');
/** The tables of fields. */
export const page = { objects, serverMessages: fieldsOf('server'), clientMessages: clientFields() };

/** The closes of which the page says that no example shows them, and why. */
export const notShown = pages
  .flatMap(({ text }) => [...text.matchAll(/No example shows (\d+ `[^`]+`), because \w+/g)])
  .map(([, close = '']) => close.replaceAll('`', ''));

/** The messages, and fields of messages, of which the page says the same. */
export const notShownMessages = pages
  .flatMap(({ text }) => [...text.matchAll(/No example shows ((?:[A-Z][\w.]+(?:, | or )?)+), because \w+/g)])
  .flatMap(([, types = '']) => types.split(/, | or /));

/** The table whose first columns are headed so. */
export function table(head: string): Table {
  const found = tables.find((one) => one.head.startsWith(`${head} |`));
  if (found === undefined) throw new Error(`no page has a table of ${head}`);
  return found;
}

/** The texts in backticks. */
export function codesIn(cell = ''): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);
}

/** '' or which fields of this message the tables do not name, or require in vain. */
export function misnamedIn({ type, ...fields }: Json, messages: Messages): string {
  const known = messages.get(String(type));
  if (known === undefined) return `${type} is in no table`;
  const unknown = Object.keys(fields).filter((field) => !known.has(field));
  const absent = [...known].filter(([field, { isRequired }]) => isRequired && !(field in fields));
  const wrong = [...unknown, ...absent.map(([field]) => field)];
  return wrong.length === 0 ? '' : `${type}: ${wrong.join(', ')}`;
}

function readExamples({ name, text }: Page): Example[] {
  return fencesOf(text).flatMap(({ language, text: shown, at: line }) => {
    const at = `${name}:${line}`;
    if (language === '') throw new Error(`the fence in ${at} has no language`);
    if (language !== 'wire') return [];
    const [scene = '', ...spoken] = shown.split('\n');
    return { at, ...readScene(scene), lines: readLines(spoken) };
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

function readTables({ text }: Page): Table[] {
  const lines = text.split('\n');
  return lines.flatMap((line, index) => {
    if (!line.startsWith('|---')) return [];
    const end = lines.findIndex((other, at) => at > index && !other.startsWith('|'));
    const rows = lines.slice(index + 1, end < 0 ? undefined : end).map(cellsOf);
    return { head: cellsOf(lines[index - 1] ?? '').join(' | '), rows };
  });
}

function cellsOf(line: string): string[] {
  const cells = line.slice(1, -1).split('|');
  return cells.map((cell) => cell.trim());
}

/** Whose fields a row of the tables lists. */
type Side = 'client' | 'server' | 'object';

/** What the tables of fields list as `NAME (side)`. A row without a name belongs to the one above. */
function fieldsOf(side: Side): Messages {
  const named = new Map<string, Map<string, Field>>();
  let fields: Map<string, Field> | null = null;
  for (const [name = '', field = '', type = '', required, preset = ''] of fieldRows()) {
    if (name !== '') fields = name.endsWith(` (${side})`) ? new Map<string, Field>() : null;
    if (fields === null) continue;
    if (name !== '') named.set(name.slice(0, -` (${side})`.length), fields);
    const [key = ''] = codesIn(field);
    if (key !== '') fields.set(key, { type, isRequired: required === 'yes', preset });
    else if (field !== '')
      for (const [other, known] of wholeOf(field, side === 'object' ? named : objects))
        fields.set(other, known);
  }
  return named;
}

function fieldRows(): Table['rows'] {
  const head = 'message or object | field | type | required | default | meaning';
  return tables.flatMap((one) => (one.head === head ? one.rows : []));
}

/** `fields of snapshot`: all of that object. */
function wholeOf(cell: string, known: Messages): Fields {
  const fields = known.get(cell.replace('fields of ', ''));
  if (fields === undefined) throw new Error(`no table has the ${cell}`);
  return fields;
}

/** What the page says of every message, it says of each. */
function clientFields(): Messages {
  const { 'every message': common = new Map(), ...named } = Object.fromEntries(fieldsOf('client'));
  return new Map(Object.entries(named).map(([type, fields]) => [type, new Map([...fields, ...common])]));
}
