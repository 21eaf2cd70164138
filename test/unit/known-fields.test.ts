// Fields that a body's schema does not name are removed, as TypeBox's own Clean removes them.
import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { keepKnownOf } from '../../src/relay/nodes/known-fields.js';
import { PartBody, VerdictsBody } from '../../src/relay/shared-floor/bodies.js';
import { Compile, type TSchema, Type } from '../../src/typebox.js';

/** Has each kind of part that a body may have. */
const Made = Type.Object({
  plain: Type.Integer(),
  maybe: Type.Optional(Type.Object({ inside: Type.String() })),
  list: Type.Array(Type.Object({ text: Type.String(), at: Type.Union([Type.Number(), Type.Null()]) })),
  pair: Type.Tuple([Type.Integer(), Type.Object({ second: Type.Boolean() })]),
  either: Type.Union([
    Type.Object({ is: Type.Literal('one'), count: Type.Integer() }),
    Type.Object({ is: Type.Literal('other'), parts: Type.Array(Type.Object({ name: Type.String() })) }),
    Type.Null(),
  ]),
  open: Type.Object({ known: Type.String() }, { additionalProperties: true }),
});

const strange = fc.dictionary(fc.constantFrom('later', 'is2', 'constructor', 'length'), fc.anything(), {
  maxKeys: 2,
});
/** An object with these fields, and some that its schema does not name. */
const withMore = (fields: Record<string, fc.Arbitrary<unknown>>) =>
  fc.tuple(fc.record(fields), strange).map(([known, more]) => ({ ...more, ...known }));

const made = withMore({
  plain: fc.integer(),
  maybe: fc.option(withMore({ inside: fc.string() }), { nil: undefined }),
  list: fc.array(withMore({ text: fc.string(), at: fc.option(fc.integer()) })),
  pair: fc.tuple(fc.integer(), withMore({ second: fc.boolean() })),
  either: fc.oneof(
    withMore({ is: fc.constant('one'), count: fc.integer() }),
    withMore({ is: fc.constant('other'), parts: fc.array(withMore({ name: fc.string() })) }),
    fc.constant(null),
  ),
  open: withMore({ known: fc.string() }),
});

const count = fc.integer({ min: 0, max: 1000 });
const turn = withMore({ count, home: count });
const settings = withMore({
  ...{ revision: count, maxTalkMs: count },
  mode: fc.constantFrom('open', 'single', 'broadcast'),
  encryption: fc.constantFrom('off', 'allowed', 'required'),
  mayBeClear: fc.boolean(),
});
const about = { session: count, ask: count };
const verdicts = withMore({
  ...{ number: count, settings, v: count },
  verdicts: fc.array(
    fc.oneof(
      withMore({ ...about, is: fc.constant('queued'), position: count, size: count }),
      withMore({ ...about, is: fc.constant('denied'), code: fc.constantFrom('busy', 'forbidden') }),
      withMore({
        ...{ ...about, is: fc.constant('granted'), turn, after: turn, talkMsMax: count },
        afterCode: fc.constant('released'),
        priority: fc.integer({ min: 0, max: 7 }),
        inEmergency: fc.boolean(),
      }),
    ),
  ),
});

/** As it comes: written as JSON, and read. */
const sent = (value: unknown) =>
  JSON.parse(JSON.stringify(value, (_, one) => (typeof one === 'bigint' ? 0 : one)));

function compare(schema: TSchema, values: fc.Arbitrary<unknown>): void {
  const validator = Compile(schema);
  const keepKnown = keepKnownOf(schema);
  fc.assert(
    fc.property(values, (value) => {
      const body = sent(value);
      assert.ok(validator.Check(body), 'the values fit');
      const expected = validator.Clean(sent(value));
      keepKnown(body);
      assert.deepEqual(body, expected);
    }),
  );
}

t.test('what is kept of a body is what Clean keeps', async () => {
  compare(Made, made);
  compare(VerdictsBody, verdicts);
});

t.test('a body of its known fields alone stays as it is', async (t) => {
  const part = {
    ...{ number: 7, v: 3, isFenced: false, claims: [], top: { count: 1, home: 1024 } },
    settings: { revision: 1, mode: 'single', maxTalkMs: 60_000, encryption: 'allowed', mayBeClear: true },
  };
  const body = sent({ ...part, later: [{ version: 2 }], top: { ...part.top, later: 1 } });
  t.ok(Compile(PartBody).Check(body));
  keepKnownOf(PartBody)(body);
  t.strictSame(body, part);
  const before = sent(part);
  keepKnownOf(PartBody)(before);
  t.strictSame(before, part);
});

t.test('a schema with a part of another kind is rejected, not ignored', async (t) => {
  t.throws(
    () => keepKnownOf(Type.Object({ any: Type.Record(Type.String(), Type.Integer()) })),
    /a body has no/,
  );
});
