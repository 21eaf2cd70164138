// The sealing thread behind GET /keys/epochs: its bounds, its failures, and how long keys take beside logins.
import { createECDH, randomBytes } from 'node:crypto';
import { BroadcastChannel, type Worker } from 'node:worker_threads';
import t, { type Test } from 'tap';
import { createPasswords } from '../../src/auth/passwords.js';
import { deadlineIn } from '../../src/db/deadline.js';
import { createSealing, type SealJob } from '../../src/keys/sealing.js';
import { ENVELOPE_INFO } from '../../src/protocol/encryption.js';
import { eventually, HANGS_MS } from '../helpers/eventually.js';
import { type AccountCaller, PASSWORD, type Service, service, until } from '../helpers/http/rest.js';

t.setTimeout(300_000);

const point = () => createECDH('prime256v1').generateKeys();
const jobOf = (seals: number): SealJob => ({
  publicKey: point(),
  info: ENVELOPE_INFO,
  items: Array.from({ length: seals }, () => ({ secret: randomBytes(32), aad: randomBytes(36) })),
});

/** A member with a key holder, which has this public key. */
async function fetcher(s: Service, talkgroup: string, publicKey: Buffer = point()) {
  const member = await s.account();
  await member.post(`/talkgroups/${talkgroup}/join`);
  const [row] = await s.sql<{ id: string }>(
    (sql) => sql`
      insert into key_holders (user_id, public_key, name, accepted_at)
      values (${member.userId}, ${publicKey}, 'x', now()) returning id`,
  );
  return { member, fetches: () => member.get(`/keys/epochs?talkgroup_id=${talkgroup}&holder_id=${row?.id}`) };
}

/** A thread that answers nothing until `open`. */
function heldThread(t: Test) {
  const name = `held ${randomBytes(8).toString('hex')}`;
  const program = `
    import { BroadcastChannel, parentPort } from 'node:worker_threads';
    let isOpen = false;
    const jobs = [];
    const answer = ({ items }) => parentPort.postMessage({ sealed: items.map(() => ({ enc: new Uint8Array(65), sealed: new Uint8Array(48) })) });
    parentPort.on('message', (job) => isOpen ? answer(job) : jobs.push(job));
    const channel = new BroadcastChannel(${JSON.stringify(name)});
    channel.onmessage = () => { isOpen = true; jobs.splice(0).forEach(answer); channel.close(); };
    channel.postMessage('started');
  `;
  const channel = new BroadcastChannel(name);
  t.teardown(() => channel.close());
  const started = new Promise((resolve) => {
    channel.onmessage = resolve;
  });
  return {
    script: new URL(`data:text/javascript,${encodeURIComponent(program)}`),
    async open(): Promise<void> {
      await started;
      channel.postMessage('open');
    },
  };
}

t.test('the queue holds 128 seals, 96 of one address, and one more is rejected at once', async (t) => {
  const { script, open } = heldThread(t);
  const sealing = createSealing({ log: { error: (_, message) => t.fail(message) }, script });
  t.teardown(() => sealing.close());
  let users = 0;
  const seals = (count: number, address: string) =>
    sealing.seal(deadlineIn(60_000, { user: `user ${users++}`, address }), jobOf(count));
  const tooMany = { code: 'too_many_keys', status: 429, retryAfterS: 1 };
  const waiting = Array.from({ length: 24 }, () => seals(4, 'depot'));
  await t.rejects(seals(1, 'depot'), tooMany, 'the share of one address');
  for (let n = 0; n < 31; n++) waiting.push(seals(1, 'elsewhere'));
  await t.rejects(seals(2, 'elsewhere'), tooMany, '129 seals');
  waiting.push(seals(1, 'elsewhere'));
  await t.rejects(seals(1, 'a third'), tooMany);
  t.strictSame(sealing.figures(), {
    sealed: 0,
    refused: { user_rate: 0, queue_full: 3, failed: 0 },
    queue: 128,
  });
  await open();
  const done = await Promise.all(waiting);
  t.equal(done.flat().length, 128);
  t.match(sealing.figures(), { sealed: 128, queue: 0 });
  t.equal((await seals(4, 'depot')).length, 4, 'every place is free again');
});

t.test('while the queue is full a request gets 429, and a thread that hangs is replaced', async (t) => {
  const { script } = heldThread(t);
  const s = await service(t, { sealingScript: script });
  const id = await s.talkgroup();
  for (let n = 0; n < 3; n++) await s.admin.post('/keys/rotate', { talkgroup_id: id });
  const fetchers = await Promise.all(Array.from({ length: 25 }, () => fetcher(s, id)));
  // All four epochs for each of them.
  await s.sql((sql) => sql`update memberships set first_epoch = 0 returning user_id`);
  await s.sql((sql) => sql`update key_epochs set announced_at = now() + interval '1 h' returning use_at`);
  let threads = 0;
  const count = () => void threads++;
  process.on('worker', count);
  t.teardown(() => process.off('worker', count));
  const answers = await Promise.all(fetchers.map(({ fetches }) => fetches()));
  const having = (status: number) => answers.filter((answer) => answer.status === status);
  t.equal(having(429).length, 1, '24 requests with 96 seals wait, from one address');
  t.equal(having(503).length, 24, 'until their deadline');
  for (const { headers } of answers) t.equal(Number(headers.get('retry-after')), 1);
  await until(() => s.logged().includes('sealing thread exited'));
  t.match(s.logged(), 'sealing thread hangs');
  t.equal((await fetchers[0]?.fetches())?.status, 503, 'the program of this test');
  t.equal(threads, 2, 'another thread was asked');
});

t.test('a request whose thread is killed gets 503, and the next one is served by a new thread', async (t) => {
  const s = await service(t);
  const id = await s.talkgroup();
  const [one, two] = [await fetcher(s, id), await fetcher(s, id)];
  let threads = 0;
  const killed = (worker: Worker) => {
    threads++;
    if (threads === 1) void worker.terminate();
  };
  process.on('worker', killed);
  t.teardown(() => process.off('worker', killed));
  const lost = await one.fetches();
  t.match(lost, { status: 503, body: { error: 'keys cannot be sealed now' } });
  t.equal(lost.headers.get('retry-after'), '1');
  for (const { fetches } of [one, two]) t.equal((await fetches()).status, 200);
  t.equal(threads, 2, 'one new thread');
  t.match(s.logged(), 'sealing thread exited');
});

t.test('a key that cannot be used gets 503, and the thread seals on for others', async (t) => {
  const s = await service(t);
  const id = await s.talkgroup();
  const off = Buffer.concat([Buffer.of(4), Buffer.alloc(64, 7)]); // not on the curve
  const [bad, good] = [await fetcher(s, id, off), await fetcher(s, id)];
  let threads = 0;
  const count = () => void threads++;
  process.on('worker', count);
  t.teardown(() => process.off('worker', count));
  const [first, second, third] = await Promise.all([good.fetches(), bad.fetches(), good.fetches()]);
  t.strictSame([first.status, second.status, third.status], [200, 503, 200]);
  t.equal((await good.fetches()).status, 200);
  t.equal(threads, 1);
  t.match(s.logged(), 'sealing failed');
  t.notOk(s.logged().includes(off.toString('base64url')));
});

t.test('a node that cannot decrypt the master secret answers 503 and logs the talkgroup', async (t) => {
  const s = await service(t);
  const id = await s.talkgroup();
  const { fetches } = await fetcher(s, id);
  await s.sql(
    (sql) => sql`
      update talkgroups set master_secret = ${randomBytes(60)}, wrapped_by = ${'0'.repeat(16)} returning id`,
  );
  t.equal((await fetches()).status, 503);
  t.match(s.logged(), /"talkgroup":"[^"]+","reason":"unknown_key".*"master secret not decrypted"/);
});

const CLIENTS = 40;
const ROUNDS = 5;

t.test('40 clients get their keys while the password queue is full', async (t) => {
  const passwords = createPasswords({ waitingMax: 64 });
  const s = await service(t, { passwords });
  const id = await s.talkgroup();
  const fetchers = await Promise.all(Array.from({ length: CLIENTS }, () => fetcher(s, id)));
  await fetchers[0]?.fetches(); // the thread starts
  const measured = async () => {
    const tookMs: number[] = [];
    for (let round = 0; round < ROUNDS; round++)
      await Promise.all(
        fetchers.map(async ({ fetches }) => {
          const sentAtMs = performance.now();
          while ((await fetches()).status !== 200); // as a radio, which tries again
          tookMs.push(performance.now() - sentAtMs);
        }),
      );
    tookMs.sort((a, b) => a - b);
    return Math.round(tookMs[Math.floor(0.95 * tookMs.length)] ?? 0);
  };
  const idle = await measured();
  const logins = new Set<Promise<unknown>>();
  let isFull = false;
  let isOver = false;
  const keepFull = async ({ username }: AccountCaller) => {
    while (!isOver) {
      const { status } = await s.nobody.post('/auth/login', { username, password: PASSWORD });
      isFull ||= status === 503;
      if (status === 503) await new Promise((resolve) => setTimeout(resolve, 100)); // as a client that tries again
    }
  };
  for (let n = 0; n < 48; n++) logins.add(s.account().then(keepFull));
  await until(() => isFull);
  const full = await measured();
  t.ok(passwords.figures().jobs > 0, 'passwords still wait');
  isOver = true;
  await Promise.all(logins);
  t.comment(
    `GET /keys/epochs, p95 of ${CLIENTS} clients at once: ${idle} ms, beside a full password queue ${full} ms`,
  );
});

t.test('the metrics of a user above the rate and of the queue move', async (t) => {
  let nowMs = 0;
  const sealing = createSealing({ log: { error: (_, message) => t.fail(message) }, nowMs: () => nowMs });
  t.teardown(() => sealing.close());
  for (let n = 0; n < 10; n++) sealing.admit('ann');
  t.throws(() => sealing.admit('ann'), { code: 'too_many_keys', retryAfterS: 1 });
  sealing.admit('bob');
  nowMs += 100;
  sealing.admit('ann');
  sealing.charge('ann', 30);
  t.throws(
    () => sealing.admit('ann'),
    { code: 'too_many_keys', retryAfterS: 4 },
    'seals to come are counted',
  );
  t.match(sealing.figures().refused, { user_rate: 2 });
  await sealing.seal(deadlineIn(HANGS_MS), jobOf(4));
  await eventually(() => {
    if (sealing.figures().queue !== 0) throw new Error('not empty');
  });
  t.match(sealing.figures(), { sealed: 4 });
});
