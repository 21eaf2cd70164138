// The bus of relay threads in a cluster: what one says reaches each other thread and each other node once, and in order.
import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { type Bus, EVERY_RELAY, relaySubject, type Subject } from '../../src/relay/nodes/bus.js';
import { joinNearFar } from '../../src/relay/nodes/carriers/near-far.js';
import { openPorts } from '../../src/relay/nodes/carriers/ports.js';
import { HEADER_BYTES, HeaderWriter, kinds, newHeader, readHeader } from '../../src/relay/nodes/header.js';
import { comesTrue, eventually } from '../helpers/eventually.js';
import { SUBJECT } from '../helpers/network/bus-contract.js';
import { connected } from '../helpers/network/nats-bus.js';
import { startNatsServer } from '../helpers/network/nats-server.js';
import { idsOf, portsOf } from '../helpers/network/thread-ports.js';
import { unless } from '../helpers/programs.js';

const skip = unless('nats-server');
const DATABASE = 1;

/** One relay, and what it hears: `1 hello` is of relay 1. */
function relayOn(bus: Bus, id: number) {
  const writer = new HeaderWriter(id, DATABASE);
  const header = newHeader();
  const heard: string[] = [];
  const hear = (subject: Subject) =>
    bus.subscribe(subject, (bytes) => {
      assert.ok(readHeader(bytes, header));
      heard.push(`${header.relay} ${Buffer.from(bytes.subarray(HEADER_BYTES))}`);
    });
  for (const subject of [SUBJECT, EVERY_RELAY, relaySubject(id)]) hear(subject);
  const say = (text: string, subject = SUBJECT) =>
    bus.publish(subject, writer.write(kinds.count, 0, 0, 0), Buffer.from(text));
  return { id, bus, heard, say };
}

type Relay = ReturnType<typeof relayOn>;

/** Two threads of one node, 1 and 2, and the relays 3 and 4 of two other nodes: each with a link of its own to NATS. */
async function nodes(t: Test) {
  const nats = await startNatsServer(t);
  const relays = idsOf(2);
  const log = { error: (fields: object, message: string) => void t.fail(message, fields) };
  const threads = await Promise.all(
    portsOf(2).map(async (ports, index) => {
      const { bus: far, proxy } = await connected(t, nats);
      const id = index + 1;
      relays[index] = id;
      const bus = joinNearFar({ near: openPorts({ ports, log }), far, relays });
      t.teardown(() => bus.close());
      return { ...relayOn(bus, id), proxy };
    }),
  );
  const others = await Promise.all(
    [3, 4].map(async (id) => {
      const { bus, proxy } = await connected(t, nats);
      return { ...relayOn(bus, id), proxy };
    }),
  );
  const [one, two, three, four] = [...threads, ...others];
  assert.ok(one && two && three && four);
  const all = [one, two, three, four];
  await eventually(() => {
    for (const from of all) from.say('joined');
    for (const { heard, id } of all)
      for (const other of all) assert.equal(heard.includes(`${other.id} joined`), other.id !== id);
  });
  await settled(...all);
  for (const { heard } of all) heard.length = 0;
  return { one, two, three, four, all };
}

/** What they said before has arrived: each way keeps the order. */
async function settled(...relays: readonly Relay[]): Promise<void> {
  const text = `settled ${Math.random()}`;
  for (const relay of relays) relay.say(text);
  await comesTrue('all is heard', () =>
    relays.every(({ heard, id }) =>
      relays.every((other) => other.id === id || heard.includes(`${other.id} ${text}`)),
    ),
  );
  for (const { heard } of relays)
    heard.splice(0, heard.length, ...heard.filter((one) => !one.includes('settled')));
}

const of = ({ id }: Relay, heard: readonly string[]) => heard.filter((one) => one.startsWith(`${id} `));

t.test('what each says comes to each other relay once, and in its order', { skip }, async (t) => {
  const { all } = await nodes(t);
  const said: string[] = [];
  for (let turn = 0; turn < 30; turn++) {
    for (let each = 0; each < 20; each++) {
      said.push(`${turn}.${each}`);
      for (const relay of all) t.ok(relay.say(`${turn}.${each}`));
    }
    await nextTurn();
  }
  await settled(...all);
  for (const relay of all)
    for (const other of all)
      t.strictSame(
        of(other, relay.heard),
        other === relay ? [] : said.map((text) => `${other.id} ${text}`),
        `relay ${relay.id} of relay ${other.id}`,
      );
});

t.test('what is said to one relay goes the one way that leads there', { skip }, async (t) => {
  const { one, two, three, all } = await nodes(t);
  const sent = () => [one.bus.counts.messagesOut, three.bus.counts.messagesOut];
  const [before = 0] = sent();
  t.ok(one.say('near', relaySubject(2)));
  t.ok(one.say('far', relaySubject(3)));
  t.equal(sent()[0], before + 2);
  t.ok(three.say('back', relaySubject(1)));
  t.ok(one.say('all', EVERY_RELAY));
  t.equal(sent()[0], before + 4, 'what is said to all goes both ways');
  const { messagesOut } = one.bus.counts;
  const head = new HeaderWriter(1, DATABASE).write(kinds.frame, 0, 0, 0);
  t.ok(one.bus.publish(SUBJECT, head, Buffer.from('here'), true));
  t.equal(one.bus.counts.messagesOut, messagesOut + 1, 'what only threads of the node need goes to them');
  t.notOk(one.bus.publish(relaySubject(3), head, Buffer.from('here'), true));
  await settled(...all);
  t.strictSame(
    [two.heard, three.heard],
    [
      ['1 near', '1 all', '1 here'],
      ['1 far', '1 all'],
    ],
  );
  t.strictSame(one.heard, ['3 back']);
});

t.test(
  'without NATS the threads hear each other, and nothing of it comes late or twice',
  { skip },
  async (t) => {
    const { one, two, three, all } = await nodes(t);
    const changes: boolean[] = [];
    one.bus.onChange((isUp) => changes.push(isUp));
    for (let time = 0; time < 3; time++) {
      for (const { proxy } of all) {
        proxy.refuse();
        proxy.reset();
      }
      await comesTrue('down', () => all.every(({ bus }) => !bus.isUp));
      t.ok(one.bus.carriesSome && two.bus.carriesSome && !three.bus.carriesSome);
      const { down } = one.bus.counts.dropped;
      t.ok(one.say('near'), 'a thread takes it');
      t.ok(two.say('near'));
      t.equal(one.bus.counts.dropped.down, down + 1, 'and NATS does not');
      t.notOk(three.say('lost'));
      t.notOk(one.say('lost', relaySubject(3)));
      await settled(one, two);
      await Promise.all(all.map(({ proxy }) => proxy.listen()));
      await comesTrue('up', () => all.every(({ bus }) => bus.isUp));
      t.ok(one.bus.carriesSome);
      await eventually(() => {
        one.say('again');
        three.say('again');
        assert.ok(three.heard.includes('1 again') && two.heard.includes('3 again'));
      });
      await settled(...all);
      t.strictSame(
        two.heard.filter((text) => text === '1 near'),
        ['1 near'],
      );
      t.strictSame(
        one.heard.filter((text) => text === '2 near'),
        ['2 near'],
      );
      t.notOk(three.heard.some((text) => text.endsWith('near')));
      t.notOk(all.some(({ heard }) => heard.some((text) => text.endsWith('lost'))));
      for (const { heard } of all) heard.length = 0;
    }
    t.strictSame(changes, [false, true, false, true, false, true]);
    t.equal(one.bus.counts.ups, 4, 'times that NATS was connected');
  },
);

t.test('a slow way to NATS makes nothing later between the threads', { skip }, async (t) => {
  const { one, two, three, all } = await nodes(t);
  for (const { proxy } of [one, two]) proxy.stall(true);
  const said = Array.from({ length: 50 }, (_, each) => `${each}`);
  for (const text of said) {
    t.ok(one.say(text));
    await nextTurn();
  }
  await comesTrue('heard', () => two.heard.length === said.length);
  t.strictSame(three.heard, []);
  for (const { proxy } of [one, two]) proxy.stall(false);
  await settled(...all);
  const heard = said.map((text) => `1 ${text}`);
  t.strictSame([two.heard, three.heard], [heard, heard], 'NATS brings the thread nothing again');
});

t.test('a thread that NATS takes no more from goes on to the others of its node', { skip }, async (t) => {
  const { one, two } = await nodes(t);
  one.proxy.stall(true);
  const bytes = 'x'.repeat(100_000);
  const { backlog } = one.bus.counts.dropped;
  let sent = 0;
  await eventually(async () => {
    sent++;
    t.ok(one.say(bytes));
    await nextTurn();
    assert.ok(one.bus.counts.dropped.backlog > backlog + 3);
  });
  await comesTrue('all are heard', () => two.heard.length === sent);
});

t.test('a bus that ends says its last words both ways', { skip }, async (t) => {
  const { one, two, three } = await nodes(t);
  one.say('last');
  await one.bus.close();
  t.notOk(one.say('too late'));
  t.notOk(one.bus.isUp || one.bus.carriesSome);
  await comesTrue('heard', () => two.heard.includes('1 last') && three.heard.includes('1 last'));
  await settled(two, three);
  t.strictSame([two.heard, three.heard], [['1 last'], ['1 last']]);
});
