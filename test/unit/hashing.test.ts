// bcrypt on its own thread: the same answers, each to who asked, one bad job harms no other, and it stands back.
import { readdirSync, readFileSync } from 'node:fs';
import { getPriority } from 'node:os';
import { hash, verify } from '@node-rs/bcrypt';
import t from 'tap';
import { createHashing } from '../../src/auth/hashing.js';

/** The least that bcrypt takes. 1 ms. */
const COST = 4;
const log = { error: (fields: object) => t.fail('logged', fields) };

t.test('jobs sent together have each its own answer, as bcrypt itself gives it', async (t) => {
  const hashing = createHashing({ log });
  t.teardown(hashing.close);
  const names = ['ann', 'bea', 'cem', 'dörte', ''];
  const hashes = await Promise.all(names.map((name) => hashing.hash(name, COST)));
  for (const [i, name] of names.entries()) {
    t.match(hashes[i], /^\$2[aby]\$04\$/);
    t.ok(await verify(name, hashes[i] ?? ''), name);
  }
  const foreign = await Promise.all(names.map((name) => hash(name, COST)));
  const found = await Promise.all(
    names.flatMap((name) => foreign.map((stored) => hashing.verify(name, stored))),
  );
  t.strictSame(
    found,
    names.flatMap((_, i) => names.map((_, j) => i === j)),
  );
});

t.test('a job that bcrypt refuses fails alone', async (t) => {
  const hashing = createHashing({ log });
  t.teardown(hashing.close);
  const stored = await hash('right', COST);
  const [before, bad, after] = await Promise.allSettled([
    hashing.verify('right', stored),
    hashing.hash('right', 99),
    hashing.verify('right', stored),
  ]);
  t.match(before, { status: 'fulfilled', value: true });
  t.match(bad, { status: 'rejected', reason: Error });
  t.match(after, { status: 'fulfilled', value: true });
});

t.test('a thread that ends fails who waits for it, and the next job has a new one', async (t) => {
  // Ends at a job whose password says so.
  const mortal = `import { parentPort } from 'node:worker_threads';
    parentPort.on('message', ({ password }) => {
      if (password === 'throw') throw new Error('on purpose');
      if (password === 'exit') process.exit(1);
      parentPort.postMessage({ answer: password });
    });`;
  const logged: string[] = [];
  const log = { error: (_: object, message: string) => void logged.push(message) };
  const script = new URL(`data:text/javascript,${encodeURIComponent(mortal)}`);
  const hashing = createHashing({ log, script });
  t.teardown(hashing.close);
  for (const end of ['throw', 'exit']) {
    t.equal(await hashing.hash('before', COST), 'before');
    const waiting = await Promise.allSettled([hashing.hash(end, COST), hashing.hash('behind it', COST)]);
    for (const outcome of waiting)
      t.match(outcome, { status: 'rejected', reason: { code: 'login_queue_full' } });
    t.equal(await hashing.hash('after', COST), 'after');
  }
  t.match(logged, [/failed/, /exited/, /exited/], 'the operator finds it in the log');
  await hashing.close();
  await t.rejects(hashing.hash('too late', COST), { code: 'login_queue_full' });
  t.equal(logged.length, 3, 'a close is no such end');
});

t.test(
  'its thread stands five steps behind all others',
  { skip: process.platform !== 'linux' && 'Linux only' },
  async (t) => {
    const hashing = createHashing({ log });
    t.teardown(hashing.close);
    const before = priorities();
    t.notOk(before.some((nice) => nice !== getPriority()));
    await hashing.hash('ann', COST);
    t.strictSame(
      priorities().filter((nice) => nice !== getPriority()),
      [Math.min(19, getPriority() + 5)],
    );
  },
);

/** Of every thread of this process. */
function priorities(): number[] {
  return readdirSync('/proc/self/task').map((thread) => {
    const stat = readFileSync(`/proc/self/task/${thread}/stat`, 'utf8');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16]);
  });
}
