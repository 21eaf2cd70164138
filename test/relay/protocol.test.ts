// docs/protocol.md is true: its examples, and those beside it, are held with the real service, its lists are those of
// the code. What it says of the fields that clients send is compared in test/unit/protocol-page.test.ts.
import t, { type Test } from 'tap';
import { closes } from '../../src/protocol/closes.js';
import { hold } from '../helpers/conversation.js';
import { entriesOf, literalsOf, presetsOf, readsOf, stringsUnder } from '../helpers/declarations.js';
import {
  clientMessages,
  codesIn,
  type Example,
  examples,
  misnamedIn,
  notShown,
  serverMessages,
  table,
} from '../helpers/protocol-page.js';
import { type Json, service } from '../helpers/service.js';

// They wait more than they work: side by side they take as long as the longest, which is 10 s.
t.jobs = examples.length;
/**
 * On the main thread a relay starts sooner, and says the same. No example is about silence, so however slow the machine
 * it must end no burst.
 */
const serve = (t: Test, settings: Example['settings'] = {}) =>
  service(t, { RELAY_THREADS: '0', TALK_SILENCE_MS: '60000', ...settings });
const shared = serve(t);

for (const example of examples) {
  const name = `the example at ${example.at} is what happens, and nothing else does`;
  t.test(name, { buffered: true, timeout: 60_000 }, async (t) => {
    // Before any other, for the longest example is held with it.
    let s = await shared;
    if (isAlone(example)) s = await serve(t, example.settings);
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

t.test('every message of the code stands in a table and, with every field, in an example', async (t) => {
  const sides = [
    {
      listed: clientMessages,
      coded: entriesOf('src/relay/asks.ts', 'asks').map(([type]) => type),
      isHeard: false,
    },
    { listed: serverMessages, coded: stringsUnder('src/relay/messages.ts', 'type'), isHeard: true },
  ];
  for (const { listed, coded, isHeard } of sides) {
    t.same([...listed.keys()].sort(), [...new Set(coded)].sort());
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
      [],
    );
  }
});

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
  t.same(rows, entriesOf('src/relay/messages.ts', 'sentences'));
  const codesOf = (head: string) => table(head).rows.flatMap(([code]) => codesIn(code));
  t.same(codesOf('`FLOOR_DENIED.code`').sort(), literalsOf('src/relay/messages.ts', 'FloorDenial').sort());
  const ends = [...literalsOf('src/talk/floor.ts', 'EndCode'), 'unused'];
  t.same(codesOf('code of an end').sort(), ends.sort());
});

t.test('the limits are those of the configuration, with its defaults', async (t) => {
  const relays = readsOf('src/relay/compose.ts', 'config');
  const coded = presetsOf('src/config/relay.ts').filter(([name]) => relays.has(name));
  const rows = table('limit | variable').rows.map(([, name, preset]) => [codesIn(name)[0], Number(preset)]);
  t.same(rows.sort(), coded.sort());
});
