// `make cluster` and `make demo NODES=2`: nodes, nats-servers and a database that start and end with one command.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { startLocal } from '../helpers/local-run.js';
import { run, unless } from '../helpers/programs.js';

const skip = unless('nats-server');
const PROGRAM = fileURLToPath(new URL('../../src/local/cluster.js', import.meta.url));
const DEMO = fileURLToPath(new URL('../../bench/demo.js', import.meta.url));

/** Loaded by the process before anything else: SIGUSR2 is an error that nothing catches. */
const FAULTY = `data:text/javascript,${encodeURIComponent(`
  process.on('SIGUSR2', () => { throw new Error('planted'); });`)}`;

t.setTimeout(300_000);

const startCluster = (t: Test, dataDir: string, more: Record<string, string> = {}) =>
  startLocal(t, { args: [PROGRAM, '--nodes', '2'], env: { DATA_DIR: dataDir, ...more } });

/** The processes that it has started, in their order. */
const processesOf = (text: string) => [...text.matchAll(/process (\d+)$/gm)].map(([, pid]) => Number(pid));

const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false; // expected: it has ended
  }
};

const logIn = (rest: string, password: string) =>
  fetch(`${rest}/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ username: 'admin', password }),
  });

t.test(
  'a local cluster says what ends, goes on without it, and leaves nothing behind',
  { skip },
  async (t) => {
    const dataDir = t.testdir({});
    const first = startCluster(t, dataDir);
    await first.prints(/^Ready\./m);
    const text = first.text();
    const pids = processesOf(text);
    t.equal(pids.length, 4, 'two nats-servers and two nodes');
    for (const node of ['node-1', 'node-2'])
      t.notMatch(readFileSync(`${dataDir}/cluster/${node}.log`, 'utf8'), /no admin created/, 'there is one');
    const [, rest = '', last = ''] =
      /^Node 1 +REST (\S+), .*\n(?:.*\n)*Node 2 .* process (\d+)$/m.exec(text) ?? [];
    const [, password = ''] = /^Admin +admin \/ (\S+) /m.exec(text) ?? [];
    t.equal((await logIn(rest, password)).status, 200);

    process.kill(Number(last), 'SIGKILL');
    await first.prints(/^node 2 ended \(SIGKILL\)\. The others go on\.$/m);
    t.equal((await fetch(`${rest}/readyz`)).status, 200);
    process.kill(pids[1] ?? 0, 'SIGKILL');
    await first.prints(/^nats-server 2 ended \(SIGKILL\)/m);
    t.equal((await fetch(`${rest}/readyz`)).status, 200);
    first.signal('SIGINT');
    t.strictSame(await first.exited, [0, null]);
    t.notOk(pids.some(isAlive));
    t.match(first.text(), /stopping\n$/, 'the end of what it stops itself is no news');

    const second = startCluster(t, dataDir);
    await second.prints(/^Ready\./m);
    t.notMatch(second.text(), /^Admin/m, 'the database is kept');
    const [, kept = ''] = /^Node 2 +REST (\S+),/m.exec(second.text()) ?? [];
    t.equal((await logIn(kept, password)).status, 200);
    const processes = processesOf(second.text());
    second.signal('SIGHUP');
    t.strictSame(await second.exited, [0, null]);
    t.notOk(processes.some(isAlive));
  },
);

t.test('a local cluster whose output is closed leaves nothing behind', { skip }, async (t) => {
  const cluster = startCluster(t, t.testdir({}));
  await cluster.prints(/^Ready\./m);
  const pids = processesOf(cluster.text());
  cluster.closeOutput();
  process.kill(pids.at(-1) ?? 0, 'SIGKILL'); // it would print that
  t.strictSame(await cluster.exited, [0, null]);
  t.equal(pids.length, 4);
  t.notOk(pids.some(isAlive));
  t.equal(cluster.errors(), '', 'no stack trace');
});

t.test('a local cluster that ends by a fault of its own leaves nothing behind', { skip }, async (t) => {
  const cluster = startCluster(t, t.testdir({}), { NODE_OPTIONS: `--import=${FAULTY}` });
  const [, pid = ''] = await cluster.prints(/process (\d+)$/m);
  cluster.signal('SIGUSR2');
  t.strictSame(await cluster.exited, [1, null]);
  t.notOk(isAlive(Number(pid)));
  t.match(cluster.errors(), /^fault in the local cluster: Error: planted$/m);
});

t.test('a local cluster that is told to end while it starts leaves nothing behind', { skip }, async (t) => {
  const cluster = startCluster(t, t.testdir({}));
  const [, pid = ''] = await cluster.prints(/process (\d+)$/m);
  cluster.signal('SIGTERM');
  t.strictSame(await cluster.exited, [0, null]);
  t.notOk(isAlive(Number(pid)));
});

t.test('a local cluster on a port that is taken ends, and names the port', { skip }, async (t) => {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  t.teardown(() => taken.close());
  const { port } = taken.address() as AddressInfo;
  const cluster = startCluster(t, t.testdir({}), { PORT: `${port}` });
  const [code] = await cluster.exited;
  t.equal(code, 1);
  const reason = new RegExp(
    `^cannot start the local cluster: node 1 ended before it was ready \\(.*\\): .*PORT.*${port}`,
  );
  t.match(cluster.errors(), reason);
});

t.test('without nats-server the local cluster does not start, and names the package', async (t) => {
  const { code, output } = await run(process.execPath, [PROGRAM, '--nats-server', '/nowhere/nats-server'], {
    env: { DATA_DIR: t.testdir({}) },
  });
  t.equal(code, 1);
  t.match(
    output,
    /^cannot start the local cluster: nats-server is missing\. Install the package nats-server: /,
  );
});

t.test('the demo on two nodes hears every packet', { skip }, async (t) => {
  const { code, output } = await run(process.execPath, [DEMO], { env: { NODES: '2' } });
  t.equal(code, 0, output);
  t.match(output, /^nodes +the talker is on node 1, the listener on node 2, a nats-server is between them$/m);
  t.match(output, /^packets +identical to those sent$/m);
  t.match(output, /^loss +0 of 387$/m);
});
