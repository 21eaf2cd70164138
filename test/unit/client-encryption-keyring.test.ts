// The keyring asks the REST API for epochs and opens their envelopes, and the holder file keeps the private key.
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import {
  createHolderKey,
  envelopeSuite,
  type Holder,
  openEnvelope,
  registerHolder,
} from '../../src/client/encryption/holder.js';
import { keepHolderId, openHolderFile, openMemoryFile } from '../../src/client/encryption/holder-file.js';
import { createKeyringWith } from '../../src/client/encryption/keyring.js';
import { createRest, RestError } from '../../src/client/rest.js';
import { ENVELOPE_INFO, envelopeAad, toBase64url } from '../../src/protocol/encryption.js';
import { nodePrimitives } from '../../src/protocol/node-primitives.js';
import { secretOf } from '../helpers/client/encryption.js';
import { ALPHA, idOf, manualClock } from '../helpers/client/fakes.js';
import { comesTrue } from '../helpers/eventually.js';

const TALKGROUP = ALPHA.talkgroup_id;
const newHolder = async (): Promise<Holder> => ({ ...(await createHolderKey()), holderId: idOf('holder') });

async function sealedFor(holder: Holder, counter: number, secret = secretOf(counter)) {
  const aad = envelopeAad({ talkgroupId: TALKGROUP, counter, holderId: holder.holderId });
  const { encapsulatedSecret, ciphertext } = await envelopeSuite.Seal(holder.pair.publicKey, secret, {
    info: ENVELOPE_INFO,
    aad,
  });
  return { enc: encapsulatedSecret, sealed: ciphertext };
}

/** A service that gives the epochs from `oldest` to `newest`, four at a time, or fails. */
async function setUp({ newest = 9, oldest = 0 } = {}) {
  const holder = await newHolder();
  const clock = manualClock();
  const asked: string[] = [];
  const failures: RestError[] = [];
  const told: string[] = [];
  let failure: RestError | null = null;
  const get = async <T>(path: string) => {
    asked.push(path);
    if (failure) throw failure;
    const from = Math.min(newest, Number(new URL(path, 'http://x').searchParams.get('from')));
    const counters = [0, 1, 2, 3].map((back) => from - back).filter((counter) => counter >= oldest);
    const epochs = counters.map(async (counter) => {
      const { enc, sealed } = await sealedFor(holder, counter);
      return { rotation_counter: counter, enc: toBase64url(enc), sealed: toBase64url(sealed) };
    });
    return {
      talkgroup_id: TALKGROUP,
      rotation_counter: newest,
      epochs: await Promise.all(epochs),
      next: null,
    } as T;
  };
  const keyring = createKeyringWith(nodePrimitives, {
    ...{ rest: { get }, holder, clock, random: () => 0.5 },
    onFailure: (_, error) => failures.push(error),
  });
  keyring.onChange((talkgroupId) => told.push(talkgroupId));
  return {
    ...{ holder, clock, asked, failures, told, keyring },
    fails(error: RestError | null) {
      failure = error;
    },
  };
}

t.test('a wanted epoch is fetched, opened and told, with three before it', async (t) => {
  const { keyring, asked, told } = await setUp();
  keyring.want(TALKGROUP, 9);
  keyring.want(TALKGROUP, 9);
  await comesTrue('settled', () => told.length > 0);
  t.same(keyring.secretFor(TALKGROUP, 9), secretOf(9));
  t.same(keyring.secretFor(TALKGROUP, 6), secretOf(6));
  t.same(told, [TALKGROUP]);
  t.same(asked, [`/keys/epochs?talkgroup_id=${TALKGROUP}&holder_id=${idOf('holder')}&from=9`]);
  keyring.want(TALKGROUP, 6);
  t.equal(asked.length, 1);
  keyring.forget(TALKGROUP, 6);
  t.equal(keyring.secretFor(TALKGROUP, 6), null);
});

t.test(
  'after a rotation the request comes at a random time, and at once when a talk needs the key',
  async (t) => {
    const { keyring, clock, asked, told } = await setUp({ newest: 10 });
    keyring.want(TALKGROUP, 10, 5_000);
    clock.pass(2_499);
    t.equal(asked.length, 0);
    clock.pass(1);
    t.equal(asked.length, 1);
    await comesTrue('settled', () => told.length > 0);
    const urgent = await setUp({ newest: 10 });
    urgent.keyring.want(TALKGROUP, 10, 5_000);
    urgent.keyring.want(TALKGROUP, 10);
    t.equal(urgent.asked.length, 1);
  },
);

t.test('a holder with a key asks for one more, and not for those before it again', async (t) => {
  const { keyring, asked, told } = await setUp();
  keyring.want(TALKGROUP, 5);
  await comesTrue('settled', () => told.length === 1);
  keyring.want(TALKGROUP, 6);
  await comesTrue('settled', () => told.length === 2);
  t.match(asked, [/&from=5$/, /&from=6&limit=1$/]);
});

t.test(
  'the keyring waits as long as Retry-After says, and 30 s after a rejection unless told to retry',
  async (t) => {
    const { keyring, clock, asked, failures, fails } = await setUp();
    fails(new RestError(429, 'slow down', 2));
    keyring.want(TALKGROUP, 9);
    await comesTrue('settled', () => failures.length === 1);
    clock.pass(1_999);
    t.equal(asked.length, 1);
    fails(new RestError(404, 'talkgroup not found'));
    clock.pass(501);
    await comesTrue('settled', () => failures.length === 2);
    clock.pass(29_999);
    t.equal(asked.length, 2);
    fails(null);
    keyring.retry();
    await comesTrue('settled', () => keyring.secretFor(TALKGROUP, 9) !== null);
    t.equal(asked.length, 3);
  },
);

t.test('without the service the waits grow to 30 s, and a closed keyring asks nothing', async (t) => {
  const { keyring, clock, asked, failures, fails } = await setUp();
  fails(new RestError(0, 'no route'));
  keyring.want(TALKGROUP, 9);
  for (let n = 1; n <= 8; n += 1) {
    await comesTrue('settled', () => failures.length === n);
    clock.pass(45_000);
  }
  await comesTrue('settled', () => failures.length === 9);
  t.equal(asked.length, 9);
  keyring.close();
  clock.pass(100_000);
  t.equal(asked.length, 9);
});

t.test('an epoch from before the membership is no failure for who has a later one', async (t) => {
  const { keyring, asked, failures, told } = await setUp({ oldest: 9 });
  keyring.want(TALKGROUP, 8);
  await comesTrue('it was told', () => failures.length === 1);
  keyring.want(TALKGROUP, 9);
  await comesTrue('it came', () => told.length === 1);
  keyring.want(TALKGROUP, 7);
  await comesTrue('it was asked for', () => asked.length === 3);
  keyring.want(TALKGROUP, 6);
  await comesTrue('the next one is asked for', () => asked.length === 4);
  t.match(failures, [{ message: 'no key of epoch 8' }]);
});

t.test('a counter beyond the newest one of the service is told and not asked for again', async (t) => {
  const { keyring, clock, asked, failures } = await setUp();
  const missing: unknown[] = [];
  keyring.onChange((_, epoch) => epoch && missing.push([epoch, keyring.secretFor(TALKGROUP, 9) !== null]));
  keyring.want(TALKGROUP, 500);
  await comesTrue('it was told', () => missing.length > 0);
  t.same(missing, [[{ wanted: 500, newest: 9 }, true]], 'behind the keys that came with it');
  clock.pass(60_000);
  t.same([asked.length, failures], [1, []]);
});

t.test('an envelope opens for its holder, talkgroup and epoch alone', async (t) => {
  const holder = await newHolder();
  const envelope = { ...(await sealedFor(holder, 9)), talkgroupId: TALKGROUP, counter: 9 };
  t.same(await openEnvelope(holder, envelope), secretOf(9));
  t.equal(await openEnvelope(await newHolder(), envelope), null);
  t.equal(await openEnvelope({ ...holder, holderId: idOf('other') }, envelope), null);
  t.equal(await openEnvelope(holder, { ...envelope, counter: 10 }), null);
  t.equal(await openEnvelope(holder, { ...envelope, talkgroupId: idOf('tg-bravo') }), null);
  for (const bytes of [new Uint8Array(), new Uint8Array(65), Uint8Array.of(4, 1, 2)]) {
    t.equal(await openEnvelope(holder, { ...envelope, enc: bytes }), null);
    t.equal(await openEnvelope(holder, { ...envelope, sealed: bytes }), null);
  }
  const short = { ...(await sealedFor(holder, 9, new Uint8Array(31))), talkgroupId: TALKGROUP, counter: 9 };
  t.equal(await openEnvelope(holder, short), null);
});

t.test('what the service answers is read with care', async (t) => {
  const holder = await newHolder();
  for (const epochs of [
    null,
    'x',
    [null],
    [{ rotation_counter: 9, enc: 1, sealed: 2 }],
    [{ rotation_counter: 9, enc: '+', sealed: '' }],
    [{ rotation_counter: -1, enc: '', sealed: '' }],
    [{ rotation_counter: 0.5, enc: '', sealed: '' }],
  ]) {
    const failures: RestError[] = [];
    const clock = manualClock();
    const keyring = createKeyringWith(nodePrimitives, {
      ...{ holder, clock, rest: { get: async <T>() => ({ epochs }) as T } },
      onFailure: (_, error) => failures.push(error),
    });
    keyring.want(TALKGROUP, 9);
    await comesTrue('settled', () => failures.length === 1);
    t.equal(keyring.secretFor(TALKGROUP, 9), null);
  }
});

/** Of answers that are read as JSON. */
const arrayBuffer = () => Promise.reject(new TypeError('not read'));

t.test(
  'a request has the token, and its rejection the status, the text, Retry-After and the code',
  async (t) => {
    const calls: unknown[] = [];
    const rest = createRest({
      ...{ url: 'https://radio.example/', token: 'x' },
      async fetch(address, { method, headers, body }) {
        calls.push([address, method, headers.authorization, body]);
        if (method === 'POST') {
          const answer = { holder_id: idOf('holder'), fingerprint: '1 2', accepted: true };
          return { ok: true, status: 201, headers: new Headers(), json: async () => answer, arrayBuffer };
        }
        const headersOf = new Headers({ 'retry-after': '3', 'error-code': 'too_many_keys' });
        const json = async () => ({ error: 'slow down' });
        return { ok: false, status: 429, headers: headersOf, json, arrayBuffer };
      },
    });
    const { publicKey } = await newHolder();
    const registered = await registerHolder(rest, { publicKey, password: 'p', name: 'phone' });
    t.same(registered, { holderId: idOf('holder'), fingerprint: '1 2', accepted: true });
    await t.rejects(rest.get('/keys/epochs?x=1'), {
      status: 429,
      message: 'slow down',
      retryAfterS: 3,
      code: 'too_many_keys',
    });
    const body = JSON.stringify({ password: 'p', public_key: toBase64url(publicKey), name: 'phone' });
    t.same(calls, [
      ['https://radio.example/keys/holders', 'POST', 'Bearer x', body],
      ['https://radio.example/keys/epochs?x=1', 'GET', 'Bearer x', undefined],
    ]);
  },
);

t.test('an answer that does not come, or is the page of a proxy, is no answer', async (t) => {
  const json = async () => JSON.parse('<html>');
  const page = { ok: true, status: 200, headers: new Headers(), json, arrayBuffer };
  const failures: RestError[] = [];
  for (const fetch of [async () => page, () => Promise.reject(new TypeError('no route'))]) {
    const rest = createRest({ token: 'x', fetch, onRejected: (error) => failures.push(error) });
    await t.rejects(rest.get('/x'), {
      ...{ status: 0, message: 'no answer from the service', retryAfterS: null, code: null },
    });
  }
  t.equal(failures.length, 2);
  t.match(failures[1]?.cause, { message: 'no route' });
  const broken = { ...page, ok: false, status: 502 };
  const rest = createRest({ token: 'x', fetch: async () => broken });
  await t.rejects(rest.get('/x'), { status: 502, message: 'the service answered 502' });
  await t.rejects(rest.getBytes('/x'), { status: 502, message: 'the service answered 502' });
  const halfway = createRest({ token: 'x', fetch: async () => page });
  await t.rejects(halfway.getBytes('/x'), { status: 0, message: 'no answer from the service' });
});

t.test('a holder in a file is the same after a restart, and only its owner can read it', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'holder-'));
  t.teardown(() => rm(directory, { recursive: true }));
  const path = join(directory, 'deeper', 'holder.json');
  const created = await openHolderFile(path);
  t.equal(created.holderId, null);
  t.equal((await stat(path)).mode & 0o777, 0o600);
  const holder = await keepHolderId(path, created, idOf('holder'));
  const again = await openHolderFile(path);
  t.same([again.holderId, again.publicKey], [idOf('holder'), created.publicKey]);
  const envelope = { ...(await sealedFor(holder, 9)), talkgroupId: TALKGROUP, counter: 9 };
  t.same(await openEnvelope({ ...again, holderId: idOf('holder') }, envelope), secretOf(9));
  await writeFile(join(directory, 'open.json'), await readFile(path), { mode: 0o644 });
  await t.rejects(openHolderFile(join(directory, 'open.json')), { message: /other users can read/ });
  await writeFile(join(directory, 'none.json'), '{}', { mode: 0o600 });
  await t.rejects(openHolderFile(join(directory, 'none.json')), { message: /is no key holder/ });
});

t.test('a memory in a file is there after a restart, and empty when the file is none', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'memory-'));
  t.teardown(() => rm(directory, { recursive: true }));
  const path = join(directory, 'memory.json');
  const memory = await openMemoryFile(path);
  t.equal(memory.read(TALKGROUP), null);
  memory.write(TALKGROUP, 'one');
  memory.write(TALKGROUP, 'two');
  await memory.close();
  t.equal((await openMemoryFile(path)).read(TALKGROUP), 'two');
  await writeFile(path, '{"', { mode: 0o600 });
  t.equal((await openMemoryFile(path)).read(TALKGROUP), null);
});
