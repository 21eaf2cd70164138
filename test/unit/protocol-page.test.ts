// docs/protocol.md gives each field of every message and object the name, the type, the necessity and the default that it
// has in the schemas and in the relay.
import t from 'tap';
import * as bodies from '../../src/protocol/bodies.js';
import { clientMessages } from '../../src/protocol/client-messages.js';
import { denials, ends, errors, revocations } from '../../src/protocol/codes.js';
import { serverMessages } from '../../src/protocol/server-messages.js';
import { defaultsOf } from '../helpers/declarations.js';
import { codesIn, type Fields, type Messages, page } from '../helpers/protocol-page.js';

/** The keywords that the schemas of the protocol are made of. */
interface Schema {
  readonly title?: string;
  readonly type?: string;
  readonly const?: string | number;
  readonly enum?: readonly (string | number)[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly maxItems?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly pattern?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}

type Schemas = Readonly<Record<string, Schema>>;

const patterns = { Id: (bodies.Id as Schema).pattern, Time: (bodies.Time as Schema).pattern };
const named = (Object.values(bodies) as Schema[]).filter(({ title }) => title !== undefined);

for (const { what, listed, coded } of [
  { what: 'message of a client', listed: page.clientMessages, coded: clientMessages as Schemas },
  { what: 'message of the server', listed: page.serverMessages, coded: serverMessages as Schemas },
  {
    what: 'object',
    listed: page.objects,
    coded: Object.fromEntries(named.map((schema) => [schema.title, schema])) as Schemas,
  },
] satisfies { what: string; listed: Messages; coded: Schemas }[]) {
  t.test(`the page lists each field of each ${what} with the type of its schema`, async (t) => {
    t.same([...listed.keys()].sort(), Object.keys(coded).sort());
    for (const [name, schema] of Object.entries(coded))
      t.same(rowsIn(listed.get(name)), rowsOf(schema, listed === page.clientMessages), name);
  });
}

t.test('a field that the page has otherwise than its schema is found', async (t) => {
  const { PING } = clientMessages as Schemas;
  const listed = (type: string, isRequired: boolean): Fields =>
    new Map([
      ['t', { type, isRequired, preset: '' }],
      ['ref', { type: 'string or integer', isRequired: false, preset: '' }],
    ]);
  const coded = rowsOf(PING ?? {}, true);
  t.same(rowsIn(listed('integer', true)), coded);
  t.notSame(rowsIn(listed('u32', true)), coded);
  t.notSame(rowsIn(listed('integer', false)), coded);
  t.notSame(rowsIn(new Map([...listed('integer', true)].slice(0, 1))), coded);
});

t.test('the page gives each optional field the default that the relay takes', async (t) => {
  const defaults = defaultsOf('src/relay/answers.ts');
  for (const [type, fields] of page.clientMessages) {
    for (const [field, { isRequired, preset }] of fields) {
      const taken = isRequired ? undefined : defaults.get(field);
      t.same(codesIn(preset), taken === undefined || taken === 'null' ? [] : [taken], `${type}.${field}`);
    }
  }
});

/** By field what the page says of it. */
function rowsIn(fields: Fields = new Map()): Record<string, string> {
  const rows = [...fields].map(([field, { type, isRequired }]) => [field, rowOf(type, isRequired)]);
  return Object.fromEntries(rows);
}

/** The same as the page should have it; the type of the message is its name there. */
function rowsOf(
  { properties = {}, required = [] }: Schema,
  isSaidByClients: boolean,
): Record<string, string> {
  const rows = Object.entries(properties)
    .filter(([field]) => field !== 'type')
    .map(([field, schema]) => [field, rowOf(typeOf(field, schema), required.includes(field))]);
  return Object.fromEntries(rows);

  function typeOf(field: string, schema: Schema): string {
    const { title, type = '', anyOf, items, maxItems, pattern } = schema;
    if (title !== undefined) return title;
    if (schema.const !== undefined) return `\`${schema.const}\``;
    if (schema.enum !== undefined) return listedElsewhere(schema.enum) ? 'string' : inBackticks(schema.enum);
    if (anyOf !== undefined) return anyOf.map((one) => typeOf(field, one)).join(' or ');
    if (items !== undefined)
      return `array of ${typeOf(field.slice(0, -1), items)}${maxItems === undefined ? '' : `, at most ${maxItems}`}`;
    if (type !== 'string') return `${type}${boundsOf(schema)}`.replace('integer, 0 to 4,294,967,295', 'u32');
    if (pattern === patterns.Time) return 'time';
    // The relay reads those of clients itself: one that is no UUID matches nothing.
    const isId = pattern === patterns.Id || (isSaidByClients && field.endsWith('_id'));
    return isId ? 'id' : 'string';
  }
}

function rowOf(type: string, isRequired: boolean): string {
  return `${type} | ${isRequired ? 'yes' : 'no'}`;
}

function inBackticks(values: readonly unknown[]): string {
  return values.map((value) => `\`${value}\``).join(', ');
}

/** The page has tables of these codes (test/relay/protocol.test.ts). */
function listedElsewhere(values: readonly unknown[]): boolean {
  return [Object.keys(errors), denials, revocations, ends].some((codes) => `${codes}` === `${values}`);
}

function boundsOf({ minimum, maximum, exclusiveMinimum }: Schema): string {
  if (exclusiveMinimum !== undefined) return `, above ${exclusiveMinimum}`;
  if (minimum === undefined || minimum === Number.MIN_SAFE_INTEGER) return '';
  const most = maximum?.toLocaleString('en-US');
  return most === undefined ? `, from ${minimum}` : `, ${minimum.toLocaleString('en-US')} to ${most}`;
}
