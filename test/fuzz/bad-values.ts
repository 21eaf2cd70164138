// What is wrong with inputs: texts that no client should send, values of other types, and bytes that came damaged.
import fc from 'fast-check';
import { boundariesOf, type Schema, valuesOf } from './schema.js';

/** Texts that broke the software of others. */
export const oddText: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(
    '',
    ' ',
    '\0',
    'a\0b',
    '\u0001\u001f\u007f\u0085\u009f',
    '\r\n',
    '\u2028\u2029',
    '\ufeff',
    '\ufffe\uffff',
    '\u202e\u2066evil\u2069',
    '\u05d0\u0627\u200f',
    '\u00e9',
    'e\u0301',
    `Z${'\u0300\u0301'.repeat(80)}`,
    '\ufb03\u212b\u1e9b\u0323',
    '\u{1f468}\u200d\u{1f469}\u200d\u{1f467}',
    '\u{1f1e9}\u{1f1ea}',
    '\ud800',
    '\udc00x',
    '\u{10ffff}',
    '__proto__',
    'constructor',
    'toString',
    'null',
    'undefined',
    'NaN',
    '1e999',
    '-0',
    "'; drop table users; --",
    '%00%2f..%2f',
    '{{7*7}}',
    '<script>alert(1)</script>',
    '$1 $$ \\',
    '../../etc/passwd',
  ),
  fc.string({ unit: 'binary', maxLength: 80 }),
  fc.string({ unit: 'grapheme', maxLength: 140 }),
  fc.string({ maxLength: 300 }),
  fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
  fc
    .array(fc.integer({ min: 0xd800, max: 0xdfff }), { maxLength: 8 })
    .map((units) => String.fromCharCode(...units)),
);

/** One time in so many. Else null. */
export const seldom = <T>(oneIn: number, value: fc.Arbitrary<T>): fc.Arbitrary<T | null> =>
  fc.oneof({ weight: oneIn - 1, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: value });

/** A value of any JSON type. */
const anyValue: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown[]>(null, true, false, 0, -1, 0.5, '', '0', 'true', [], {}, [null], { length: 1 }),
  oddText,
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.jsonValue({ maxDepth: 3 }),
);

/** An input and what is wrong with it, in the words of the report. */
export interface Labelled<T> {
  readonly kind: string;
  readonly value: T;
}

const labelled = <T>(kind: string, value: fc.Arbitrary<T>): fc.Arbitrary<Labelled<T>> =>
  value.map((value) => ({ kind, value }));

/** JSON near the schema: as documented, and then wrong in one of many ways. Text, for some of it no value has. */
export function jsonNear(schema: Schema, good: fc.Arbitrary<unknown> = valuesOf(schema)) {
  const properties = Object.entries(schema.properties ?? {});
  const names = properties.map(([name]) => name);
  const withField = (value: (schema: Schema) => fc.Arbitrary<unknown>) =>
    properties.length === 0
      ? good
      : fc.oneof(
          ...properties.map(([name, property]) =>
            fc.tuple(good, value(property)).map(([body, inner]) => ({ ...(body as object), [name]: inner })),
          ),
        );
  const text = good.map((value) => JSON.stringify(value) ?? '');
  const near = (kind: string, value: fc.Arbitrary<unknown>) =>
    labelled(
      kind,
      value.map((one) => JSON.stringify(one) ?? ''),
    );

  return fc.oneof(
    { weight: 8, arbitrary: labelled('as documented', text) },
    {
      weight: 6,
      arbitrary: near(
        'another type',
        withField(() => anyValue),
      ),
    },
    {
      weight: 6,
      arbitrary: near(
        'boundary',
        withField((one) => fc.constantFrom(...boundariesOf(one), null)),
      ),
    },
    {
      weight: 6,
      arbitrary: near(
        'odd text',
        withField(() => oddText),
      ),
    },
    {
      weight: 2,
      arbitrary: near(
        'field missing',
        fc.tuple(good, fc.subarray(names)).map(([body, left]) => without(body, left)),
      ),
    },
    {
      weight: 2,
      arbitrary: near(
        'more fields',
        fc.tuple(good, surplus).map(([body, more]) => ({ ...(body as object), ...more })),
      ),
    },
    { weight: 2, arbitrary: near('no object', anyValue) },
    {
      weight: 2,
      arbitrary: labelled(
        'keys twice',
        fc.tuple(text, fc.constantFrom('type', ...names), anyValue).map(keyTwice),
      ),
    },
    {
      weight: 2,
      arbitrary: labelled(
        'prototype',
        fc.tuple(text, fc.constantFrom(...PROTOTYPE_KEYS)).map(([json, key]) => insert(json, key)),
      ),
    },
    {
      weight: 2,
      arbitrary: labelled(
        'odd number',
        fc.tuple(text, fc.constantFrom(...NUMBERS), fc.nat(3)).map(oddNumber),
      ),
    },
    {
      weight: 1,
      arbitrary: labelled(
        'nested deeply',
        fc.tuple(fc.integer({ min: 1, max: 7000 }), fc.constantFrom('[]', '{}', '[', '{'), text).map(nested),
      ),
    },
    {
      weight: 3,
      arbitrary: labelled(
        'cut',
        fc.tuple(text, fc.nat()).map(([json, at]) => json.slice(0, at % (json.length + 1))),
      ),
    },
    {
      weight: 2,
      arbitrary: labelled(
        'no JSON',
        fc.oneof(
          fc.string({ maxLength: 60 }),
          fc.constantFrom(
            '',
            ' ',
            '{}{}',
            "{'a':1}",
            '{"a":1,}',
            '[1 2]',
            '\ufeff{}',
            'NaN',
            'nul',
            '"\\ud800"',
            '"\\x00"',
            '/**/{}',
          ),
        ),
      ),
    },
  );
}

function without(value: unknown, keys: readonly string[]): object {
  return Object.fromEntries(Object.entries(value as object).filter(([key]) => !keys.includes(key)));
}

/** What a client would smuggle in. */
const surplus = fc.dictionary(
  fc.constantFrom(
    'role',
    'id',
    'user_id',
    'is_admin',
    'master_secret',
    'rotation_counter',
    'ref',
    'toString',
    'x',
  ),
  anyValue,
  { maxKeys: 4, noNullPrototype: true },
);

const PROTOTYPE_KEYS = [
  '"__proto__":{"role":"admin"}',
  '"__proto__":null',
  '"\\u005f_proto__":{"x":1}',
  '"constructor":{"prototype":{"x":1}}',
  '"prototype":[]',
  '"hasOwnProperty":1',
  '"toJSON":"x"',
  '"then":"x"',
];

const NUMBERS = [
  '1e999',
  '-1e999',
  '1e-999',
  '-0',
  '9007199254740993',
  '0x10',
  '01',
  '.5',
  '1.',
  '+1',
  '1'.repeat(400),
  '1e5',
  '0.1e1',
];

const insert = (json: string, member: string) =>
  json.replace(/^\{(?=(.?))/, (_, next) => `{${member}${next === '}' ? '' : ','}`);

const keyTwice = ([json, key, value]: [string, string, unknown]) =>
  insert(json, `${JSON.stringify(key)}:${JSON.stringify(value)}`);

/** Another number in place of one that is there, or of a whole value. */
function oddNumber([json, number, index]: [string, string, number]): string {
  const found = [...json.matchAll(/(?<=:)(-?[\d.e+-]+|"[^"\\]*"|true|false)/g)];
  const one = found[index % Math.max(1, found.length)];
  return one === undefined
    ? number
    : json.slice(0, one.index) + number + json.slice(one.index + one[0].length);
}

function nested([depth, pair, json]: [number, string, string]): string {
  const [open, close = ''] = pair;
  const before = open === '{' ? '{"a":' : '[';
  const value =
    before.repeat(open === '{' ? Math.ceil(depth / 3) : depth) +
    (close === '' ? '' : '1') +
    close.repeat(open === '{' ? Math.ceil(depth / 3) : depth);
  return json.startsWith('{') && depth % 2 === 0 ? insert(json, `"a":${value}`) : value;
}

/** A place in bytes of any length, as a fraction: it shrinks with the bytes. */
const place = fc.nat(9999).map((at) => at / 10_000);

/** What happens to bytes on a bad line. Not to be told from what is done on purpose. */
export const damage: fc.Arbitrary<(bytes: Buffer) => Buffer> = fc.oneof(
  fc
    .array(fc.tuple(place, fc.integer({ min: 1, max: 255 })), { minLength: 1, maxLength: 4 })
    .map(named('flips', flip)),
  fc.tuple(place, place).map(
    named(
      'cuts',
      ([from, to]) =>
        (bytes) =>
          bytes.subarray(at(bytes, Math.min(from, to)), at(bytes, Math.max(from, to)) + 1),
    ),
  ),
  fc.tuple(place, place).map(
    named(
      'takes out',
      ([from, to]) =>
        (bytes) =>
          Buffer.concat([
            bytes.subarray(0, at(bytes, Math.min(from, to))),
            bytes.subarray(at(bytes, Math.max(from, to))),
          ]),
    ),
  ),
  fc.tuple(place, fc.uint8Array({ minLength: 1, maxLength: 20 })).map(
    named(
      'puts in',
      ([where, more]) =>
        (bytes) =>
          Buffer.concat([bytes.subarray(0, at(bytes, where)), more, bytes.subarray(at(bytes, where))]),
    ),
  ),
  fc.tuple(place, fc.integer({ min: 2, max: 5 })).map(
    named(
      'repeats',
      ([where, times]) =>
        (bytes) =>
          Buffer.concat([bytes, ...Array.from({ length: times }, () => bytes.subarray(at(bytes, where)))]),
    ),
  ),
);

const at = (bytes: Buffer, where: number) => Math.floor(where * bytes.length);

function flip(flips: [number, number][]) {
  return (bytes: Buffer) => {
    const flipped = Buffer.from(bytes);
    for (const [where, mask] of flips)
      if (bytes.length > 0) flipped.writeUInt8(flipped.readUInt8(at(bytes, where)) ^ mask, at(bytes, where));
    return flipped;
  };
}

/** A function that a report of a failure can print. */
export function named<T>(name: string, make: (how: T) => (bytes: Buffer) => Buffer) {
  return (how: T) => Object.assign(make(how), { [fc.toStringMethod]: () => `${name} ${fc.stringify(how)}` });
}
