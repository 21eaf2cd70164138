// JSON Schema as the service's OpenAPI document writes it: what keeps to one, what does not, and values near its limits.
import fc from 'fast-check';

/** The part of JSON Schema that the document uses. A keyword beyond it limits nothing here. */
export interface Schema {
  /** Resolved before anything is generated (api.ts). */
  readonly $ref?: string;
  readonly type?: 'object' | 'array' | 'string' | 'number' | 'integer' | 'boolean' | 'null';
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly maxItems?: number;
  readonly format?: string;
}

/**
 * Where and why `value` does not keep to `schema`, or null. Strict, as for an answer: a key the schema does not name is a
 * fault. Otherwise, as for a body: null for an optional field is none.
 */
export function faultOf(schema: Schema, value: unknown, isStrict: boolean, at = ''): string | null {
  if (schema.enum !== undefined) return schema.enum.includes(value) ? null : `${at} is none of the values`;
  if (schema.anyOf !== undefined) {
    const fits = schema.anyOf.some((one) => faultOf(one, value, isStrict) === null);
    return fits ? null : `${at} fits none of the schemas`;
  }
  switch (schema.type) {
    case 'object':
      return faultOfObject(schema, value, isStrict, at);
    case 'array':
      return faultOfArray(schema, value, isStrict, at);
    case 'string':
      return faultOfString(schema, value, at);
    case 'number':
    case 'integer':
      return faultOfNumber(schema, value, at);
    case 'null':
      return value === null ? null : `${at} is not null`;
    case 'boolean':
      return typeof value === 'boolean' ? null : `${at} is no boolean`;
    default:
      return null;
  }
}

function faultOfObject(schema: Schema, value: unknown, isStrict: boolean, at: string): string | null {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return `${at} is no object`;
  const { properties = {}, required = [] } = schema;
  for (const key of required) if (!Object.hasOwn(value, key)) return `${at}/${key} is missing`;
  for (const [key, inner] of Object.entries(value)) {
    if (!isStrict && inner === null && !required.includes(key)) continue;
    const property = Object.hasOwn(properties, key) ? properties[key] : undefined;
    const fault =
      property === undefined
        ? isStrict && `${at}/${key} is not documented`
        : faultOf(property, inner, isStrict, `${at}/${key}`);
    if (fault) return fault;
  }
  return null;
}

function faultOfArray({ items, maxItems }: Schema, value: unknown, isStrict: boolean, at: string) {
  if (!Array.isArray(value)) return `${at} is no array`;
  if (maxItems !== undefined && value.length > maxItems) return `${at} is too long`;
  if (items === undefined) return null;
  for (const [index, item] of value.entries()) {
    const fault = faultOf(items, item, isStrict, `${at}/${index}`);
    if (fault !== null) return fault;
  }
  return null;
}

/** A character is a code point. */
function faultOfString({ minLength = 0, maxLength, format }: Schema, value: unknown, at: string) {
  if (typeof value !== 'string') return `${at} is no string`;
  const characters = [...value].length;
  if (characters < minLength || (maxLength !== undefined && characters > maxLength))
    return `${at} has ${characters} characters`;
  if (format === 'uuid' && !UUID.test(value)) return `${at} is no UUID`;
  if (format === 'date-time' && !(value.endsWith('Z') && Number.isFinite(Date.parse(value))))
    return `${at} is no time in UTC`;
  return null;
}

const UUID = /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/;

function faultOfNumber({ type, minimum, maximum }: Schema, value: unknown, at: string): string | null {
  if (typeof value !== 'number' || !Number.isFinite(value)) return `${at} is no number`;
  if (type === 'integer' && !Number.isInteger(value)) return `${at} is no integer`;
  if (minimum !== undefined && value < minimum) return `${at} is below ${minimum}`;
  return maximum !== undefined && value > maximum ? `${at} is above ${maximum}` : null;
}

/** Values that keep to the schema. */
export function valuesOf(schema: Schema): fc.Arbitrary<unknown> {
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  if (schema.anyOf !== undefined) return fc.oneof(...schema.anyOf.map(valuesOf));
  const { minimum = -1e6, maximum = 1e6, minLength = 0, maxLength = 40 } = schema;
  switch (schema.type) {
    case 'object': {
      const properties = Object.entries(schema.properties ?? {});
      const requiredKeys = [...(schema.required ?? [])];
      return fc.record(Object.fromEntries(properties.map(([key, one]) => [key, valuesOf(one)])), {
        requiredKeys,
      });
    }
    case 'array':
      return fc.array(valuesOf(schema.items ?? {}), { maxLength: Math.min(schema.maxItems ?? 5, 5) });
    case 'string':
      return schema.format === 'uuid' ? fc.uuid() : fc.string({ minLength, maxLength });
    case 'integer':
      return fc.integer({ min: Math.ceil(minimum), max: Math.floor(maximum) });
    case 'number':
      return fc.double({ min: minimum, max: maximum, noNaN: true });
    case 'boolean':
      return fc.boolean();
    default:
      return fc.jsonValue();
  }
}

/** One less, at, and one more than each limit the schema states, of texts in characters of every width. */
export function boundariesOf(schema: Schema): unknown[] {
  const { minimum, maximum, minLength, maxLength, maxItems, items } = schema;
  const limits = [minimum, maximum].filter((one) => one !== undefined);
  const numbers = limits.flatMap((one) => [one - 1, one - 1e-9, one, one + 1e-9, one + 1]);
  const lengths = [minLength, maxLength].filter((one) => one !== undefined);
  const texts = lengths
    .flatMap((one) => [one - 1, one, one + 1])
    .filter((one) => one >= 0)
    .flatMap((length) => CHARACTERS.map((character) => character.repeat(length)));
  const lists = [maxItems]
    .filter((one) => one !== undefined)
    .flatMap((one) => [one, one + 1])
    .map((length) => Array.from({ length }, () => boundariesOf(items ?? {})[0] ?? 'x'));
  return [...numbers, ...texts, ...lists, ...(schema.type === undefined ? [] : ALWAYS[schema.type])];
}

/** One, two, three and four bytes of UTF-8. Two code points that are seen as one, and several joined into one picture. */
const CHARACTERS = ['x', '\u00e9', '\u20ac', '\u{1f4fb}', 'e\u0301', '\u{1f468}\u200d\u{1f469}'];

const ALWAYS: Readonly<Record<NonNullable<Schema['type']>, readonly unknown[]>> = {
  object: [{}, []],
  array: [[]],
  string: ['', ' ', `e${'\u0301'.repeat(200)}`, 'x'.repeat(2000)],
  number: [0, -0, 5e-324, -5e-324, 1.7976931348623157e308],
  integer: [
    0,
    -0,
    -1,
    0.5,
    2 ** 31 - 1,
    2 ** 31,
    2 ** 32 - 1,
    2 ** 32,
    2 ** 53 - 1,
    2 ** 53,
    -(2 ** 53),
    1e21,
  ],
  boolean: [true, false],
  null: [],
};
