// Faults of one relay thread among several, the end of all of them, and a second server on their port.
import assert from 'node:assert/strict';
import t, { type Test } from 'tap';
import { decodeFrames } from '../../src/protocol/bundle.js';
import { guardPort } from '../../src/relay/threads/port-guard.js';
import { checkSharing } from '../../src/relay/threads/threads.js';
import { migratedDatabase } from '../helpers/database/cluster.js';
import { eventually } from '../helpers/eventually.js';
import { freePort } from '../helpers/programs.js';
import { STALL_MS } from '../helpers/service/relay-faults.js';
import { radioOn, twoThreads } from '../helpers/service/relay-threads.js';
import {
  isUnconfirmed,
  type Radio,
  type ServiceProcess,
  service,
  serviceProcess,
} from '../helpers/service/service.js';
import { within } from '../helpers/within.js';

t.setTimeout(300_000);
t.jobs = 2; // they mostly wait for processes to start

const PRELOAD = `--import=${new URL('../helpers/service/relay-faults.js', import.meta.url).href}`;
const RESTART = { code: 1012, reason: 'restart' };

/** Two radios on each of two threads. Nothing tells which of these has the faults. */
interface Crew {
  readonly number: number;
  readonly id: string;
  readonly first: readonly [Radio, Radio];
  readonly other: readonly [Radio, Radio];
}

async function faulty(t: Test, RELAY_FAULT: string, environment: Record<string, string> = {}) {
  const settings = { NODE_OPTIONS: PRELOAD, RELAY_THREADS: '2', RESUME_MS: '0', LOG_LEVEL: 'info' };
  const s = await serviceProcess(t, { ...settings, RELAY_FAULT, ...environment });
  return { s, fail: () => s.signal('SIGWINCH') };
}

async function crewOf(s: ServiceProcess): Promise<Crew> {
  const threads = await twoThreads(await s.person('scout'));
  const people = await Promise.all(['ann', 'abe', 'bob', 'bea'].map((name) => s.person(name)));
  const { id, number } = await s.talkgroup('crew', ...people);
  const radios = await Promise.all(
    people.map((person, index) => radioOn(threads[index < 2 ? 0 : 1], person)),
  );
  const [ann, abe, bob, bea] = radios;
  assert.ok(ann && abe && bob && bea);
  await eventually(async () => {
    const { talkgroups } = await ann.asks({ type: 'SUBSCRIBE', talkgroup_ids: [id] });
    assert.equal((talkgroups as { online: number }[])[0]?.online, 4);
  });
  return { number, id, first: [ann, abe], other: [bob, bea] };
}

/** The relay threads named by lines of the log. */
const threadsIn = (output: string) => [...new Set(output.match(/(?<="thread":")[^"]+/g))].sort();

for (const threads of ['1', '2']) {
  t.test(
    `a fault in one of ${threads} relay threads ends the process with code 1, and every radio is told`,
    { buffered: true },
    async (t) => {
      const { s, fail } = await faulty(t, 'throw', { RELAY_THREADS: threads });
      const person = await s.person('ann');
      const radios = await Promise.all(Array.from({ length: 20 }, () => person.radio()));
      fail();
      for (const radio of radios) t.same(await radio.closes(), RESTART);
      t.equal(await s.exit(), 1);
      const of = threads === '1' ? '' : 'thread relay-2: ';
      t.match(s.output(), `ended: ${of}a fault of one thread`);
      t.match(s.output(), 'relay-faults.ts', 'logged with its stack');
      t.strictSame(threadsIn(s.output()), threads === '1' ? [] : ['relay-1', 'relay-2'], 'in the log');
    },
  );

  t.test(
    `one of ${threads} relay threads that exits ends the process with code 1`,
    { buffered: true },
    async (t) => {
      const { s, fail } = await faulty(t, 'exit', { RELAY_THREADS: threads });
      const person = await s.person('ann');
      const radios = await Promise.all(Array.from({ length: 20 }, () => person.radio()));
      fail();
      const codes = new Set<number>();
      for (const radio of radios) codes.add((await radio.closes()).code);
      t.strictSame(
        [...codes].sort(),
        threads === '1' ? [1006] : [1006, 1012],
        'those of other threads are told',
      );
      t.equal(await s.exit(), 1);
      t.match(s.output(), /ended: the relay(-2)? thread exited with code 3/);
    },
  );
}

/** How old (ms) each frame of the talker was that the listener gets from now on: their text is when they were sent. */
function agesOf(listener: Radio, talker: Radio): number[] {
  const ages: number[] = [];
  listener.socket.on('message', (data: Buffer, isBinary: boolean) => {
    const read = isBinary ? decodeFrames(data, Number.MAX_SAFE_INTEGER) : [];
    if (typeof read === 'string') throw new Error(read);
    for (const { sender, payload } of read)
      if (sender === talker.session) ages.push(performance.now() - Number(Buffer.from(payload).toString()));
  });
  return ages;
}

t.test('a stalled relay thread stops no other one', { buffered: true }, async (t) => {
  const { s, fail } = await faulty(t, 'stall');
  const { first, other, number, id } = await crewOf(s);
  for (const [talker] of [first, other]) {
    const speak = (start: boolean) => talker.speaks(number, `${performance.now()}`, { start });
    speak(true);
    const talk = setInterval(speak, 20, false);
    t.teardown(() => clearInterval(talk));
  }
  for (const [, listener] of [first, other]) await listener.hearsFrames(50);

  const ages = new Map([first, other].map((pair) => [pair, agesOf(pair[1], pair[0])]));
  fail();
  const unconfirmed = eventually(async () => {
    const answer = await s.admin.call('PATCH', `/talkgroups/${id}`, { max_talk_ms: 60_000 });
    assert.ok(isUnconfirmed(answer), `answered ${answer.status}`);
  });
  // The thread that stands still does not tell.
  const isAlone = ({ reach }: { reach?: unknown }) => reach === 'alone';
  const going = await Promise.race(
    [first, other].map(async (pair) => {
      await pair[1].hears('REACH', isAlone);
      return pair;
    }),
  );
  const stalled = going === first ? other : first;
  await unconfirmed;
  t.pass('a change is confirmed when every thread follows it');
  const inTime = ages.get(going) ?? [];
  t.ok(inTime.length > 30, `${inTime.length} frames meanwhile`);
  within(t, Math.max(...inTime), STALL_MS / 2, 'the oldest frame');

  await stalled[1].settled();
  for (const [listener, talker] of [
    [stalled[1], going[0]],
    [going[1], stalled[0]],
  ] as const) {
    const now = agesOf(listener, talker);
    await eventually(() => assert.ok(now.some((ms) => ms < 500)));
  }
  t.equal((await fetch(`${s.rest}/readyz`)).status, 200, 'and the threads hear each other again');
});

t.test(
  'at SIGTERM every thread tells its radios and waits for its talkers',
  { buffered: true },
  async (t) => {
    const { s } = await faulty(t, '', { DRAIN_MS: '5000' });
    const { first, other, number } = await crewOf(s);
    const talkers = [first[0], other[0]];
    for (const talker of talkers) talker.speaks(number, 'on', { start: true });
    for (const [, listener] of [first, other]) await listener.hearsText('on');
    s.signal('SIGTERM');
    for (const [, listener] of [first, other]) t.same(await listener.closes(), RESTART);
    for (const talker of talkers) {
      t.ok(await talker.hears('GOAWAY'));
      talker.speaks(number, 'and out', { end: true });
      t.same(await talker.closes(), RESTART);
    }
    t.equal(await s.exit(), 0);
  },
);

for (const [threads, others] of [
  ['2', ['1', '2']],
  ['1', ['2']],
] as const) {
  t.test(
    `no second server starts on the port of one with ${threads} relay threads`,
    { buffered: true },
    async (t) => {
      const WS_PORT = `${await freePort()}`;
      const settings = { DATABASE_URL: await migratedDatabase(t), WS_PORT };
      const s = await service(t, { ...settings, RELAY_THREADS: threads });
      const message = new RegExp(`cannot listen on WS_PORT ${WS_PORT} of`);
      for (const RELAY_THREADS of others)
        await t.rejects(service(t, { ...settings, RELAY_THREADS }), { message }, `with ${RELAY_THREADS}`);
      t.ok((await (await s.person('ann')).radio()).welcome);
    },
  );
}

t.test(
  'of two servers that start on one port at the same time, one starts',
  { buffered: true },
  async (t) => {
    const settings = { DATABASE_URL: await migratedDatabase(t), WS_PORT: `${await freePort()}` };
    const started = await Promise.allSettled(
      [1, 2].map(() => service(t, { ...settings, RELAY_THREADS: '2' })),
    );
    t.strictSame(started.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
  },
);

t.test('the name of a port is had by one, until that one ends', { buffered: true }, async (t) => {
  const port = await freePort();
  const guard = await guardPort('127.0.0.1', port);
  await t.rejects(guardPort('127.0.0.1', port), {
    message: /another server of this service already uses it/,
  });
  const elsewhere = await guardPort('127.0.0.2', port);
  guard.close();
  const again = await eventually(() => guardPort('127.0.0.1', port));
  for (const one of [elsewhere, again]) one.close();
});

t.test('several threads need Linux', { buffered: true }, async (t) => {
  for (const platform of ['darwin', 'win32'] as const)
    t.throws(() => checkSharing(platform), {
      name: 'ConfigError',
      message: /^RELAY_THREADS must be 0 or 1 on/,
    });
  t.doesNotThrow(() => checkSharing('linux'));
});
