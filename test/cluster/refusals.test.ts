// NATS servers that answer and cannot be used: what stops the start, and what is logged afterwards.
import { setTimeout as delay } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { EVERY_RELAY, MESSAGE_BYTES_MAX, type Subject } from '../../src/relay/nodes/bus.js';
import { areCredentials, openNats } from '../../src/relay/nodes/carriers/nats.js';
import { migratedDatabase } from '../helpers/database/cluster.js';
import { comesTrue } from '../helpers/eventually.js';
import { launchNatsServer } from '../helpers/network/nats-server.js';
import { freePort, unless } from '../helpers/programs.js';
import { serviceProcess } from '../helpers/service/service.js';

const skip = unless('nats-server');

const USER = `authorization { users: [ {
  user: "radio", password: "right", permissions: { publish: "tgr.1.>", subscribe: "tgr.1.>" }
} ] }`;

function open(t: Test, ports: readonly number[], { user = 'radio:right@', prefix = 'tgr.1' } = {}) {
  const errors: string[] = [];
  const warnings: string[] = [];
  const bus = openNats({
    ...{ credentials: null, prefix, name: t.name },
    urls: ports.map((port) => `nats://${user}127.0.0.1:${port}`).join(),
    log: {
      info() {},
      warn: ({ reason }: { reason?: string }, message) => warnings.push(`${message}: ${reason}`),
      error: ({ reason }: { reason?: string }, message) => errors.push(`${message}: ${reason}`),
    },
  });
  t.teardown(() => bus.close());
  return { bus, errors, warnings };
}

async function server(t: Test, settings: string, port = 0): Promise<number> {
  const own = port === 0 ? await freePort() : port;
  await launchNatsServer(t, t.testdir({}), own, settings);
  return own;
}

t.test('a server that takes no message of the greatest length stops the start', { skip }, async (t) => {
  const { bus, errors } = open(t, [await server(t, 'max_payload: 64KB')], { user: '' });
  t.equal(await bus.rejected, `max_payload is 65536 bytes, and must be at least ${MESSAGE_BYTES_MAX}`);
  t.notOk(bus.isUp);
  await delay(600); // two more tries
  t.equal(errors.length, 1);
  t.notOk(bus.publish(EVERY_RELAY, new Uint8Array(28), new Uint8Array(0)));
});

t.test('a prefix that the user may not use stops the start, and is logged once', { skip }, async (t) => {
  const { bus, errors } = open(t, [await server(t, USER)], { prefix: 'other.1' });
  t.match(await bus.rejected, /Permissions Violation .*"other\.1\.\S+".*NATS_PREFIX/);
  bus.subscribe('all' as Subject, () => {});
  await delay(600);
  t.notOk(bus.isUp);
  t.equal(errors.length, 1);
});

t.test('a permission that is missing for some subjects is logged once', { skip }, async (t) => {
  const permissions = 'publish: { allow: "tgr.1.>", deny: "tgr.1.g.7" }, subscribe: "tgr.1.>"';
  const users = `authorization { users: [ { user: "radio", password: "right", permissions: { ${permissions} } } ] }`;
  const { bus, errors } = open(t, [await server(t, users)]);
  t.equal(await bus.rejected, null);
  await comesTrue('up', () => bus.isUp);
  for (let each = 0; each < 50; each++) bus.publish('g.7' as Subject, new Uint8Array(28), new Uint8Array(0));
  await comesTrue('told', () => errors.length > 0);
  for (let each = 0; each < 50; each++) {
    bus.publish('g.7' as Subject, new Uint8Array(28), new Uint8Array(0));
    await new Promise((resolve) => setImmediate(resolve));
  }
  await delay(200);
  t.equal(errors.length, 1);
  t.ok(bus.isUp);
});

t.test('a rejection by one server counts also when another one is away', { skip }, async (t) => {
  const ports = [await server(t, USER), await freePort()];
  const { bus } = open(t, ports, { user: 'radio:wrong@' });
  t.match(await bus.rejected, /Authorization Violation/i);
});

t.test('a server that is refused is left for another one', { skip }, async (t) => {
  const ports = [await server(t, 'max_payload: 64KB'), await server(t, '')];
  for (let each = 0; each < 4; each++) {
    const { bus } = open(t, ports, { user: '' });
    t.equal(await bus.rejected, null);
    t.ok(bus.isUp);
  }
});

t.test('a wrong password that is met later is logged once, and the bus stays down', { skip }, async (t) => {
  const port = await freePort();
  const { bus, errors, warnings } = open(t, [port], { user: 'radio:wrong@' });
  t.equal(await bus.rejected, null);
  t.equal(warnings.length, 1);
  await server(t, USER, port);
  await comesTrue('told', () => errors.length > 0);
  await delay(600);
  t.match(errors, [/Authorization Violation/i]);
  t.equal(errors.length, 1);
  t.notOk(bus.isUp);
});

t.test('servers that are frozen hold the start for 3 s at most', { skip }, async (t) => {
  const ports = [await freePort(), await freePort(), await freePort()];
  for (const port of ports) (await launchNatsServer(t, t.testdir({}), port, '')).child.kill('SIGSTOP');
  const beganAtMs = performance.now();
  const { bus } = open(t, ports, { user: '' });
  t.equal(await bus.rejected, null);
  const tookMs = performance.now() - beganAtMs;
  t.ok(tookMs < 4500, `${Math.round(tookMs)} ms`);
});

t.test('a credentials file with something else stops the start', { skip }, async (t) => {
  t.notOk(areCredentials(Buffer.from('nonsense')));
  const { output, exit } = await serviceProcess(t, {
    DATABASE_URL: await migratedDatabase(t),
    NATS_URL: `nats://127.0.0.1:${await freePort()}`,
    NATS_CREDENTIALS_FILE: 'package.json',
  });
  t.equal(await exit(), 1);
  t.match(output(), /^ended: NATS_CREDENTIALS_FILE must be the path of a readable credentials file/m);
});
