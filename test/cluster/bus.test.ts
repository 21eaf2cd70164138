// What every bus promises, tried on the bus of the tests, on NATS and on the ports between threads.
import t, { type Test } from 'tap';
import type { Subject } from '../../src/relay/nodes/bus.js';
import { openNats } from '../../src/relay/nodes/carriers/nats.js';
import { joinNearFar } from '../../src/relay/nodes/carriers/near-far.js';
import { openPorts, type PortsBus } from '../../src/relay/nodes/carriers/ports.js';
import { comesTrue } from '../helpers/eventually.js';
import { type Carrier, SUBJECT, testBus } from '../helpers/network/bus-contract.js';
import { connected, overNats } from '../helpers/network/nats-bus.js';
import { startNatsServer } from '../helpers/network/nats-server.js';
import { idsOf, portsOf } from '../helpers/network/thread-ports.js';
import { freePort, unless } from '../helpers/programs.js';
import { createMemoryNetwork } from '../helpers/relay/memory-bus.js';

const NOTHING = new Uint8Array(0);

const loud = (t: Test) => ({
  error: (fields: object, message: string) => void t.fail(message, fields),
});

const memory: Carrier = async () => {
  const network = createMemoryNetwork();
  return async () => {
    const bus = network.join();
    return { bus, cut: bus.cut, mend: bus.mend };
  };
};

/** Of a process with three relay threads. Their ports are lost with the process alone, so nothing cuts them. */
const ports: Carrier = async (t) => {
  const ends = portsOf(3);
  return async () => {
    const bus = openPorts({
      ports: ends.pop() ?? [],
      log: loud(t),
    });
    t.teardown(() => {
      for (const end of ends.splice(0).flat()) end.close(); // of threads that the test did without
      return bus.close();
    });
    const never = () => void t.fail('ports cannot be cut');
    return { bus, cut: never, mend: never };
  };
};

/** Relay threads of nodes of their own. */
const ofOtherNodes: Carrier = async (t) => {
  const join = await overNats(startNatsServer)(t);
  return async () => {
    const { bus: far, ...link } = await join();
    const bus = joinNearFar({ near: openPorts({ ports: [], log: loud(t) }), far, relays: idsOf(1) });
    return { bus, ...link };
  };
};

/** Relay threads of one node whose NATS server does not answer. */
const withoutNats: Carrier = async (t) => {
  const join = await ports(t);
  const port = await freePort();
  const relays = idsOf(3);
  return async () => {
    const { bus: near, ...link } = await join();
    const log = { info() {}, warn() {}, ...loud(t) };
    const options = { urls: `nats://127.0.0.1:${port}`, credentials: null, prefix: 'test.1', name: t.name };
    const bus = joinNearFar({ near: near as PortsBus, far: openNats({ ...options, log }), relays });
    t.teardown(() => bus.close());
    return { bus, ...link };
  };
};

testBus(t, { name: 'memory', carrier: memory, isNetwork: true });
testBus(t, { name: 'ports', carrier: ports, isNetwork: false });
testBus(t, {
  name: 'nats',
  carrier: overNats(startNatsServer),
  skip: unless('nats-server'),
  isNetwork: true,
});
testBus(t, {
  name: 'ports and nats, of several nodes',
  carrier: ofOtherNodes,
  skip: unless('nats-server'),
  isNetwork: true,
});
testBus(t, { name: 'ports and nats, without nats', carrier: withoutNats, isNetwork: false });

t.test(
  'nats: a bus that had too much to send takes messages again when they have left',
  { skip: unless('nats-server') },
  async (t) => {
    const { bus, proxy } = await connected(t, await startNatsServer(t));
    proxy.stall(true);
    const bytes = Buffer.alloc(100_000);
    // The server is asked to confirm the first turn. The answer comes behind the others.
    for (const messages of [1, 20, 40]) {
      for (let each = 0; each < messages; each++) t.ok(bus.publish(SUBJECT, NOTHING, bytes));
      await new Promise((resolve) => setImmediate(resolve));
    }
    t.notOk(bus.publish(SUBJECT, NOTHING, bytes));
    proxy.stall(false);
    await comesTrue('taken', () => bus.publish(SUBJECT, NOTHING, bytes));
  },
);

t.test(
  'nats: a receiver that throws stops no other message, and fills no log',
  { skip: unless('nats-server') },
  async (t) => {
    const server = await startNatsServer(t);
    const errors: { message: string; subject?: Subject; leftOut?: number }[] = [];
    const bus = openNats({
      ...{ urls: `nats://127.0.0.1:${server.port}`, credentials: null, prefix: 'test.1', name: t.name },
      log: { info() {}, warn() {}, error: (fields, message) => errors.push({ message, ...fields }) },
    });
    t.teardown(() => bus.close());
    const { bus: other } = await connected(t, server);
    await comesTrue('connected', () => bus.isUp);
    let heard = 0;
    const fromMs = performance.now();
    bus.subscribe(SUBJECT, () => {
      throw new Error(`message ${++heard}`);
    });
    await comesTrue('heard', () => {
      for (let sent = 0; sent < 10; sent++) other.publish(SUBJECT, NOTHING, NOTHING);
      return heard > 100;
    });
    t.match(errors[0], { message: 'bus message failed', subject: SUBJECT, err: { message: 'message 1' } });
    t.ok(errors.length <= 2 + (performance.now() - fromMs) / 1000, 'one a second');
    const told = errors.length;
    await comesTrue('told again', () => {
      other.publish(SUBJECT, NOTHING, NOTHING);
      return errors.length > told;
    });
    t.ok((errors.at(-1)?.leftOut ?? 0) > 0, 'with the number of those that were left out');
  },
);
