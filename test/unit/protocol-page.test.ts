// docs/protocol.md gives each field that a client sends the type, the necessity and the default that it has in the relay.
import t from 'tap';
import { schemas } from '../../src/relay/asks.js';
import { defaultsOf } from '../helpers/declarations.js';
import { clientMessages, codesIn, type Fields, objects } from '../helpers/protocol-page.js';

/** The keywords that the relay's schemas of messages are made of. */
interface Schema {
  readonly type?: string;
  readonly const?: string | number;
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly maxItems?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}

const coded = schemas as Readonly<Record<string, Schema>>; // as JSON Schema, which they are

t.test('the page lists each field that a client sends with the type of its schema', async (t) => {
  t.same([...clientMessages.keys()].sort(), Object.keys(coded).sort());
  for (const [type, schema] of Object.entries(coded)) {
    t.same(listed(clientMessages.get(type)), rowsOf(schema), type);
  }
  t.same(listed(objects.get('codec')), rowsOf(coded.FLOOR_REQUEST?.properties?.codec ?? {}), 'codec');
});

t.test('the page gives each optional field the default that the relay takes', async (t) => {
  const defaults = defaultsOf('src/relay/answers.ts');
  for (const [type, fields] of clientMessages) {
    for (const [field, { isRequired, preset }] of fields) {
      const taken = isRequired ? undefined : defaults.get(field);
      t.same(codesIn(preset), taken === undefined || taken === 'null' ? [] : [taken], `${type}.${field}`);
    }
  }
});

/** By field what the page says of it. */
function listed(fields: Fields = new Map()): Record<string, string> {
  const rows = [...fields].map(([field, { type, isRequired }]) => [field, rowOf(type, isRequired)]);
  return Object.fromEntries(rows);
}

/** The same as the page should have it. */
function rowsOf({ properties = {}, required = [] }: Schema): Record<string, string> {
  const rows = Object.entries(properties).map(([field, schema]) => [
    field,
    rowOf(typeOf(field, schema), required.includes(field)),
  ]);
  return Object.fromEntries(rows);
}

function rowOf(type: string, isRequired: boolean): string {
  return `${type} | ${isRequired ? 'yes' : 'no'}`;
}

function typeOf(field: string, schema: Schema): string {
  const { type = '', anyOf, items, maxItems } = schema;
  if (anyOf?.every((one) => one.const !== undefined))
    return anyOf.map((one) => `\`${one.const}\``).join(', ');
  if (anyOf !== undefined) return anyOf.map((one) => typeOf(field, one)).join(' or ');
  if (items !== undefined) return `array of ${typeOf(field.slice(0, -1), items)}, at most ${maxItems}`;
  if (type === 'object') return field;
  if (type === 'string') return field.endsWith('_id') ? 'id' : 'string';
  return `${type}${boundsOf(schema)}`.replace('integer, 0 to 4,294,967,295', 'u32');
}

function boundsOf({ minimum, maximum, exclusiveMinimum }: Schema): string {
  if (exclusiveMinimum !== undefined) return `, above ${exclusiveMinimum}`;
  if (minimum === undefined || minimum === Number.MIN_SAFE_INTEGER) return '';
  const most = maximum?.toLocaleString('en-US');
  return most === undefined ? `, from ${minimum}` : `, ${minimum.toLocaleString('en-US')} to ${most}`;
}
