// Runs the commands about keys beside a service: export, renew, and the revocation of a user who holds keys.
import { randomBytes, randomUUID } from 'node:crypto';
import * as hpke from 'hpke';
import t from 'tap';
import { operator } from '../../src/commands/running.js';
import { openDatabase } from '../../src/db/client.js';
import { deadlineIn } from '../../src/db/deadline.js';
import type { TalkgroupId } from '../../src/ids.js';
import { rotate } from '../../src/keys/rotations/store.js';
import { renewSecretOf } from '../../src/keys/secrets.js';
import { createKeyring, readKeys } from '../../src/keys/wrapping.js';
import { createLog } from '../../src/log.js';
import {
  ENVELOPE_INFO,
  envelopeAad,
  epochSecret,
  fromBase64url,
  SECRET_BYTES,
} from '../../src/protocol/encryption.js';
import { nodePrimitives } from '../../src/protocol/node-primitives.js';
import { HANGS_MS } from '../helpers/eventually.js';
import {
  type Json,
  type Person,
  runCommand,
  SECRET,
  type Service,
  service,
} from '../helpers/service/service.js';

t.setTimeout(300_000);

const suite = new hpke.CipherSuite(
  hpke.KEM_DHKEM_P256_HKDF_SHA256,
  hpke.KDF_HKDF_SHA256,
  hpke.AEAD_AES_256_GCM,
);
const SECRETS_KEY = randomBytes(32).toString('base64');
const ring = createKeyring(readKeys(SECRETS_KEY) ?? []);

interface Epochs {
  readonly talkgroup_id: string;
  readonly rotation_counter: number;
  readonly epochs: readonly {
    readonly rotation_counter: number;
    readonly enc: string;
    readonly sealed: string;
  }[];
  readonly next: number | null;
}

/** One command with the settings of the service. */
const run = (s: Service, args: readonly string[], more: Record<string, string> = { SECRETS_KEY }) =>
  runCommand(args, { DATABASE_URL: s.url, JWT_SECRET: SECRET, ...more });

/** A key holder of the user, accepted or waiting. */
async function holderOf(s: Service, user: Person, isAccepted = true) {
  const pair = await suite.GenerateKeyPair();
  const publicKey = Buffer.from(await suite.SerializePublicKey(pair.publicKey));
  const [row] = await s.sql<{ id: string }[]>`
    insert into key_holders (user_id, public_key, name, accepted_at)
    values (${user.id}, ${publicKey}, 'x', case when ${isAccepted} then now() end) returning id`;
  return { id: row?.id ?? '', pair };
}

type Holder = Awaited<ReturnType<typeof holderOf>>;

/** A talkgroup in `required` with these members, at rotation counter 1. */
async function required(s: Service, ...members: Person[]) {
  const talkgroup = await s.talkgroup(`t${randomUUID()}`, ...members);
  await s.admin.patch(`/talkgroups/${talkgroup.id}`, { encryption: 'required' });
  return talkgroup.id as TalkgroupId;
}

const counterOf = async (s: Service, id: string) =>
  (await s.admin.get(`/keys/rotation?talkgroup_id=${id}`)).rotation_counter;

async function masterOf(s: Service, id: TalkgroupId): Promise<Buffer> {
  const [row] = await s.sql<{ master_secret: Buffer; wrapped_by: string | null }[]>`
    select master_secret, wrapped_by from talkgroups where id = ${id}`;
  const master = row && ring.unwrap(id, { bytes: row.master_secret, wrappedBy: row.wrapped_by });
  if (!Buffer.isBuffer(master)) throw new Error(`no secret: ${master}`);
  return master;
}

/** The secret of each epoch in hexadecimal, opened by the key holder. */
const opened = ({ talkgroup_id: talkgroupId, epochs }: Epochs, { id: holderId, pair }: Holder) =>
  Promise.all(
    epochs.map(async ({ rotation_counter: counter, enc, sealed }) => {
      const aad = envelopeAad({ talkgroupId, counter, holderId });
      const [key, text] = [fromBase64url(enc), fromBase64url(sealed)];
      if (key === null || text === null) throw new Error('not base64url');
      return Buffer.from(await suite.Open(pair, key, text, { info: ENVELOPE_INFO, aad })).toString('hex');
    }),
  );

const secretOf = (master: Buffer, talkgroupId: string, counter: number) =>
  Buffer.from(epochSecret(nodePrimitives, { master, talkgroupId, counter })).toString('hex');

t.test(
  'secrets export prints announced epochs for one key holder, and never the master secret',
  async (t) => {
    const s = await service(t, { SECRETS_KEY });
    const [ann, bob] = [await s.person('ann'), await s.person('bob')];
    const id = await required(s, ann);
    const holder = await holderOf(s, ann);
    for (let n = 0; n < 6; n++) await s.admin.post('/keys/rotate', { talkgroup_id: id });
    const command = (holderId: string, ...more: string[]) => [
      ...['secrets', 'export', '--talkgroup', id, '--holder', holderId],
      ...more,
    ];

    const { code, output } = await run(s, command(holder.id));
    t.equal(code, 0, output);
    const all = JSON.parse(output) as Epochs;
    const counters = all.epochs.map(({ rotation_counter }) => rotation_counter);
    t.strictSame(
      [all.talkgroup_id, all.rotation_counter, counters, all.next],
      [id, 7, [7, 6, 5, 4, 3, 2, 1], null],
      'none of the future, and none from before the member',
    );
    const master = await masterOf(s, id);
    t.strictSame(
      await opened(all, holder),
      counters.map((counter) => secretOf(master, id, counter)),
    );
    for (const secret of [
      master.toString('hex'),
      ...counters.map((counter) => secretOf(master, id, counter)),
    ])
      for (const encoding of ['hex', 'base64', 'base64url'] as const)
        t.notOk(output.includes(Buffer.from(secret, 'hex').toString(encoding)));
    await t.rejects(opened(all, await holderOf(s, bob)), 'another key holder opens nothing');

    const path = `/keys/epochs?talkgroup_id=${id}&holder_id=${holder.id}`;
    const fetched = await ann.get(path);
    const four = JSON.parse((await run(s, command(holder.id, '--epochs', '4'))).output) as Epochs;
    t.strictSame(Object.keys(four), Object.keys(fetched), 'the shape of GET /keys/epochs');
    t.strictSame([four.epochs.length, four.next], [4, fetched.next]);

    const acts = await s.sql`select talkgroup_id, details from acts where act = 'keys_exported'`;
    t.match(
      [...acts],
      [{ talkgroup_id: id, details: { holder_id: holder.id, epochs: 7 } }, { details: { epochs: 4 } }],
    );

    const none = /^key holder \S+ gets no keys of talkgroup /;
    const waiting = await holderOf(s, ann, false);
    for (const other of [waiting.id, randomUUID()])
      t.match(await run(s, command(other)), { code: 1, output: none });
    await bob.post(`/talkgroups/${id}/join`);
    t.match(await run(s, command((await holderOf(s, bob)).id)), { code: 1, output: none }, 'join alone');
    for (const epochs of ['0', '65'])
      t.match(await run(s, command(holder.id, `--epochs=${epochs}`)), {
        code: 1,
        output: /^--epochs must be/,
      });
    t.match(await run(s, command('x')), { code: 1, output: /^--holder must be an id, got "x"/ });
    t.match(await run(s, ['secrets', 'export', '--talkgroup', id]), { code: 1, output: /--holder/ });
    t.match(await run(s, command(holder.id), {}), { code: 1, output: /set SECRETS_KEY as for the service/ });
  },
);

t.test(
  'secrets renew rotates at once, and no earlier epoch follows from the new master secret',
  async (t) => {
    const s = await service(t, { SECRETS_KEY });
    const ann = await s.person('ann');
    const id = await required(s, ann);
    const holder = await holderOf(s, ann);
    const radio = await ann.radio();
    const before = await masterOf(s, id);
    const renew = (more?: Record<string, string>, talkgroup: string = id) =>
      run(s, ['secrets', 'renew', '--talkgroup', talkgroup], more);

    t.match(await renew(), { code: 0, output: `${id}: renewed, rotation counter 2\n` });
    t.match(await radio.hears('KEY_ROTATED'), { talkgroup_id: id, rotation_counter: 2 });
    const after = await masterOf(s, id);
    t.equal(after.byteLength, SECRET_BYTES);
    t.notOk(after.equals(before));
    const rows = await s.sql`
    select rotation_counter, use_at > announced_at + interval '9 seconds' as overlaps
    from key_epochs where talkgroup_id = ${id} order by rotation_counter desc limit 1`;
    t.match(rows[0], { rotation_counter: 2, overlaps: true });
    const fetched = (await ann.get(`/keys/epochs?talkgroup_id=${id}&holder_id=${holder.id}`)) as Json &
      Epochs;
    t.strictSame([fetched.epochs.map(({ rotation_counter }) => rotation_counter), fetched.next], [[2], null]);
    t.strictSame(await opened(fetched, holder), [secretOf(after, id, 2)]);

    t.match(await renew({}), { code: 1, output: /SECRETS_KEY/ });
    t.match(await renew({ SECRETS_KEY: randomBytes(32).toString('base64') }), {
      code: 1,
      output: /^SECRETS_KEY must include every key/,
    });
    t.match(await renew(undefined, randomUUID()), { code: 1, output: /^no such talkgroup: / });
    const acts = await s.sql`select talkgroup_id, details from acts where act = 'secret_renewed'`;
    t.match([...acts], [{ talkgroup_id: id, details: { rotation_counter: 2 } }]);
    t.ok((await masterOf(s, id)).equals(after), 'unchanged');
    t.equal(await counterOf(s, id), 2);

    const database = openDatabase({ url: s.url, connections: 2, log: createLog('silent') });
    t.teardown(() => database.close());
    await database.up(deadlineIn(HANGS_MS));
    const renewal = () =>
      renewSecretOf(database, deadlineIn(HANGS_MS), { talkgroup: id, keyring: ring, by: operator() });
    const rotation = () =>
      rotate(database, deadlineIn(HANGS_MS), { talkgroup: id, useInMs: 0, by: operator() });
    await Promise.all(Array.from({ length: 12 }, (_, n) => (n % 6 === 2 ? renewal() : rotation())));
    t.equal(await counterOf(s, id), 14, 'none is lost');
    const [row] =
      await s.sql`select count(*)::int, max(rotation_counter) from key_epochs where talkgroup_id = ${id}`;
    t.match(row, { count: 14, max: 14 });
    const [{ since } = { since: 0 }] =
      await s.sql`select master_since as since from talkgroups where id = ${id}`;
    const last = (await ann.get(`/keys/epochs?talkgroup_id=${id}&holder_id=${holder.id}`)) as Json & Epochs;
    const newest = await masterOf(s, id);
    t.strictSame(
      await opened(last, holder),
      last.epochs.map(({ rotation_counter }) => secretOf(newest, id, rotation_counter)),
    );
    t.ok(last.epochs.every(({ rotation_counter }) => rotation_counter >= since));

    const restored = await run(s, ['secrets', 'renew', '--talkgroup', id, '--restored']);
    t.match(restored, { code: 0, output: `${id}: renewed, rotation counter 1000014\n` });
    t.match(await radio.hears('KEY_ROTATED', ({ rotation_counter }) => rotation_counter === 1_000_014), {
      rotation_counter: 1_000_014,
    });
    const anew = (await ann.get(`/keys/epochs?talkgroup_id=${id}&holder_id=${holder.id}`)) as Json & Epochs;
    t.strictSame(await opened(anew, holder), [secretOf(await masterOf(s, id), id, 1_000_014)]);
  },
);

t.test(
  'secrets renew encrypts an unencrypted secret, and works without SECRETS_KEY where none is',
  async (t) => {
    const s = await service(t);
    const { id } = await s.talkgroup('open');
    t.match(await run(s, ['secrets', 'renew', '--talkgroup', id], {}), { code: 0 });
    t.match(await run(s, ['secrets', 'renew', '--talkgroup', id]), { code: 0 });
    const [row] = await s.sql`select wrapped_by, rotation_counter from talkgroups where id = ${id}`;
    t.match(row, { wrapped_by: ring.wrapsWith, rotation_counter: 2 });
  },
);

t.test('revoke deletes the key holders of the user and rotates, and live members are told', async (t) => {
  const s = await service(t, { SECRETS_KEY });
  const [ann, bob] = [await s.person('ann'), await s.person('bob')];
  const [id, other] = [await required(s, ann, bob), await required(s, bob)];
  const open = await s.talkgroup('open', ann, bob);
  await holderOf(s, ann);
  const kept = await holderOf(s, bob);
  const radio = await bob.radio();

  t.match(await s.revoke('ann'), { code: 0, output: 'ann: revoked\n' });
  t.match(await radio.hears('KEY_ROTATED'), { talkgroup_id: id, rotation_counter: 2 });
  t.strictSame(
    (await s.sql`select id from key_holders`).map((row) => row.id),
    [kept.id],
  );
  t.equal(await counterOf(s, other), 1, 'not a member');
  t.equal(await counterOf(s, open.id), 0, 'not required');

  t.match(await s.revoke('ann'), { code: 0 });
  t.match(await radio.hears('KEY_ROTATED'), { rotation_counter: 3 }, 'always, also without a key holder');
});
