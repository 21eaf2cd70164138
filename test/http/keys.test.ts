// Key holders, sealed keys of epochs, rotation, and who may have keys: through HTTP, with a real PostgreSQL.
import { createECDH, randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import * as hpke from 'hpke';
import t, { type Test } from 'tap';
import { createPasswords } from '../../src/auth/passwords.js';
import { acceptHolder } from '../../src/client/encryption/holder.js';
import { type Rest, RestError } from '../../src/client/rest.js';
import { createDueRotations } from '../../src/keys/rotations/due.js';
import {
  ENVELOPE_INFO,
  envelopeAad,
  epochSecret,
  fingerprint,
  fromBase64url,
} from '../../src/protocol/encryption.js';
import { nodePrimitives } from '../../src/protocol/node-primitives.js';
import { comesTrue, eventually } from '../helpers/eventually.js';
import {
  type AccountCaller,
  PASSWORD,
  PASSWORD_HASH,
  type Service,
  service,
  until,
} from '../helpers/http/rest.js';
import { IS_PROOF } from '../helpers/within.js';

/** That race a removal. `make prove` asks for ten times as many. */
const FETCHES = Number(process.env.KEY_FETCHES ?? 1000);
/** Of a fleet whose rotations are put off: more than 20,000 members together. `make prove`: of a dispatcher of 1,000. */
const FLEET_GROUPS = IS_PROOF ? 1000 : 21;

t.setTimeout(170_000 + FETCHES * 50);

const suite = new hpke.CipherSuite(
  hpke.KEM_DHKEM_P256_HKDF_SHA256,
  hpke.KDF_HKDF_SHA256,
  hpke.AEAD_AES_256_GCM,
);
const withKeys = { settings: { SECRETS_KEY: randomBytes(32).toString('base64') } };

interface Epochs {
  talkgroup_id: string;
  rotation_counter: number;
  epochs: { rotation_counter: number; enc: string; sealed: string }[];
  next: number | null;
}

/** An installation that registers its key for this account. */
async function holderOf(caller: AccountCaller, name = 'phone') {
  const pair = await suite.GenerateKeyPair();
  const publicKey = await suite.SerializePublicKey(pair.publicKey);
  const { status, body } = await caller.post('/keys/holders', {
    password: PASSWORD,
    public_key: Buffer.from(publicKey).toString('base64url'),
    name,
  });
  const { holder_id: id, accepted } = body as { holder_id: string; accepted: boolean };
  const fetches = (talkgroup: string, more = '') =>
    caller.get(`/keys/epochs?talkgroup_id=${talkgroup}&holder_id=${id}${more}`);
  return {
    ...{ status, body, id, accepted, publicKey, pair, fetches },
    /** Accepts that holder, as the client library does. */
    accepts: (holderId: string) =>
      acceptHolder(restOf(caller), { pair, publicKey, holderId: id }, { holderId, password: PASSWORD }),
    /** Counters that it is given now. Null: 404. */
    async counters(talkgroup: string): Promise<number[] | null> {
      const answer = await fetches(talkgroup);
      if (answer.status === 404) return null;
      return (answer.body as Epochs).epochs.map(({ rotation_counter }) => rotation_counter);
    },
  };
}

/** The REST client of the library over this caller. */
const restOf = (caller: AccountCaller): Pick<Rest, 'get' | 'post'> => ({
  get: async <T>(path: string) => bodyOf<T>(await caller.get(path)),
  post: async <T>(path: string, sent?: unknown) => bodyOf<T>(await caller.post(path, sent)),
});

function bodyOf<T>({ status, body }: { status: number; body: unknown }): T {
  if (status !== 200) throw new RestError(status, (body as { error: string }).error);
  return body as T;
}

const counterOf = async (s: Service, id: string) =>
  ((await s.admin.get(`/keys/rotation?talkgroup_id=${id}`)).body as { rotation_counter: number })
    .rotation_counter;

/** A talkgroup in `required` with this member, who was there before. */
async function requiredWith(t: Test, s: Service, ...members: AccountCaller[]) {
  const id = await s.talkgroup();
  for (const member of members) await member.post(`/talkgroups/${id}/join`);
  t.equal((await s.admin.patch(`/talkgroups/${id}`, { encryption: 'required' })).status, 200);
  return id;
}

/** Resolves when so many statements wait for a lock. */
const waiting = (s: Service, count: number) =>
  eventually(async () => {
    const rows = await s.sql(
      (sql) => sql`
        select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    );
    if (rows.length < count) throw new Error(`${rows.length} statements wait`);
  });

const seedOnly = ['created_at', 'id', 'name', 'rotation_counter'];

t.test(
  'a key holder opens the epoch secret that follows from the master secret, which no answer has',
  async (t) => {
    const s = await service(t);
    const id = await s.talkgroup();
    const holder = await holderOf(s.radio);
    t.match(holder, { status: 200, accepted: true });
    t.equal(
      (holder.body as { fingerprint: string }).fingerprint,
      fingerprint(nodePrimitives, { userId: s.radio.userId, publicKey: holder.publicKey }),
    );
    t.equal(await holder.counters(id), null, 'before the join');
    await s.radio.post(`/talkgroups/${id}/join`);
    // On a busy machine the thread that seals may take longer to start than the first request waits.
    const answer = await eventually(async () => {
      const fetched = await holder.fetches(id);
      if (fetched.status !== 200) throw new Error(JSON.stringify(fetched.body));
      return fetched;
    });
    t.equal(answer.headers.get('cache-control'), 'no-store');
    const [epoch] = (answer.body as Epochs).epochs;
    const [row] = await s.sql<{ master_secret: Buffer }>(
      (sql) => sql`select master_secret from talkgroups where id = ${id}`,
    );
    const master = row?.master_secret ?? Buffer.alloc(0);
    const opened = await suite.Open(
      holder.pair,
      fromBase64url(epoch?.enc ?? '') ?? new Uint8Array(),
      fromBase64url(epoch?.sealed ?? '') ?? new Uint8Array(),
      { info: ENVELOPE_INFO, aad: envelopeAad({ talkgroupId: id, counter: 0, holderId: holder.id }) },
    );
    const secret = epochSecret(nodePrimitives, { master, talkgroupId: id, counter: 0 });
    t.equal(Buffer.from(opened).toString('hex'), Buffer.from(secret).toString('hex'));
    for (const bytes of [master, Buffer.from(secret)])
      for (const encoding of ['hex', 'base64', 'base64url'] as const)
        t.notOk(`${JSON.stringify(answer.body)}${s.logged()}`.includes(bytes.toString(encoding)));
    t.notOk(s.logged().includes(epoch?.sealed ?? '-'));
  },
);

t.test('a point that is not on the curve, compressed or of 64 bytes gets 400', async (t) => {
  const s = await service(t);
  const good = createECDH('prime256v1').generateKeys();
  const compressed = createECDH('prime256v1').generateKeys(
    'base64url' as never,
    'compressed',
  ) as unknown as string;
  const off = Buffer.from(good);
  off[64] = (off[64] ?? 0) ^ 1;
  const bad = [
    ...[off, good.subarray(0, 64), Buffer.concat([Buffer.of(4), Buffer.alloc(64)])].map((one) =>
      one.toString('base64url'),
    ),
    ...[compressed, good.toString('base64'), `${good.toString('base64url')}=`, ''],
  ];
  for (const public_key of bad) {
    const { status } = await s.radio.post('/keys/holders', { password: PASSWORD, public_key, name: 'x' });
    t.equal(status, 400, public_key);
  }
});

t.test('a stolen token registers no second key holder, and one that waits gets no keys', async (t) => {
  const s = await service(t);
  const id = await s.talkgroup();
  await s.radio.post(`/talkgroups/${id}/join`);
  const first = await holderOf(s.radio);
  const public_key = createECDH('prime256v1').generateKeys('base64url' as never) as unknown as string;
  const stolen = await s.radio.post('/keys/holders', { password: 'guess', public_key, name: 'thief' });
  t.match(stolen, { status: 401, body: { error: 'invalid credentials' } });
  const second = await holderOf(s.radio, 'tablet');
  t.equal(second.accepted, false);
  t.equal(await second.counters(id), null);
  const accept = `/keys/holders/${second.id}/accept`;
  t.equal((await s.radio.post(accept, { holder_id: first.id })).status, 401, 'without the password');
  const wrong = { status: 403, body: { error: 'the proof is not that of the accepted key holder' } };
  for (const proof of [undefined, '', 'x', randomBytes(32).toString('base64url')])
    t.match(
      await s.radio.post(accept, { holder_id: first.id, password: PASSWORD, proof }),
      wrong,
      'by the password alone',
    );
  // The thief asks in the name of the accepted one, and opens with its own key.
  const challenge = await s.radio.get(`/keys/holders/${second.id}/challenge?holder_id=${first.id}`);
  t.equal(challenge.status, 200);
  t.same(Object.keys(challenge.body as object).sort(), ['enc', 'sealed']);
  const thief = { pair: second.pair, publicKey: second.publicKey, holderId: first.id };
  await t.rejects(acceptHolder(restOf(s.radio), thief, { holderId: second.id, password: PASSWORD }), {
    message: 'the challenge is not for this key holder',
  });
  await t.rejects(second.accepts(second.id), { message: 'key holder not found' }, 'by itself');
  const third = await holderOf(s.radio, 'third');
  await t.rejects(second.accepts(third.id), { message: 'key holder not found' }, 'it waits itself');
  await s.admin.post('/keys/rotate', { talkgroup_id: id });
  await first.accepts(second.id);
  t.strictSame(await second.counters(id), [1], 'the epoch of the acceptance');
  t.strictSame(await first.counters(id), [1, 0]);
  // The clock of the database was two hours ahead when the keys rotated, and is set back.
  await s.sql(
    (sql) =>
      sql`update key_epochs set announced_at = announced_at + interval '2 hours' returning talkgroup_id`,
  );
  await first.accepts(third.id);
  t.strictSame(await third.counters(id), [1], 'nothing from before its acceptance');
  t.match(s.notices.at(-1), { kind: 'holders_changed', user: s.radio.userId });
});

t.test('of two first key holders registered at once one waits', async (t) => {
  const s = await service(t);
  const all = await Promise.all([holderOf(s.radio), holderOf(s.radio), holderOf(s.radio)]);
  t.equal(all.filter(({ accepted }) => accepted).length, 1);
});

t.test('another user’s key holder is 404, and an administrator accepts and deletes it', async (t) => {
  const s = await service(t);
  const bob = await s.account();
  await holderOf(s.radio);
  const second = await holderOf(s.radio);
  t.equal((await bob.delete(`/keys/holders/${second.id}`)).status, 404);
  const held = await holderOf(bob);
  await t.rejects(held.accepts(second.id), { message: 'key holder not found' });
  t.equal((await bob.get(`/keys/holders?user_id=${s.radio.userId}`)).status, 403);
  t.equal((await s.admin.post(`/keys/holders/${second.id}/accept`, {})).status, 200);
  const { body } = await s.admin.get(`/keys/holders?user_id=${s.radio.userId}`);
  t.match((body as { holders: object[] }).holders, [{ accepted: true }, { accepted: true }]);
  t.equal((await s.admin.delete(`/keys/holders/${second.id}`)).status, 200);
  t.equal((await s.admin.delete(`/keys/holders/${second.id}`)).status, 404);
});

t.test('the ninth key holder never replaces an accepted one', async (t) => {
  const s = await service(t);
  const first = await holderOf(s.radio);
  for (let n = 2; n <= 8; n++) await first.accepts((await holderOf(s.radio, String(n))).id);
  const full = { status: 409, body: { error: 'the account has 8 accepted key holders: delete one first' } };
  t.match(await holderOf(s.radio, 'ninth'), full);
  t.equal((await s.radio.delete(`/keys/holders/${first.id}`)).status, 200);
  t.match(await holderOf(s.radio, 'ninth'), { status: 200, accepted: false });
});

for (const [name, end] of [
  ['revocation of the account', (s: Service) => s.admin.post(`/users/${s.radio.userId}/revoke`)],
  [
    'end of the device',
    (s: Service) => s.admin.patch(`/devices/${s.radio.deviceId}/status`, { active: false }),
  ],
] as const)
  t.test(`a key holder does not outlive the ${name} that it races`, async (t) => {
    const s = await service(t);
    const row = name.includes('device')
      ? `select from devices where id = '${s.radio.deviceId}' for update`
      : `select from users where id = '${s.radio.userId}' for update`;
    const release = await s.begin(row);
    const registered = holderOf(s.radio);
    await waiting(s, 1);
    const ended = end(s); // it has begun before the other one is stored
    await waiting(s, 2);
    await release();
    const [holder, { status }] = await Promise.all([registered, ended]);
    t.equal(status, 200);
    t.equal(holder.status, 200);
    t.same(await s.sql((sql) => sql`select id from key_holders where user_id = ${s.radio.userId}`), []);
  });

t.test('a leave, a removal and a permission wait for a change of the talkgroup without a lock', async (t) => {
  const s = await service(t, withKeys);
  const [bob, cid] = [await s.account(), await s.account()];
  const id = await requiredWith(t, s, s.radio, bob, cid);
  const release = await s.begin(`select from talkgroups where id = '${id}' for no key update`);
  const changes = [
    s.radio.delete(`/talkgroups/${id}/leave`),
    s.admin.put(`/talkgroups/${id}/members/${bob.userId}/keys`, { allowed: false }),
    s.admin.delete(`/talkgroups/${id}/members/${cid.userId}`),
  ];
  await waiting(s, changes.length);
  const free = await s.sql(
    (sql) => sql`select from memberships where talkgroup_id = ${id} for update skip locked`,
  );
  t.equal(free.length, 3, 'two orders of the same locks are a deadlock');
  await release();
  for (const { status, body } of await Promise.all(changes)) t.equal(status, 200, JSON.stringify(body));
});

t.test('the ninth key holder replaces one that waits, and 10 a day are the limit', async (t) => {
  const s = await service(t);
  const first = await holderOf(s.radio);
  for (let n = 2; n <= 10; n++) t.equal((await holderOf(s.radio, String(n))).status, 200);
  const { body } = await s.radio.get('/keys/holders');
  const { holders } = body as { holders: { holder_id: string; name: string }[] };
  t.equal(holders.length, 8);
  t.ok(holders.some(({ holder_id }) => holder_id === first.id));
  t.notOk(holders.some(({ name }) => name === '2' || name === '3'));
  const eleventh = await holderOf(s.radio);
  t.equal(eleventh.status, 429);
});

t.test('joining gives no key in required until an administrator permits it', async (t) => {
  const s = await service(t, withKeys);
  const bob = await s.account();
  const id = await requiredWith(t, s, s.radio);
  const [mine, his] = [await holderOf(s.radio), await holderOf(bob)];
  t.strictSame(await mine.counters(id), [1], 'present at the PATCH');
  t.equal(await his.counters(id), null);
  await bob.post(`/talkgroups/${id}/join`);
  t.equal(await his.counters(id), null, 'join and fetch');
  await s.admin.post('/keys/rotate', { talkgroup_id: id });
  const permit = `/talkgroups/${id}/members/${bob.userId}/keys`;
  t.equal((await s.admin.put(permit, { allowed: true })).status, 200);
  t.strictSame(await his.counters(id), [2], 'none of the time before');
  const { body } = await s.admin.get(`/talkgroups/${id}/keys`);
  t.match(
    (body as { members: object[] }).members.find(
      (one) => (one as { user_id: string }).user_id === bob.userId,
    ),
    { may_have_keys: true, holders: 1 },
  );
  t.equal((await s.admin.put(permit, { allowed: false })).status, 200);
  t.equal(await counterOf(s, id), 3);
  t.equal(await his.counters(id), null);
  const stranger = `/talkgroups/${id}/members/${randomUUID()}/keys`;
  t.equal((await s.admin.put(stranger, { allowed: true })).status, 404);
});

t.test('a member that is present at the change to required gets the key that is still in use', async (t) => {
  const s = await service(t, withKeys);
  const holder = await holderOf(s.radio);
  const id = await requiredWith(t, s, s.radio);
  // Talkers use epoch 0 for the next 10 s, and those that encrypted before have its key.
  t.strictSame(await holder.counters(id), [1, 0]);
});

t.test('a member that is removed and joins again gets no key', async (t) => {
  const s = await service(t, withKeys);
  const id = await requiredWith(t, s, s.radio);
  const holder = await holderOf(s.radio);
  t.strictSame(await holder.counters(id), [1]);
  s.notices.length = 0;
  await s.admin.delete(`/talkgroups/${id}/members/${s.radio.userId}`);
  t.equal(await counterOf(s, id), 2);
  t.strictSame(s.notices.map(({ kind }) => kind).sort(), ['key_rotated', 'left']);
  await s.radio.post(`/talkgroups/${id}/join`);
  t.equal(await holder.counters(id), null);
  t.equal((await s.admin.patch(`/talkgroups/${id}`, { encryption: 'allowed' })).status, 200);
  t.strictSame(await holder.counters(id), [3], 'nothing of the time in required');
  await s.admin.patch(`/talkgroups/${id}`, { encryption: 'off' });
  t.equal(await holder.counters(id), null);
});

t.test('a member who leaves while a talkgroup becomes required makes its keys rotate', async (t) => {
  const s = await service(t, withKeys);
  const ways = {
    removed: (id: string, { userId }: AccountCaller) => s.admin.delete(`/talkgroups/${id}/members/${userId}`),
    left: (id: string, member: AccountCaller) => member.delete(`/talkgroups/${id}/leave`),
    forbidden: (id: string, { userId }: AccountCaller) =>
      s.admin.put(`/talkgroups/${id}/members/${userId}/keys`, { allowed: false }),
  };
  for (const [way, go] of Object.entries(ways)) {
    const id = await s.talkgroup();
    const member = await s.account();
    await member.post(`/talkgroups/${id}/join`);
    await s.admin.put(`/talkgroups/${id}/members/${member.userId}/keys`, { allowed: true });
    const commit = await s.begin(`update talkgroups set encryption = 'required' where id = '${id}'`);
    const goes = go(id, member);
    await comesTrue('it waits for the change', async () => {
      const waiting = await s.sql(
        (sql) => sql`
          select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      );
      return waiting.length > 0;
    });
    await commit();
    t.equal((await goes).status, 200, way);
    const [row] = await s.sql<{ rotation_counter: number; is_due: boolean }>(
      (sql) =>
        sql`select rotation_counter, rotate_due_at is not null as is_due from talkgroups where id = ${id}`,
    );
    t.strictSame(row, { rotation_counter: way === 'left' ? 0 : 1, is_due: way === 'left' }, way);
  }
});

t.test('a join that races the end of required gets no key of that time', async (t) => {
  const s = await service(t, withKeys);
  const bob = await s.account();
  const id = await requiredWith(t, s, s.radio);
  const holder = await holderOf(bob);
  await s.sql(
    (sql) => sql`
      create function take_time() returns trigger language plpgsql as
      $$ begin perform pg_sleep(0.5); return new; end $$`,
  );
  await s.sql(
    (sql) =>
      sql`create trigger take_time before insert on memberships for each row execute function take_time()`,
  );
  await s.admin.post('/keys/rotate', { talkgroup_id: id });
  const joins = bob.post(`/talkgroups/${id}/join`);
  await delay(150);
  t.equal((await s.admin.patch(`/talkgroups/${id}`, { encryption: 'allowed' })).status, 200);
  t.equal((await joins).status, 200);
  await s.sql((sql) => sql`drop function take_time cascade`);
  t.strictSame(await holder.counters(id), [3]);
});

t.test('a member that leaves makes the keys rotate within the hour, on one of two nodes', async (t) => {
  const s = await service(t, withKeys);
  const id = await requiredWith(t, s, s.radio);
  await s.radio.delete(`/talkgroups/${id}/leave`);
  t.equal(await counterOf(s, id), 1);
  const told: string[] = [];
  const due = () =>
    createDueRotations({
      database: s.database,
      tell: async ({ kind }) => void told.push(kind),
      log: { warn: (_, message) => t.fail(message) },
    });
  await due().look();
  t.equal(await counterOf(s, id), 1, 'not yet');
  await s.sql((sql) => sql`update talkgroups set rotate_due_at = now() where id = ${id} returning id`);
  await Promise.all([due().look(), due().look()]);
  t.equal(await counterOf(s, id), 2);
  t.strictSame(told, ['key_rotated']);
  // The clock of the database was two hours ahead when the member left, and is set back.
  await s.sql(
    (sql) =>
      sql`update talkgroups set rotate_due_at = now() + interval '3 hours' where id = ${id} returning id`,
  );
  await due().look();
  t.equal(await counterOf(s, id), 3);
});

t.test(
  `of ${FLEET_GROUPS} talkgroups of 1,000 a revocation voids the tokens at once, and rotates in parts`,
  async (t) => {
    const s = await service(t, withKeys);
    const dispatcher = s.radio;
    await s.sql(
      (sql) => sql`
      with people as (
        insert into users (username, password_hash) select 'member ' || n, '' from generate_series(1, 999) n
        returning id
      )
      insert into key_holders (user_id, public_key, name, accepted_at)
      select id, decode('04' || rpad(replace(id::text, '-', '') || n, 128, '0'), 'hex'), 'phone', now()
      from people cross join generate_series(10, 17) n`,
    );
    for (let from = 0; from < FLEET_GROUPS; from += 20)
      await s.sql(
        (sql) => sql`
        with groups as (
          insert into talkgroups (name, master_secret, encryption)
          select 'fleet ' || n, decode(repeat('00', 32), 'hex'), 'required'
          from generate_series(${from}::integer, ${Math.min(from + 20, FLEET_GROUPS) - 1}::integer) n
          returning id
        )
        insert into memberships (user_id, talkgroup_id, site, may_have_keys)
        select u.id, g.id, 'depot', true from groups g
        join users u on u.username like 'member %' or u.id = ${dispatcher.userId}`,
      );
    const groups = () =>
      s.sql<{ rotation_counter: number; is_due: boolean; ms: number }>(
        (sql) => sql`
        select rotation_counter, rotate_due_at is not null as is_due,
               extract(epoch from newest_use_at - clock_timestamp()) * 1000 as ms
        from talkgroups where name like 'fleet %'`,
      );
    t.equal((await s.admin.post(`/users/${dispatcher.userId}/revoke`)).status, 200);
    t.equal((await dispatcher.get('/me')).status, 401);
    const marked = await groups();
    t.ok(marked.every(({ rotation_counter, is_due }) => rotation_counter === 0 && is_due));

    const told = new Set<string>();
    const due = createDueRotations({
      database: s.database,
      tell: async ({ id }) => void told.add(id),
      log: { warn: (_, message) => t.fail(message) },
    });
    await due.look();
    t.equal(told.size, FLEET_GROUPS);
    for (const { rotation_counter, is_due, ms } of await groups()) {
      t.equal(rotation_counter, 1);
      t.notOk(is_due);
      t.ok(ms <= 2000 + 2 * 8 * 1000, `for 7,992 key holders ${ms} ms`);
    }
  },
);

t.test('revocation, a disabled device and a deleted key holder rotate, and delete key holders', async (t) => {
  const s = await service(t, withKeys);
  const bob = await s.account();
  const id = await requiredWith(t, s, s.radio, bob);
  const holder = await holderOf(s.radio);
  await holderOf(bob);
  t.equal((await s.radio.delete(`/keys/holders/${holder.id}`)).status, 200);
  t.equal(await counterOf(s, id), 2);
  t.equal((await holderOf(s.radio)).accepted, false, 'not the first one any more');
  const status = `/devices/${s.radio.deviceId}/status`;
  t.equal((await s.admin.patch(status, { active: false })).status, 200);
  await s.admin.patch(status, { active: false });
  t.equal(await counterOf(s, id), 3);
  t.equal((await s.admin.post(`/users/${bob.userId}/revoke`)).status, 200);
  t.equal(await counterOf(s, id), 4);
  t.strictSame(await s.sql((sql) => sql`select id from key_holders`), []);
  t.equal((await s.admin.post('/keys/rotate', { device_id: s.radio.deviceId })).status, 200);
  t.equal(await counterOf(s, id), 5);
});

t.test('a user that logs out everywhere loses the key holders, and the keys rotate', async (t) => {
  const s = await service(t, withKeys);
  const bob = await s.account();
  const id = await requiredWith(t, s, s.radio, bob);
  const [own, kept] = [await holderOf(s.radio), await holderOf(bob)];
  t.strictSame(await own.counters(id), [1]);
  const heard: string[] = [];
  const listener = await s.listen(({ kind }) => heard.push(kind));
  s.notices.length = 0;
  t.equal((await s.radio.post('/auth/revoke')).status, 200);
  t.strictSame(s.notices.map(({ kind }) => kind).sort(), ['key_rotated', 'user_revoked']);
  await until(() => heard.length === 2);
  t.strictSame(heard.sort(), ['key_rotated', 'user_revoked'], 'other nodes are told');
  await listener.close();
  t.equal((await own.fetches(id)).status, 401);
  t.equal(await counterOf(s, id), 2);
  t.match(await s.sql((sql) => sql`select id from key_holders`), [{ id: kept.id }]);
  t.strictSame(await kept.counters(id), [2, 1]);
  const again = s.withToken(
    s.sign({
      ...{ sub: s.radio.userId, username: s.radio.username },
      iat: Math.floor(Date.now() / 1000) + 2,
    }),
  );
  t.equal((await again.get(`/keys/epochs?talkgroup_id=${id}&holder_id=${own.id}`)).status, 404);
  const public_key = createECDH('prime256v1').generateKeys('base64url' as never) as unknown as string;
  const next = await again.post('/keys/holders', { password: PASSWORD, public_key, name: 'thief' });
  t.match(next, { status: 200, body: { accepted: false } }, 'the password alone gives no keys');
});

t.test('each rotation stores when its epoch is used, never before the one before', async (t) => {
  const s = await service(t);
  const id = await s.talkgroup();
  for (const use_in_ms of [60_000, 0, undefined]) {
    const { body } = await s.admin.post('/keys/rotate', { talkgroup_id: id, use_in_ms });
    t.strictSame(Object.keys(body as object).sort(), ['rotation_counter', 'talkgroup_id']);
  }
  const rows = await s.sql<{ ms: number }>(
    (sql) => sql`
      select (extract(epoch from use_at - announced_at) * 1000)::float8 as ms from key_epochs
      where talkgroup_id = ${id} order by rotation_counter`,
  );
  const [first = 0, second = 0, third = 0] = rows.map(({ ms }) => ms);
  t.ok(first > 59_000 && first <= 60_000);
  t.ok(second > 50_000 && third > 50_000, 'use_at of the one before');
  const two = await s.talkgroup();
  await s.admin.post('/keys/rotate', { talkgroup_id: two, use_in_ms: 0 });
  const [row] = await s.sql<{ ms: number }>(
    (sql) => sql`
      select (extract(epoch from use_at - announced_at) * 1000)::float8 as ms from key_epochs
      where talkgroup_id = ${two}`,
  );
  t.ok((row?.ms ?? 0) > 1900, 'never 0');
  for (const bad of [{}, { talkgroup_id: id, device_id: id }, { talkgroup_id: id, use_in_ms: -1 }])
    t.equal((await s.admin.post('/keys/rotate', bad)).status, 400);
});

t.test('concurrent rotations lose none, and 64 epochs are kept and read in pages of 4', async (t) => {
  const s = await service(t);
  const id = await s.talkgroup();
  await s.radio.post(`/talkgroups/${id}/join`);
  const holder = await holderOf(s.radio);
  for (let round = 0; round < 7; round++)
    await Promise.all(Array.from({ length: 10 }, () => s.admin.post('/keys/rotate', { talkgroup_id: id })));
  t.equal(await counterOf(s, id), 70);
  const rows = await s.sql<{ rotation_counter: number; is_late: boolean }>(
    (sql) => sql`
      select rotation_counter, use_at < lag(use_at) over (order by rotation_counter) as is_late
      from key_epochs where talkgroup_id = ${id} order by rotation_counter`,
  );
  t.equal(rows.length, 64);
  t.notOk(rows.some(({ is_late }) => is_late));
  const { body } = await holder.fetches(id);
  t.match(body, { rotation_counter: 70, next: 66 });
  t.equal((body as Epochs).epochs.length, 4);
  const one = (await holder.fetches(id, '&from=70&limit=1')).body as Epochs;
  t.strictSame([one.epochs.map(({ rotation_counter }) => rotation_counter), one.next], [[70], 69]);
  const last = (await holder.fetches(id, '&from=8')).body as Epochs;
  t.strictSame(
    last.epochs.map(({ rotation_counter }) => rotation_counter),
    [8, 7],
  );
  t.equal(last.next, null);
});

t.test('a key holder gets its keys also while its use cannot be noted', async (t) => {
  const s = await service(t);
  const id = await s.talkgroup();
  await s.radio.post(`/talkgroups/${id}/join`);
  const holder = await holderOf(s.radio);
  await s.sql(
    (sql) => sql`update key_holders set used_at = now() - interval '2 hours' where id = ${holder.id}`,
  );
  await s.sql(
    (sql) => sql`
      create function refuse_use() returns trigger language plpgsql as
      $$ begin raise exception 'a standby' using errcode = 'read_only_sql_transaction'; end $$`,
  );
  await s.sql(
    (sql) =>
      sql`create trigger refuse_use before update on key_holders for each row execute function refuse_use()`,
  );
  const { status } = await holder.fetches(id);
  await s.sql((sql) => sql`drop function refuse_use cascade`);
  t.equal(status, 200);
});

t.test('a user that fetches more than 10 keys a second gets 429', async (t) => {
  const s = await service(t);
  const id = await s.talkgroup();
  await s.radio.post(`/talkgroups/${id}/join`);
  const holder = await holderOf(s.radio);
  for (let n = 0; n < 3; n++) await s.admin.post('/keys/rotate', { talkgroup_id: id });
  const answers = await Promise.all(Array.from({ length: 20 }, () => holder.fetches(id)));
  const rejected = answers.filter(({ status }) => status === 429);
  t.ok(rejected.length > 0 && rejected.every(({ headers }) => Number(headers.get('retry-after')) >= 1));
  t.strictSame(
    answers.filter(({ status }) => status !== 200 && status !== 429).map(({ body }) => body),
    [],
  );
});

t.test('encryption is required only with encrypted secrets and when every node enforces it', async (t) => {
  const open = await service(t);
  const id = await open.talkgroup();
  const required = { encryption: 'required' };
  t.equal((await open.admin.patch(`/talkgroups/${id}`, required)).status, 409);
  t.equal((await open.admin.patch(`/talkgroups/${id}`, { encryption: 'secret' })).status, 400);
  const s = await service(t, withKeys);
  const [old] = await s.sql<{ id: string }>(
    (sql) =>
      sql`insert into talkgroups (name, master_secret) values ('old', ${randomBytes(32)}) returning id`,
  );
  t.match(await s.admin.patch(`/talkgroups/${old?.id}`, required), { status: 409 });
  t.equal((await s.admin.patch(`/talkgroups/${randomUUID()}`, required)).status, 404);
  const mixed = await service(t, { ...withKeys, isEnforced: async () => false });
  t.equal((await mixed.admin.patch(`/talkgroups/${await mixed.talkgroup()}`, required)).status, 409);
  const good = await s.talkgroup();
  const { body } = await s.admin.patch(`/talkgroups/${good}`, { ...required, clear_emergency: false });
  t.strictSame(Object.keys((body as { talkgroup: object }).talkgroup).sort(), seedOnly);
  const { body: list } = await s.admin.get('/admin/talkgroups');
  t.match(
    (list as { talkgroups: { id: string }[] }).talkgroups.find((one) => one.id === good),
    { encryption: 'required', clear_emergency: false, rotation_counter: 1 },
  );
});

t.test('a fetch that races a removal never gets the epoch of the removal', async (t) => {
  const s = await service(t, withKeys);
  for (let left = FETCHES; left > 0; left -= 10) {
    const member = await s.account();
    const id = await requiredWith(t, s, member);
    const [row] = await s.sql<{ id: string }>(
      (sql) => sql`
        insert into key_holders (user_id, public_key, name, accepted_at)
        values (${member.userId}, ${createECDH('prime256v1').generateKeys()}, 'x', now()) returning id`,
    );
    const path = `/keys/epochs?talkgroup_id=${id}&holder_id=${row?.id}`;
    const racing = Array.from({ length: 9 }, () => member.get(path));
    const removal = s.admin.delete(`/talkgroups/${id}/members/${member.userId}`);
    const answers = await Promise.all(racing);
    t.equal((await removal).status, 200);
    const after = await member.get(path);
    const newest = answers.map(({ status, body }) => (status === 200 ? (body as Epochs).epochs : []));
    if (newest.flat().some(({ rotation_counter }) => rotation_counter > 1))
      t.fail('the epoch of the removal');
    if (after.status !== 404 && after.status !== 429) t.fail(`after the removal: ${after.status}`);
  }
});

t.test('a password queue that stands still keeps no keys from a key holder', async (t) => {
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  let isStill = false;
  const passwords = createPasswords({
    bcrypt: {
      hash: async () => PASSWORD_HASH,
      async verify() {
        if (isStill) await released;
        return true;
      },
    },
    waitingMax: 4,
  });
  const s = await service(t, { passwords });
  const id = await s.talkgroup();
  await s.radio.post(`/talkgroups/${id}/join`);
  const holder = await holderOf(s.radio);
  isStill = true;
  const { username } = s.radio;
  const logins = Array.from({ length: 8 }, () => s.nobody.post('/auth/login', { username, password: 'x' }));
  // One address holds at most half of the places: the queue is full for it.
  await until(() => passwords.figures().jobs >= 2);
  t.strictSame(await holder.counters(id), [0]);
  t.ok(passwords.figures().jobs >= 2, 'still');
  release();
  await Promise.all(logins);
});
