// Encrypted recordings: who gets the key of one, what it opens, and what destroys it.
import { randomBytes, randomUUID } from 'node:crypto';
import t from 'tap';
import { createHolderKey } from '../../src/client/encryption/holder.js';
import { recordingKeysWith } from '../../src/client/encryption/recorded.js';
import { beginRun } from '../../src/client/encryption/sealing.js';
import { createRest } from '../../src/client/rest.js';
import { openDatabase } from '../../src/db/client.js';
import { deadlineIn } from '../../src/db/deadline.js';
import type { HolderId, TalkgroupId } from '../../src/ids.js';
import { createKeyring, readKeys } from '../../src/keys/wrapping.js';
import { epochSecret } from '../../src/protocol/encryption.js';
import { decodeFrame, END, type Frame } from '../../src/protocol/frame.js';
import { nodePrimitives } from '../../src/protocol/node-primitives.js';
import type { RecordingTail } from '../../src/protocol/recording-batch.js';
import { recordingIdOf } from '../../src/protocol/recording-id.js';
import { storeRecordings } from '../../src/recordings/intake/store.js';
import { recordedIn } from '../helpers/service/recorded.js';
import { type Person, runCommand, SECRET, service } from '../helpers/service/service.js';

t.setTimeout(300_000);

const SECRETS_KEY = randomBytes(32).toString('base64');
const ring = createKeyring(readKeys(SECRETS_KEY) ?? []);
const s = await service(t, { SECRETS_KEY, REQUESTS_PER_USER: '1000' }, undefined, { isOneNode: true });
const { framesOf } = recordedIn(s);
const database = openDatabase({ url: s.url, connections: 2, log: { info() {}, warn() {} } });
t.teardown(() => database.close());

const SENTENCE = ['the key to the north gate ', 'is below the blue barrel ', 'behind the old pump house'];
let session = 3_000_000_000;

interface Group {
  readonly id: string;
  readonly number: number;
}

async function masterOf(id: string): Promise<Uint8Array> {
  const [row] = await s.sql`select master_secret, wrapped_by from talkgroups where id = ${id}`;
  const master = ring.unwrap(id as TalkgroupId, { bytes: row?.master_secret, wrappedBy: row?.wrapped_by });
  if (typeof master === 'string') throw new Error(master);
  return master;
}

/** Stores what the talker says as a relay does, from now on. `counter` null: in the clear. */
async function said(group: Group, talker: Person, counter: number | null, over: Partial<RecordingTail> = {}) {
  const startedAt = Date.now();
  const id = recordingIdOf({ startedAt, session: ++session, burst: 1, piece: 0 });
  const secret = epochSecret(nodePrimitives, {
    ...{ master: await masterOf(group.id), talkgroupId: group.id, counter: counter ?? 0 },
  });
  const run = beginRun(nodePrimitives, {
    ...{ secret, talkgroupId: group.id, userId: talker.id, counter: counter ?? 0 },
  });
  const frames = SENTENCE.map((text, sequence) => {
    const flags = sequence === SENTENCE.length - 1 ? END : 0;
    const payload = Buffer.from(text);
    if (counter !== null) return Buffer.from(run.seal({ flags, talkgroup: group.number, sequence, payload }));
    return Buffer.concat([Buffer.of(flags, 0, 0, sequence), Buffer.alloc(12), payload]);
  });
  const bytes = Buffer.concat(
    frames.flatMap((frame) => [frame.subarray(0, 4), Buffer.of(0, frame.length - 16), frame.subarray(16)]),
  );
  const row: RecordingTail = {
    ...{ id, talkgroup_id: group.id as never, talkgroup_number: group.number, talkgroup_name: 'given' },
    ...{ user_id: talker.id, username: talker.name, started_at: startedAt, days: 1 },
    ...{ epoch: counter ?? 0, was_required: false, priority: 1, emergency: false, codec: null },
    ...{ crypto: counter === null ? null : run.crypto, first_frame: 1 },
    ...{ frames: SENTENCE.length, duration_ms: 60, code: 'released', lost: {} },
    ...over,
  };
  const parts = [{ id, from: 1, frames: SENTENCE.length, bytes: new Uint8Array(bytes) }];
  await storeRecordings(database, deadlineIn(10_000), { rows: [row], parts });
  return id;
}

/** A key holder of the user. The start of a recording is in whole ms, so no acceptance is in the same one. */
async function holderOf(person: Person, accepted: 'before' | 'later' | 'never' = 'before') {
  const ago = { before: '1 second', later: '-1 second', never: null }[accepted];
  const key = await createHolderKey();
  const [row] = await s.sql<{ id: HolderId }[]>`
    insert into key_holders (user_id, public_key, name, accepted_at)
    values (${person.id}, ${Buffer.from(key.publicKey)}, 'x', now() - ${ago}::interval) returning id`;
  return { ...key, holderId: row?.id ?? '' };
}

type Holder = Awaited<ReturnType<typeof holderOf>>;

/** Status and code, as REST answers. */
async function keyOf({ token }: Pick<Person, 'token'>, id: string, holderId: string, method = 'GET') {
  const answer = await fetch(`${s.rest}/recordings/${id}/key?holder_id=${holderId}`, {
    ...{ method, headers: { authorization: `Bearer ${token}` } },
  });
  await answer.arrayBuffer();
  return answer.status === 200 ? 200 : `${answer.status} ${answer.headers.get('error-code')}`;
}

/** Each frame as text, or why it is closed. */
async function heard(person: Person, id: string, holder: Holder): Promise<string[]> {
  const { recording } = await person.get(`/recordings/${id}`);
  const rest = createRest({ url: s.rest, token: person.token });
  const open = await recordingKeysWith(nodePrimitives, { rest, holder }).opener(recording as never);
  const { frames } = await framesOf(person, id);
  return frames.map((frame) => {
    const opened = open(decodeFrame(frame, 1024) as Frame);
    return typeof opened === 'string' ? `(${opened})` : Buffer.from(opened).toString();
  });
}

const keyReads = (id: string) =>
  s.sql<{ reader_name: string }[]>`
    select reader_name from recording_reads where recording_id = ${id} and of_key order by id`.then((rows) =>
    rows.map(({ reader_name }) => reader_name),
  );

const NO_RECORDING = '404 recording_not_found';
const NO_KEY = '404 recording_key_not_found';

const people = (names: readonly string[]) =>
  Promise.all(names.map((name) => s.person(`${name}-${randomUUID()}`))) as Promise<
    [Person, Person, Person, Person, Person]
  >;

t.test('the key of a recording opens it and no other one, for those who could hear it', async (t) => {
  const [ann, bob, cid, eve, zoe] = await people(['ann', 'bob', 'cid', 'eve', 'zoe']);
  const chief = await s.person(`chief-${randomUUID()}`, { role: 'admin' });
  const group = await s.talkgroup('open', ann, bob, eve);
  const other = await s.talkgroup('other', zoe);
  const ofBob = await holderOf(bob);
  const [ofEve, ofZoe, waiting] = [await holderOf(eve), await holderOf(zoe), await holderOf(bob, 'never')];
  const [id, elsewhere] = [await said(group, ann, 0), await said(other, zoe, 0)];
  const second = await said(group, ann, 0);
  await cid.post(`/talkgroups/${group.id}/join`);
  const [ofCid, later, ofChief] = [
    await holderOf(cid),
    await holderOf(bob, 'later'),
    await holderOf(chief, 'later'),
  ];

  t.strictSame(await heard(bob, id, ofBob), SENTENCE);
  t.strictSame(await heard(chief, id, ofChief), SENTENCE, 'accepted later, and no member');
  t.strictSame(
    await heard(bob, id, later),
    SENTENCE.map(() => '(no_key)'),
  );
  t.strictSame(await keyReads(id), [bob.name, chief.name]);
  const { reads } = await chief.get(`/recordings/reads?recording_id=${id}`);
  t.strictSame(
    (reads as { of_key: boolean }[]).map(({ of_key }) => of_key),
    [false, true, false, true],
    'frames and keys, the newest first, and of frames one row of each reader',
  );

  for (const [why, person, recording, holder, answer] of [
    ['accepted later', bob, id, later.holderId, NO_KEY],
    ['waits', bob, id, waiting.holderId, NO_KEY],
    ['of another member', bob, id, ofEve.holderId, NO_KEY],
    ['of a member, asked for by an administrator', chief, id, ofBob.holderId, NO_KEY],
    ['unknown', bob, id, randomUUID(), NO_KEY],
    ['malformed', bob, id, 'x', NO_KEY],
    ['joined later', cid, id, ofCid.holderId, NO_RECORDING],
    ['no member', zoe, id, ofZoe.holderId, NO_RECORDING],
    ['of another talkgroup', bob, elsewhere, ofBob.holderId, NO_RECORDING],
    [
      'unknown recording',
      bob,
      recordingIdOf({ startedAt: 1, session: 1, burst: 1, piece: 0 }),
      ofBob.holderId,
      NO_RECORDING,
    ],
    ['malformed recording', bob, 'x', ofBob.holderId, NO_RECORDING],
  ] as const)
    t.equal(await keyOf(person, recording, holder), answer, why);
  t.match(await keyOf(bob, id, ofBob.holderId, 'HEAD'), /^40[45]/);

  // The key of one recording, and the frames of another one.
  const rest = createRest({ url: s.rest, token: bob.token });
  const { recording } = await bob.get(`/recordings/${id}`);
  const open = await recordingKeysWith(nodePrimitives, { rest, holder: ofBob }).opener(recording as never);
  const { frames } = await framesOf(bob, second);
  t.strictSame(
    frames.map((frame) => open(decodeFrame(frame, 1024) as Frame)),
    SENTENCE.map(() => 'changed'),
  );

  await bob.delete(`/talkgroups/${group.id}/leave`);
  t.equal(await keyOf(bob, id, ofBob.holderId), NO_RECORDING, 'left');
  await bob.post(`/talkgroups/${group.id}/join`);
  t.equal(await keyOf(bob, id, ofBob.holderId), NO_RECORDING, 'left, and joined again');
  t.equal(await keyOf(chief, id, ofChief.holderId), 200);
  await s.sql`update users set role = 'user' where id = ${chief.id}`;
  t.equal(await keyOf(chief, id, ofChief.holderId), NO_RECORDING, 'the token still says admin');
});

t.test('where encryption was required, only the epochs of the member open', async (t) => {
  const [ann, bob, cid, eve] = await people(['ann', 'bob', 'cid', 'eve']);
  const group = await s.talkgroup('required', ann, bob, cid, eve);
  const holders = [await holderOf(bob), await holderOf(cid), await holderOf(eve)] as const;
  const [ofBob, ofCid, ofEve] = holders;
  await s.admin.patch(`/talkgroups/${group.id}`, { encryption: 'required' });
  const allow = (person: Person, allowed: boolean) =>
    s.admin.call('PUT', `/talkgroups/${group.id}/members/${person.id}/keys`, { allowed });
  await allow(cid, false);
  await allow(eve, false);
  const [{ counter } = { counter: 0 }] =
    await s.sql`select rotation_counter::int as counter from talkgroups where id = ${group.id}`;
  await allow(eve, true);
  const id = await said(group, ann, counter, { was_required: true });
  // The talker still used the epoch before, which she has no key of.
  const before = await said(group, ann, counter - 1, { was_required: true, epoch: counter });
  t.strictSame(await heard(bob, id, ofBob), SENTENCE);
  t.strictSame(await heard(eve, id, ofEve), SENTENCE);
  t.equal(await keyOf(eve, before, ofEve.holderId), NO_KEY);
  t.equal(await keyOf(cid, id, ofCid.holderId), NO_RECORDING, 'without permission');
  await s.admin.patch(`/talkgroups/${group.id}`, { encryption: 'allowed' });
  t.equal(await keyOf(cid, id, ofCid.holderId), NO_RECORDING, 'without permission then');
  t.strictSame(await heard(bob, id, ofBob), SENTENCE, 'in another mode');
});

t.test('an old recording opens after any number of rotations', async (t) => {
  const [ann, bob] = await people(['ann', 'bob']);
  const group = await s.talkgroup('rotated', ann, bob);
  const ofBob = await holderOf(bob);
  const id = await said(group, ann, 0);
  for (let n = 0; n < 2; n++) await s.admin.post('/keys/rotate', { talkgroup_id: group.id });
  await s.sql`update talkgroups set rotation_counter = 500 where id = ${group.id}`;
  const { epochs } = await bob.get(
    `/keys/epochs?talkgroup_id=${group.id}&holder_id=${ofBob.holderId}&from=0`,
  );
  t.strictSame(epochs, [], 'the epoch is too old for live speech');
  t.strictSame(await heard(bob, id, ofBob), SENTENCE);
});

t.test('clear, erased and expired recordings have no key', async (t) => {
  const [ann, bob] = await people(['ann', 'bob']);
  const group = await s.talkgroup('none', ann, bob);
  const { holderId } = await holderOf(bob);
  const [clear, erased, expired] = [
    await said(group, ann, null),
    await said(group, ann, 0),
    await said(group, ann, 0),
  ];
  t.equal(await keyOf(bob, clear, holderId), '409 not_encrypted');
  await s.admin.delete(`/recordings/${erased}`);
  t.equal(await keyOf(bob, erased, holderId), '410 recording_erased');
  await s.sql`update recordings set expires_at = now() where id = ${expired}`;
  t.equal(await keyOf(bob, expired, holderId), NO_RECORDING);
  for (const id of [clear, erased, expired]) t.strictSame(await keyReads(id), []);
  t.equal(
    (await s.admin.call('DELETE', `/talkgroups/${group.id}`)).status,
    200,
    'none of them needs the secret',
  );
});

t.test('a user gets ten keys at once, and then 429', async (t) => {
  const [ann, bob] = await people(['ann', 'bob']);
  const group = await s.talkgroup('many', ann, bob);
  const { holderId } = await holderOf(bob);
  const id = await said(group, ann, 0);
  const answers = await Promise.all(Array.from({ length: 30 }, () => keyOf(bob, id, holderId)));
  const having = (answer: string | number) => answers.filter((one) => one === answer).length;
  t.ok(having('429 too_many_keys') > 0, JSON.stringify(answers));
  t.equal(having(200) + having('429 too_many_keys'), 30);
  t.equal((await keyReads(id)).length, having(200), 'a rejected request reads nothing');
});

t.test('a talkgroup with encrypted recordings is deleted only when they may be lost', async (t) => {
  const [ann] = await people(['ann']);
  const chief = await s.person(`chief-${randomUUID()}`, { role: 'admin' });
  const ofChief = await holderOf(chief);
  const group = await s.talkgroup('deleted', ann);
  const id = await said(group, ann, 0);
  await said(group, ann, null);
  const remove = (query = '') => s.admin.call('DELETE', `/talkgroups/${group.id}${query}`);
  t.match(await remove(), { status: 409, body: { error: /encrypted recordings/ } });
  t.equal((await remove('?forget_recordings=yes')).status, 400);
  t.strictSame(await heard(chief, id, ofChief), SENTENCE, 'nothing is lost');
  t.match(await remove('?forget_recordings=true'), { status: 200, body: { ok: true } });
  t.equal(await keyOf(chief, id, ofChief.holderId), '410 recording_key_lost');
  t.strictSame(
    await heard(chief, id, ofChief),
    SENTENCE.map(() => '(no_key)'),
  );
  t.equal((await remove('?forget_recordings=true')).status, 404);
  const acts =
    await s.sql`select details from acts where act = 'talkgroup_deleted' and talkgroup_id = ${group.id}`;
  t.match([...acts], [{ details: { talkgroup: 'deleted', recordings_lost: true } }]);
});

t.test(
  'secrets renew counts the recordings that would be lost, and asks for --forget-recordings',
  async (t) => {
    const [ann, bob] = await people(['ann', 'bob']);
    const group = await s.talkgroup('renewed', ann, bob);
    const ofBob = await holderOf(bob);
    const [id, second] = [await said(group, ann, 0), await said(group, ann, 0)];
    await said(group, ann, null);
    const renew = (...more: string[]) =>
      runCommand(['secrets', 'renew', '--talkgroup', group.id, ...more], {
        ...{ DATABASE_URL: s.url, JWT_SECRET: SECRET, SECRETS_KEY },
      });
    t.match(await renew(), { code: 1, output: /^2 encrypted recordings .* add --forget-recordings/ });
    t.strictSame(await heard(bob, id, ofBob), SENTENCE, 'nothing is lost');
    await s.admin.delete(`/recordings/${second}`);
    t.match(await renew(), { code: 1, output: /^1 encrypted recordings / }, 'an erased one is lost already');
    t.match(await renew('--forget-recordings'), {
      code: 0,
      output: `${group.id}: renewed, rotation counter 1\n`,
    });
    t.equal(await keyOf(bob, id, ofBob.holderId), '410 recording_key_lost');
    const acts =
      await s.sql`select details from acts where act = 'secret_renewed' and talkgroup_id = ${group.id}`;
    t.match([...acts], [{ details: { rotation_counter: 1, recordings_lost: true } }]);
    t.match(await renew(), { code: 0 }, 'those from before are lost already');
    const anew = await said(group, ann, 2);
    t.strictSame(await heard(bob, anew, ofBob), SENTENCE);
    t.equal((await s.admin.call('DELETE', `/talkgroups/${group.id}`)).status, 409);
  },
);

t.test(
  'an expired recording under a legal hold opens for administrators, and keeps its talkgroup',
  async (t) => {
    const [ann, bob] = await people(['ann', 'bob']);
    const chief = await s.person(`chief-${randomUUID()}`, { role: 'admin' });
    const [ofBob, ofChief] = [await holderOf(bob), await holderOf(chief)];
    const group = await s.talkgroup('held', ann, bob);
    const id = await said(group, ann, 0);
    const [from, to] = [Date.now() - 60_000, Date.now()].map((atMs) => new Date(atMs).toISOString());
    await s.admin.post('/recordings/holds', { talkgroup_id: group.id, from, to, reason: 'court' });
    await s.sql`update recordings set expires_at = now() - interval '1 minute' where id = ${id}`;
    t.equal(await keyOf(bob, id, ofBob.holderId), NO_RECORDING);
    t.strictSame(await heard(chief, id, ofChief), SENTENCE);
    t.equal((await s.admin.call('DELETE', `/talkgroups/${group.id}`)).status, 409);
  },
);

t.test(
  'a sentence is in the stored bytes of a clear recording, and in none of an encrypted one',
  async (t) => {
    const [ann] = await people(['ann']);
    const group = await s.talkgroup('dump', ann);
    const [closed, open] = [await said(group, ann, 0), await said(group, ann, null)];
    const isStored = async (id: string) => {
      const rows = await s.sql<{ row: string }[]>`
      select r::text as row from recordings r where id = ${id}
      union all select p::text from recording_parts p where recording_id = ${id}
      union all select encode(bytes, 'escape') from recording_parts where recording_id = ${id}`;
      t.ok(rows.length >= 3);
      const all = rows.map(({ row }) => row).join('\n');
      return SENTENCE.filter((text) => all.includes(text) || all.includes(Buffer.from(text).toString('hex')))
        .length;
    };
    t.equal(await isStored(open), SENTENCE.length, 'the search finds what is there');
    t.equal(await isStored(closed), 0);
  },
);
