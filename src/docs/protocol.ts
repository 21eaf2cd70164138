// Generates the tables of fields in docs/protocol.md from the schemas. Everything else on the page is written by hand.
import * as bodies from '../protocol/bodies.js';
import { clientMessages } from '../protocol/client-messages.js';
import { denials, ends, errors, revocations } from '../protocol/codes.js';
import { serverMessages } from '../protocol/server-messages.js';
import { type Page, replaceGenerated } from './page.js';

/** Writes every part of the page that has a table. Throws when a message or an object is in none. */
export const protocolPage: Page = {
  path: 'docs/protocol.md',
  write(present) {
    const listed = Object.values(tables).flatMap(namesIn);
    const absent = [...schemas.keys()].filter((name) => !listed.includes(name));
    if (absent.length > 0) throw new Error(`no table of docs/protocol.md lists ${absent.join(', ')}`);
    return Object.entries(tables).reduce(
      (page, [part, table]) => replaceGenerated(page, tableOf(namesIn(table), schemas), part),
      present,
    );
  },
};

/** The keywords that the schemas of the protocol are made of. */
export interface Schema {
  /** The name of the type on the page. */
  readonly title?: string;
  /** The meaning of a field. */
  readonly description?: string;
  readonly default?: string | number | boolean;
  readonly type?: string;
  readonly const?: string | number;
  readonly enum?: readonly (string | number)[];
  readonly anyOf?: readonly Schema[];
  /** Of a tuple a list. A tuple has a title. */
  readonly items?: Schema | readonly Schema[];
  readonly maxItems?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly exclusiveMaximum?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}

type Side = 'client' | 'server' | 'object';
type Table = Readonly<Partial<Record<Side, readonly string[]>>>;

/** By the part of the page what its table lists, in this order. */
const tables: Readonly<Record<string, Table>> = {
  session: {
    client: ['every message', 'PING'],
    server: ['WELCOME', 'PONG', 'OK', 'ERROR', 'GOAWAY', 'REACH', 'LAG'],
    object: ['limits', 'missed audio', 'snapshot'],
  },
  talkgroups: {
    client: ['SUBSCRIBE', 'UNSUBSCRIBE', 'SYNC'],
    server: ['SUBSCRIBED', 'SYNCED', 'TALKGROUP_JOINED', 'TALKGROUP_LEFT', 'TALKGROUP_CHANGED'],
    object: ['rejected id'],
  },
  talking: {
    client: ['FLOOR_REQUEST', 'FLOOR_RELEASE'],
    server: [
      'FLOOR_GRANTED',
      'FLOOR_DENIED',
      'FLOOR_QUEUED',
      'FLOOR_REVOKED',
      'TALK_STARTED',
      'TALK_ENDED',
      'MISSED',
    ],
    object: ['codec', 'talker', 'running talker'],
  },
  emergency: {
    client: ['EMERGENCY_RAISE', 'EMERGENCY_ACK', 'EMERGENCY_CLEAR'],
    server: ['EMERGENCY', 'EMERGENCY_POSITION'],
    object: ['emergency'],
  },
  presence: { client: ['MEMBERS'], server: ['PRESENCE', 'MEMBERS'], object: ['member'] },
  gps: {
    client: ['GPS_UPDATE', 'WATCH', 'UNWATCH'],
    server: ['WATCHING', 'POSITIONS'],
    object: ['device position', 'watched device'],
  },
  keys: { server: ['KEY_ROTATED', 'KEY_HOLDERS'], object: ['crypto'] },
};

/** `PING (client)`, `WELCOME (server)`, `limits (object)`. */
const nameOn = (side: Side) => (name: string) => `${name} (${side})`;
const namesIn = (table: Table): string[] =>
  (Object.entries(table) as [Side, readonly string[]][]).flatMap(([side, names]) => names.map(nameOn(side)));

type Schemas = ReadonlyMap<string, Schema>;

/** All messages and objects by their names in the tables. */
const schemas: Schemas = new Map(
  [
    named('client', { 'every message': { properties: { ref: clientMessages.PING.properties.ref } } }),
    named('client', clientMessages),
    named('server', serverMessages),
    named('object', Object.fromEntries(objectsIn(bodies))),
  ].flat(),
);

function named(side: Side, own: Readonly<Record<string, Schema>>): [string, Schema][] {
  return Object.entries(own).map(([name, schema]) => [nameOn(side)(name), schema]);
}

function objectsIn(values: object): [title: string, Schema][] {
  return (Object.values(values) as Schema[]).flatMap((schema): [string, Schema][] =>
    schema.title === undefined || schema.properties === undefined ? [] : [[schema.title, schema]],
  );
}

/** Defaults of optional fields that are no JSON value. */
const otherDefaults: Readonly<Record<string, string>> = {
  'GPS_UPDATE (client) device_id': "the user's own device",
  'GPS_UPDATE (client) at': 'now',
  'FLOOR_REQUEST (client) codec': 'Opus as in section 2',
};

/** One table of these messages and objects. */
export function tableOf(names: readonly string[], known: Schemas): string {
  const rows = names.flatMap((name) =>
    rowsOf(name, known).map((cells, index) => lineOf([index === 0 ? name : '', ...cells])),
  );
  const head = ['message or object', 'field', 'type', 'required', 'default', 'meaning'];
  return [lineOf(head), '|---|---|---|---|---|---|', ...rows].join('\n');
}

const lineOf = (cells: readonly string[]) =>
  `|${cells.map((cell) => (cell === '' ? ' ' : ` ${cell} `)).join('|')}|`;

/** For each field its cells. The fields of a whole object are one row. */
function rowsOf(name: string, known: Schemas): string[][] {
  const { title, properties = {}, required = [] } = known.get(name) ?? unknown(name);
  const whole = wholeIn(properties, title, known);
  const isOfClient = name.endsWith('(client)');
  const rows = Object.entries(properties).flatMap(([field, schema]) => {
    // A message's type is its name. What every message of a client has is listed once.
    if (field === 'type' || (isOfClient && field === 'ref' && 'type' in properties)) return [];
    if (whole?.properties !== undefined && field in whole.properties)
      return field === Object.keys(whole.properties)[0]
        ? [[`fields of ${whole.title}`, '', 'yes', '', '']]
        : [];
    const isRequired = required.includes(field);
    const preset = isOfClient && !isRequired ? presetOf(`${name} ${field}`, schema) : '';
    return [[`\`${field}\``, typeOf(schema), isRequired ? 'yes' : 'no', preset, schema.description ?? '']];
  });
  return rows.length > 0 ? rows : [['', '', '', '', '']]; // it has no field of its own
}

function unknown(name: string): never {
  throw new Error(`no schema is called ${name}`);
}

/** The largest other object of which these properties have all. */
function wholeIn(properties: Properties, title: string | undefined, known: Schemas): Schema | undefined {
  const sizeOf = (schema: Schema) => Object.keys(schema.properties ?? {}).length;
  return [...known.values()]
    .filter((other) => other.title !== undefined && other.title !== title)
    .filter((other) =>
      Object.entries(other.properties ?? {}).every(([field, schema]) => properties[field] === schema),
    )
    .sort((a, b) => sizeOf(b) - sizeOf(a))[0];
}

type Properties = NonNullable<Schema['properties']>;

const presetOf = (field: string, { default: preset }: Schema) =>
  preset === undefined ? (otherDefaults[field] ?? 'none') : inBackticks([preset]);

function typeOf(schema: Schema): string {
  const { title, type = '', anyOf, items, maxItems } = schema;
  if (title !== undefined) return title;
  if (schema.const !== undefined) return inBackticks([schema.const]);
  if (schema.enum !== undefined) return isExplained(schema.enum) ? 'string' : inBackticks(schema.enum);
  if (anyOf !== undefined) return anyOf.map(typeOf).join(' or ');
  if (items === undefined || !('type' in items)) return `${type}${boundsOf(schema)}`;
  return `array of ${typeOf(items)}${maxItems === undefined ? '' : `, at most ${maxItems}`}`;
}

/** The page has tables of these codes (test/relay/protocol.test.ts). */
const isExplained = (values: readonly unknown[]) =>
  [Object.keys(errors), denials, revocations, ends].some((codes) => `${codes}` === `${values}`);

const inBackticks = (values: readonly unknown[]) => values.map((value) => `\`${value}\``).join(', ');

function boundsOf({ minimum, maximum, exclusiveMinimum, exclusiveMaximum }: Schema): string {
  if (exclusiveMinimum !== undefined) return `, above ${exclusiveMinimum}`;
  if (exclusiveMaximum !== undefined) return `, ${minimum} to below ${exclusiveMaximum}`;
  if (minimum === undefined) return '';
  const most = maximum?.toLocaleString('en-US');
  return most === undefined ? `, from ${minimum}` : `, ${minimum.toLocaleString('en-US')} to ${most}`;
}
