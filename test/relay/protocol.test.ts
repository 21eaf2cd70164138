// docs/protocol.md is true: its examples, and those beside it, are held with the real service, its lists are those of
// the code. Its tables of fields are compared with the
// schemas in test/unit/protocol-page.test.ts.
import t, { type Test } from 'tap';
import { clientMessages } from '../../src/protocol/client-messages.js';
import { closes } from '../../src/protocol/closes.js';
import { denials, ends, errors, revocations } from '../../src/protocol/codes.js';
import { serverMessages } from '../../src/protocol/server-messages.js';
import { presetsOf, readsOf } from '../helpers/code/declarations.js';
import { hold } from '../helpers/pages/conversation.js';
import {
  codesIn,
  type Example,
  examples,
  misnamedIn,
  notShown,
  notShownMessages,
  page,
  table,
} from '../helpers/pages/protocol-page.js';
import { type Json, service } from '../helpers/service/service.js';
import { isDealt } from '../helpers/service/two-nodes.js';

// They wait more than they work: side by side they take as long as the longest, which is 10 s. Two relays work twice as much.
t.jobs = isDealt ? 4 : examples.length;
/** No example is about silence, so however slow the machine it must end no burst. */
const serve = (
  t: Test,
  { settings, lines }: Pick<Example, 'settings' | 'lines'> = { settings: {}, lines: [] },
) => {
  // At its end a node tells of others that can be reached, and lets in no scout who finds out the thread of a radio.
  const isOneNode = lines.some(({ text }) => text === 'shuts down');
  return service(t, { TALK_SILENCE_MS: '60000', ...settings }, undefined, { isOneNode });
};
const shared = serve(t);

for (const example of examples) {
  const name = `the example at ${example.at} is what happens, and nothing else does`;
  t.test(name, { buffered: true, timeout: 60_000 }, async (t) => {
    // Before any other, for the longest example is held with it.
    let s = await shared;
    if (isAlone(example)) s = await serve(t, example);
    t.same(await hold(t, s, example), [], 'nothing else was heard');
  });
}

/** What befalls the server in it must not befall the others. */
function isAlone({ settings, lines }: Example): boolean {
  return Object.keys(settings).length > 0 || lines.some(({ who }) => who.includes('server'));
}

/** What the examples show, said and heard, each once. */
const lines = examples.flatMap((example) => example.lines);
const shown = (isHeard: boolean) =>
  new Set(lines.filter((line) => line.isHeard === isHeard).map(({ text }) => text));
const messagesIn = (texts: Iterable<string>) =>
  [...texts].filter((text) => text.startsWith('{')).map((text) => JSON.parse(text) as Json);

t.test(
  'every message of the code stands in a table, and in an example or with the reason why not',
  async (t) => {
    const sides = [
      {
        listed: page.clientMessages,
        coded: Object.keys(clientMessages),
        isHeard: false,
      },
      { listed: page.serverMessages, coded: Object.keys(serverMessages), isHeard: true },
    ];
    for (const { listed, coded, isHeard } of sides) {
      t.same([...listed.keys()].sort(), coded.sort());
      // A client's may be unknown to the relay, to show what it says to that.
      const messages = messagesIn(shown(isHeard)).filter(({ type }) => listed.has(String(type)) || isHeard);
      t.same(
        messages.map((message) => misnamedIn(message, listed)).filter((fault) => fault !== ''),
        [],
      );
      const fields = new Set(
        messages.flatMap(({ type, ...rest }) => Object.keys(rest).map((key) => `${type}.${key}`)),
      );
      const wanted = [...listed].flatMap(([type, known]) => [...known.keys()].map((key) => `${type}.${key}`));
      t.same(
        wanted.filter((field) => !fields.has(field)),
        wanted.filter((field) =>
          notShownMessages.some((one) => field === one || field.startsWith(`${one}.`)),
        ),
      );
    }
  },
);

t.test(
  'every close of the code stands in a table, and in an example or with the reason why not',
  async (t) => {
    const coded = Object.values(closes)
      .filter(({ reason }) => reason !== '') // the one that clients send
      .map(({ code, reason }) => `${code} ${reason}`);
    const rows = table('close | reason').rows.filter(([, reason]) => reason !== '');
    t.same(rows.map(([code, reason]) => `${code} ${codesIn(reason)[0]}`).sort(), coded.sort());
    const heard = shown(true);
    t.same(
      coded.filter((close) => !heard.has(`close ${close}`)),
      notShown,
    );
  },
);

t.test('the codes of errors, denials and ends are those of the code', async (t) => {
  const rows = table('`ERROR.code` | `message`').rows.map(([code, message]) => [codesIn(code)[0], message]);
  t.same(rows, Object.entries(errors));
  t.same(
    codesIn(
      table('`FLOOR_DENIED.code`')
        .rows.map(([code]) => code)
        .join(),
    ).sort(),
    [...denials].sort(),
  );
  const codes = (column: number) =>
    table('code of an end').rows.flatMap((row) => (row[column] === '' ? [] : codesIn(row[0])));
  t.same(codes(1).sort(), [...revocations].sort());
  t.same(codes(2).sort(), [...ends].sort());
});

t.test('the limits are those of the configuration, with its defaults', async (t) => {
  const relays = readsOf('src/relay/compose.ts', 'config');
  const coded = presetsOf('src/config/relay.ts').filter(([name]) => relays.has(name));
  const rows = table('limit | variable').rows.map(([, name, preset]) => [codesIn(name)[0], Number(preset)]);
  t.same(rows.sort(), coded.sort());
});
