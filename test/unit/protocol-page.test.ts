// The tables of fields in docs/protocol.md: their generator, that they list every message and object, and the defaults,
// which are those that the relay takes. test/unit/docs.test.ts compares the page with what the generator writes.
import t from 'tap';
import { protocolPage, type Schema, tableOf } from '../../src/docs/protocol.js';
import * as bodies from '../../src/protocol/bodies.js';
import { clientMessages } from '../../src/protocol/client-messages.js';
import { denials } from '../../src/protocol/codes.js';
import { described } from '../../src/protocol/described.js';
import { serverMessages } from '../../src/protocol/server-messages.js';
import { Type } from '../../src/typebox.js';
import { defaultsOf } from '../helpers/code/declarations.js';
import { sourceFiles } from '../helpers/code/source-files.js';
import { readPage } from '../helpers/pages/pages.js';
import { codesIn, type Messages, page } from '../helpers/pages/protocol-page.js';

type Schemas = Readonly<Record<string, Schema>>;

const objects = (Object.values(bodies) as Schema[]).filter(({ properties }) => properties !== undefined);
const named = objects.filter(({ title }) => title !== undefined);

for (const { what, listed, coded } of [
  { what: 'message of a client', listed: page.clientMessages, coded: clientMessages as Schemas },
  { what: 'message of the server', listed: page.serverMessages, coded: serverMessages as Schemas },
  {
    what: 'object',
    listed: page.objects,
    coded: Object.fromEntries(named.map((schema) => [schema.title, schema])) as Schemas,
  },
] satisfies { what: string; listed: Messages; coded: Schemas }[]) {
  t.test(`the page lists each field of each ${what}, required or not as in its schema`, async (t) => {
    t.same([...listed.keys()].sort(), Object.keys(coded).sort());
    for (const [name, { properties = {}, required = [] }] of Object.entries(coded)) {
      const fields = Object.keys(properties).filter((field) => field !== 'type');
      const rows = [...(listed.get(name) ?? [])].map(([field, { isRequired }]) => [field, isRequired]);
      t.same(
        Object.fromEntries(rows),
        Object.fromEntries(fields.map((field) => [field, required.includes(field)])),
        name,
      );
    }
  });
}

t.test('the page gives each optional field the default that the relay takes', async (t) => {
  const answers = sourceFiles('src/relay/requests').map(({ path }) => path);
  const defaults = new Map(answers.flatMap((path) => [...defaultsOf(path)]));
  for (const [type, fields] of page.clientMessages) {
    for (const [field, { isRequired, preset }] of fields) {
      const taken = isRequired ? undefined : defaults.get(field);
      t.same(codesIn(preset), taken === undefined || taken === 'null' ? [] : [taken], `${type}.${field}`);
    }
  }
});

t.test('a table has the type, the necessity, the default and the meaning of each field', async (t) => {
  const { Codec, Id, Int, Priority, Ref, Time, U32 } = bodies;
  const Place = Type.Object({ x: Int, y: described(Int, 'upwards') }, { title: 'place' });
  const known: ReadonlyMap<string, Schema> = new Map<string, Schema>([
    [
      'MOVE (client)',
      Type.Object({
        type: Type.Literal('MOVE'),
        steps: Type.Optional(Type.Integer({ minimum: 1, maximum: 12_000, default: 3 })),
        pace: described(Type.Optional(Type.Enum(['slow', 'fast'])), 'of each step', 'slow'),
        codec: Type.Optional(Codec),
        ids: Type.Array(Id, { maxItems: 200 }),
        ref: Type.Optional(Ref),
      }),
    ],
    [
      'MOVED (server)',
      Type.Object({
        type: Type.Literal('MOVED'),
        ref: described(Type.Optional(Ref), 'as in MOVE'),
        version: Type.Literal(1),
        ...Place.properties,
        at: Time,
        session: Type.Union([U32, Type.Null()]),
        code: Type.Enum(denials),
        priority: Priority,
        from: Place,
        speed: Type.Number({ exclusiveMinimum: 0 }),
        rate: Type.Integer({ minimum: 1 }),
        name: Type.String({ maxLength: 9 }),
      }),
    ],
    ['place (object)', Place],
  ]);
  t.same(tableOf([...known.keys()], known).split('\n'), [
    '| message or object | field | type | required | default | meaning |',
    '|---|---|---|---|---|---|',
    '| MOVE (client) | `steps` | integer, 1 to 12,000 | no | `3` | |',
    '| | `pace` | `slow`, `fast` | no | `slow` | of each step |',
    '| | `codec` | codec | no | none | |',
    '| | `ids` | array of id, at most 200 | yes | | |',
    '| MOVED (server) | `ref` | string or integer | no | | as in MOVE |',
    '| | `version` | `1` | yes | | |',
    '| | fields of place | | yes | | |',
    '| | `at` | time | yes | | |',
    '| | `session` | u32 or null | yes | | |',
    '| | `code` | string | yes | | |',
    '| | `priority` | integer, 0 to 7 | yes | | |',
    '| | `from` | place | yes | | |',
    '| | `speed` | number, above 0 | yes | | |',
    '| | `rate` | integer, from 1 | yes | | |',
    '| | `name` | string | yes | | |',
    '| place (object) | `x` | integer | yes | | |',
    '| | `y` | integer | yes | | upwards |',
  ]);
  t.throws(() => tableOf(['MOVE (server)'], known), /^no schema is called MOVE \(server\)$/);
});

t.test('a changed cell of the page is written anew, and a page without a table is an error', async (t) => {
  const present = readPage('docs/protocol.md');
  const row = '| PING (client) | `t` | integer | yes |';
  const changed = present.replace(row, '| PING (client) | `t` | u32 | no |');
  t.not(changed, present);
  t.equal(await protocolPage.write(changed), present);
  const [begin] = present.match(/^<!-- generated by make docs: keys, begin -->$/m) ?? [''];
  t.throws(() => protocolPage.write(present.replace(begin, '')), /keys, begin/);
});

t.test('a description changes nothing else of a schema', async (t) => {
  const optional = described(Type.Optional(bodies.U32), 'a number', 7);
  t.same(optional, { ...bodies.U32, description: 'a number', default: 7 });
  t.same(Type.Object({ optional, required: described(bodies.U32, '') }).required, ['required']);
  t.notOk('description' in bodies.U32);
});
