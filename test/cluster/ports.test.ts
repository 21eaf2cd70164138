// The bus between threads when one of them does not read: what it is sent is bounded, in time and in bytes.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import { MessageChannel, Worker } from 'node:worker_threads';
import t, { type Test } from 'tap';
import { talkgroupSubject } from '../../src/relay/nodes/bus.js';
import { TURN_BYTES_MAX } from '../../src/relay/nodes/carriers/outbox.js';
import { openPorts } from '../../src/relay/nodes/carriers/ports.js';
import { UNREAD_BYTES_MAX, UNREAD_MS_MAX } from '../../src/relay/nodes/carriers/sibling.js';
import { eventually } from '../helpers/eventually.js';
import type { PortThreadData } from '../helpers/relay/port-thread.js';

const SUBJECT = talkgroupSubject(7);
const ECHO = talkgroupSubject(8);
const NOTHING = new Uint8Array(0);

/** A bus here, and one on a thread that subscribes to SUBJECT and says what it hears about ECHO. */
async function withThread(t: Test) {
  const { port1, port2 } = new MessageChannel();
  const still = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const data: PortThreadData = { port: port2, subjects: [SUBJECT, ECHO], still };
  const thread = new Worker(new URL('../helpers/relay/port-thread.js', import.meta.url), {
    workerData: data,
    transferList: [port2],
  });
  const heard: string[] = [];
  thread.on('message', (message: { heard: string }) => heard.push(message.heard));
  const bus = openPorts({ ports: [port1], log: { error: (fields, message) => t.fail(message, fields) } });
  const goOn = () => {
    Atomics.store(still, 0, 0);
    Atomics.notify(still, 0);
  };
  t.teardown(async () => {
    goOn();
    await bus.close();
    await thread.terminate();
  });
  const say = (text: string) => bus.publish(SUBJECT, Buffer.from(text), NOTHING);
  await eventually(() => {
    say('joined');
    assert.ok(heard.includes('joined'));
  });
  return {
    bus,
    thread,
    heard,
    say,
    async standStill() {
      Atomics.store(still, 0, 1);
      thread.postMessage('stand still');
      await eventually(() => assert.ok(heard.includes('still')));
    },
    goOn,
  };
}

t.test('a thread that does not read gets nothing that it would read much later', async (t) => {
  const { bus, heard, say, standStill, goOn } = await withThread(t);
  await standStill();
  const sinceMs = performance.now();
  let sent = 0;
  while (say(`${++sent}`)) await delay(5);
  const forMs = performance.now() - sinceMs;
  t.ok(forMs > UNREAD_MS_MAX && forMs < UNREAD_MS_MAX + 1000, `left out after ${Math.round(forMs)} ms`);
  t.equal(bus.counts.dropped.backlog, 1);
  t.notOk(say('nor this'));
  const echoes: string[] = [];
  bus.subscribe(ECHO, (bytes) => echoes.push(Buffer.from(bytes).toString()));

  goOn();
  await eventually(() => assert.ok(say('again')));
  await eventually(() => assert.ok(heard.includes('again')));
  const numbers = heard.flatMap((text) => (/^[0-9]+$/.test(text) ? [Number(text)] : []));
  t.strictSame(
    numbers,
    Array.from({ length: sent - 1 }, (_, at) => at + 1),
    'what was taken arrives in order',
  );
  t.notOk(heard.includes('nor this'));
  await eventually(() => assert.ok(echoes.includes('again'), 'it knows of what was subscribed to meanwhile'));
});

t.test('bytes that a thread has not read are bounded, and it gets all of the rest once it has', async (t) => {
  const { bus, heard, say, standStill, goOn } = await withThread(t);
  await delay(150); // so that the thread is asked with the next message, and not again for all behind it
  await standStill();
  say('asked');
  await nextTurn();
  const bytes = Buffer.alloc(100_000, 'a');
  let taken = 0;
  for (let turn = 0; turn < 200; turn++) {
    for (let each = 0; each < 5; each++) if (bus.publish(SUBJECT, NOTHING, bytes)) taken++;
    await nextTurn();
  }
  t.ok(taken * bytes.length <= UNREAD_BYTES_MAX + TURN_BYTES_MAX, `${taken} of 1,000`);
  t.equal(bus.counts.dropped.backlog, 1000 - taken);
  goOn();
  await eventually(() => assert.ok(say('again')));
  await eventually(() => assert.ok(heard.includes('again')));
  t.equal(heard.filter((text) => text.length === bytes.length).length, taken);
  // As often as it likes, of which it is asked only now and then.
  for (let each = 0; each < 100; each++) {
    t.ok(bus.publish(SUBJECT, NOTHING, bytes));
    await eventually(() =>
      assert.equal(heard.filter((text) => text.length === bytes.length).length, taken + each + 1),
    );
  }
});

t.test('this thread standing still does not count against the other one', async (t) => {
  const { bus, heard, say, standStill, goOn } = await withThread(t);
  await delay(150); // so that the thread is asked with the next message
  await standStill();
  say('asked');
  await nextTurn();
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const socket = connect((server.address() as AddressInfo).port);
  t.teardown(() => socket.destroy());
  await once(server, 'connection'); // from here on among the callbacks of sockets, before the end of the turn
  goOn();
  const untilMs = performance.now() + UNREAD_MS_MAX + 100;
  while (performance.now() < untilMs); // its answer comes, and waits here
  for (let turn = 0; turn < 3; turn++) {
    t.ok(say(`turn ${turn}`));
    await nextTurn();
  }
  await eventually(() => assert.ok(heard.includes('turn 2')));
  t.equal(bus.counts.dropped.backlog, 0);
});

t.test('what no other thread subscribes to is not sent', async (t) => {
  const { bus, thread } = await withThread(t);
  await nextTurn();
  const { messagesOut, flushes } = bus.counts;
  t.ok(bus.publish(talkgroupSubject(8), NOTHING, NOTHING), 'nobody misses it');
  await nextTurn();
  t.strictSame([bus.counts.messagesOut, bus.counts.flushes], [messagesOut, flushes]);
  void thread.terminate();
  await once(thread, 'exit');
  await eventually(() => {
    const before = bus.counts.messagesOut;
    bus.publish(SUBJECT, NOTHING, NOTHING);
    assert.equal(bus.counts.messagesOut, before, 'the subscriptions of a thread end with it');
  });
});
