// Encrypted speech as a whole: radios with key holders, the keys of REST and the relay, over the real wire.
import { randomBytes } from 'node:crypto';
import t, { type Test } from 'tap';
import { RestError, recordingKeys } from '../../src/client/node.js';
import { decodeFrames } from '../../src/protocol/bundle.js';
import { burstKey, fromBase64url } from '../../src/protocol/encryption.js';
import { decodeFrame, ENCRYPTED, END, type Frame } from '../../src/protocol/frame.js';
import { deriveSframeKey, KEY_IDS, metadataFrom } from '../../src/protocol/sframe.js';
import type { Crypto } from '../../src/protocol/types.js';
import { createTap, type Keys, keysOf, radioWith, type Tap, talks } from '../helpers/client/keyed-radio.js';
import { comesTrue, eventually } from '../helpers/eventually.js';
import { PASSWORD, PASSWORD_HASH } from '../helpers/http/rest.js';
import { endedOf, framesAt, type Recording } from '../helpers/service/recorded.js';
import { type Person, type ServiceProcess, serviceProcess } from '../helpers/service/service.js';
import { sentence } from '../helpers/sound/sentence.js';

t.setTimeout(300_000);

type Service = ServiceProcess;

/** An account with the password of the tests. */
async function personIn(s: Service, name: string, options: Parameters<Service['person']>[1] = {}) {
  const person = await s.person(name, options);
  await s.sql`update users set password_hash = ${PASSWORD_HASH} where id = ${person.id}`;
  return person;
}

/** A talkgroup of these people in this mode. `counter`: that of the epoch of now. */
async function groupOf(s: Service, name: string, encryption: string, people: readonly Pick<Person, 'id'>[]) {
  const group = await s.talkgroup(name, ...people);
  if (encryption !== 'allowed') await s.admin.patch(`/talkgroups/${group.id}`, { encryption });
  return { ...group, counter: await counterOf(s, group.id) };
}

const counterOf = async (s: Service, id: string) =>
  (await s.admin.get(`/keys/rotation?talkgroup_id=${id}`)).rotation_counter as number;

/** Resolves when the newest epoch is the one to talk with: the change to `required` leaves 10 s for all to get it. */
const inUse = (s: Service, { id }: { id: string }) =>
  eventually(async () => {
    const [row] = await s.sql`select newest_use_at <= now() as is_used from talkgroups where id = ${id}`;
    if (!row?.is_used) throw new Error('the newest epoch is not in use');
  });

const hexOf = (packets: readonly Uint8Array[]) =>
  packets.map((packet) => Buffer.from(packet).toString('hex'));

/** A radio with keys, which has the key of now. */
async function ready(
  t: Test,
  s: Service,
  group: { id: string; counter: number },
  person: { token: string },
  tap?: Tap,
) {
  const keys = await keysOf(t, s, { token: person.token, ...(tap && { tap }) });
  const radio = await radioWith(t, s, keys);
  await keys.has(group.id, group.counter);
  return { ...radio, keys };
}

t.test('encrypted speech over the real wire', async (t) => {
  const s = await serviceProcess(t, {
    LOG_LEVEL: 'trace',
    SECRETS_KEY: randomBytes(32).toString('base64'),
  });
  const spoken = await sentence(50);
  t.same([...new Set(spoken.map(({ length }) => length))], [60], 'the rate is constant');

  t.test('two accounts register, join, get their keys, and hear each other byte for byte', async (t) => {
    const group = await groupOf(s, 'whole', 'allowed', []);
    const people = await Promise.all(
      ['ann-1', 'bob-1'].map(async (username) => {
        const { status, body } = await s.call('POST', '/auth/register', null, {
          username,
          password: PASSWORD,
        });
        t.equal(status, 200);
        return { token: String(body.jwt), id: String(body.userId) };
      }),
    );
    for (const { token } of people)
      t.equal((await s.call('POST', `/talkgroups/${group.id}/join`, token)).status, 200);
    await s.admin.patch(`/talkgroups/${group.id}`, { encryption: 'required' });
    const now = { id: group.id, counter: await counterOf(s, group.id) };
    const [a, b] = await Promise.all(people.map((person) => ready(t, s, now, person)));
    if (!a || !b) throw new Error('two people were asked for');
    t.match([a.keys.accepted, b.keys.accepted], [true, true]);

    t.match(await talks(a.radio, group.id, spoken), { code: 'released', frames: spoken.length });
    await b.hearsEnds(1);
    t.strictSame(b.speech(), hexOf(spoken));
    t.match(b.ends, [{ heard: spoken.length, unopened: undefined, isCutOff: undefined }]);
    t.match(await talks(b.radio, group.id, spoken), { code: 'released', frames: spoken.length });
    await a.hearsEnds(2);
    t.strictSame(a.speech(), hexOf(spoken));
    t.strictSame([a.unopened, b.unopened], [[], []]);
    t.strictSame(b.locks, ['encrypted', 'encrypted'], 'of its own burst, too');
    t.ok(
      b.heard.every(({ flags }) => (flags & ENCRYPTED) === 0),
      'an app gets open frames',
    );
    t.match(b.talkers, [{ crypto: { suite: 4, epoch: now.counter } }]);
  });

  t.test('a sentence is in no byte that the service gets, relays, logs or stores', async (t) => {
    const people = [];
    for (const name of ['ann-2', 'bob-2', 'eve-2']) people.push(await personIn(s, name));
    const [ann, bob, eve] = people;
    if (!ann || !bob || !eve) throw new Error('three people were asked for');
    const [secret, open] = [
      await groupOf(s, 'tapped', 'required', people),
      await groupOf(s, 'tapped, clear', 'allowed', people),
    ];
    const tap = createTap();
    const [a, b] = [await ready(t, s, secret, ann, tap), await ready(t, s, secret, bob, tap)];
    // She is a member and may have keys, but her radio has none.
    const e = await eve.radio();
    e.socket.on('message', (data: Buffer) => tap.bytes.push(Buffer.from(data)));

    t.match(await talks(a.radio, secret.id, spoken), { frames: spoken.length });
    await b.hearsEnds(1);
    t.strictSame(b.speech(), hexOf(spoken));
    await e.hears('TALK_ENDED');
    t.equal(e.frames.length, spoken.length, 'a radio without keys is sent the sealed frames');
    const [{ crypto } = {}] = b.talkers;
    const found = await whereIs(s, tap, spoken);
    t.strictSame(found, []);
    const log = s.output();
    t.ok(log.includes('"level"'), 'the service logged');
    const key = a.keys.keyring.secretFor(secret.id, secret.counter) ?? new Uint8Array();
    for (const text of [crypto?.salt ?? '?', ...textsOf(key)])
      t.notOk(log.includes(text), 'no salt or key in the log');

    // The same search finds the same sentence where it was not sealed.
    t.match(await talks(a.radio, open.id, spoken), { frames: spoken.length });
    await b.hearsEnds(2);
    t.strictSame(await whereIs(s, tap, spoken), ['wire']);
  });

  t.test('a recorded sentence is in no stored byte, and opens completely with its key', async (t) => {
    const people = [];
    for (const name of ['ann-7', 'bob-7']) people.push(await personIn(s, name));
    const [ann, bob] = people;
    if (!ann || !bob) throw new Error('two people were asked for');
    const [secret, open] = [
      await groupOf(s, 'recorded', 'required', people),
      await groupOf(s, 'recorded, clear', 'allowed', people),
    ];
    for (const { id } of [secret, open]) await s.admin.patch(`/talkgroups/${id}`, { recording_days: 30 });
    const [a, b] = [await ready(t, s, secret, ann), await ready(t, s, secret, bob)];
    t.match(await talks(a.radio, secret.id, spoken), { frames: spoken.length });
    await b.hearsEnds(1);
    const [recording] = await endedOf(bob, secret.id, 1);
    t.match(recording, { frames: spoken.length, missing: 0, crypto: { epoch: secret.counter } });
    t.strictSame(await storedIn(s, spoken), []);
    if (recording === undefined) throw new Error('no recording');

    const keys = recordingKeys(b.keys);
    const opened = async () => {
      const open = await keys.opener(recording as Recording & { crypto: Crypto });
      const { frames } = await framesAt(s.rest, bob, recording.recording_id);
      return frames.map((frame) => Buffer.from(open(decodeFrame(frame, 1024) as Frame)).toString('hex'));
    };
    t.strictSame(await opened(), hexOf(spoken));
    await s.admin.post('/keys/rotate', { talkgroup_id: secret.id });
    t.strictSame(await opened(), hexOf(spoken), 'after a rotation');
    const later = await keysOf(t, s, { token: ann.token, name: 'new phone' });
    await s.admin.post(`/keys/holders/${later.holderId}/accept`, {});
    const closed = await recordingKeys(later).opener(recording as Recording & { crypto: Crypto });
    t.equal(closed({ flags: ENCRYPTED } as Frame), 'no_key', 'a key holder that was accepted later');

    // What was opened again counts in no window of live speech.
    t.match(await talks(a.radio, secret.id, spoken), { frames: spoken.length });
    await b.hearsEnds(2);
    t.strictSame(b.speech(), [...hexOf(spoken), ...hexOf(spoken)]);
    t.strictSame(b.unopened, []);

    // The same search finds the same sentence where it was not sealed.
    t.match(await talks(a.radio, open.id, spoken), { frames: spoken.length });
    await endedOf(bob, open.id, 1);
    t.strictSame(await storedIn(s, spoken), ['recording_parts']);
  });

  t.test('a radio that connects in the middle of a burst hears the rest of it', async (t) => {
    const people = [];
    for (const name of ['ann-3', 'bob-3', 'cid-3']) people.push(await personIn(s, name));
    const [ann, bob, cid] = people;
    if (!ann || !bob || !cid) throw new Error('three people were asked for');
    const group = await groupOf(s, 'late', 'required', people);
    const [a, b] = [await ready(t, s, group, ann), await ready(t, s, group, bob)];
    const keys = await keysOf(t, s, { token: cid.token });
    const burst = [...spoken, ...spoken, ...spoken];
    const outcome = talks(a.radio, group.id, burst);
    await comesTrue('the burst is heard', () => b.heard.length > 10);
    const connectedAtMs = performance.now();
    const c = await radioWith(t, s, keys);
    await comesTrue('the first frame opened', () => c.heard.length > 0);
    t.comment(
      `from connect to the first opened frame: ${Math.round((c.heard[0]?.receivedAtMs ?? 0) - connectedAtMs)} ms`,
    );
    t.match(await outcome, { code: 'released', frames: burst.length });
    await Promise.all([b.hearsEnds(1), c.hearsEnds(1)]);
    t.strictSame(b.speech(), hexOf(burst));
    const heard = c.speech();
    t.strictSame(heard, hexOf(burst).slice(-heard.length), 'all from there on');
    t.equal(c.ends[0]?.isCutOff, undefined);
    t.strictSame([a.unopened, b.unopened], [[], []]);
    t.match(c.talkers, [{ crypto: { epoch: group.counter } }], 'the snapshot had it');
  });

  t.test(
    'over a rotation who stays misses nothing, and the removed opens nothing of the next epoch',
    async (t) => {
      const people = [];
      for (const name of ['ann-4', 'bob-4', 'cid-4']) people.push(await personIn(s, name));
      const [ann, bob, cid] = people;
      if (!ann || !bob || !cid) throw new Error('three people were asked for');
      const group = await groupOf(s, 'rotated', 'required', people);
      await inUse(s, group);
      const tap = createTap();
      const [a, b, c] = [
        await ready(t, s, group, ann),
        await ready(t, s, group, bob, tap),
        await ready(t, s, group, cid),
      ];
      const said: Uint8Array[] = [];
      const says = async (count: number) => {
        const packets = Array.from({ length: count }, (_, i) => Buffer.from(`packet ${said.length + i}`));
        said.push(...packets);
        t.match(await talks(a.radio, group.id, packets), { kind: 'ended', code: 'released', frames: count });
      };

      const running = says(60);
      await comesTrue('both hear the burst', () => b.heard.length > 5 && c.heard.length > 5);
      await s.admin.delete(`/talkgroups/${group.id}/members/${cid.id}`);
      t.equal(await counterOf(s, group.id), group.counter + 1, 'the removal rotated');
      await comesTrue('the removed one has left', () => c.radio.talkgroups.size === 0);
      const heardUntilThen = c.heard.length;
      await running;
      // The relay takes 8 bursts in 10 s. The next epoch is used 2 s behind the removal.
      for (let n = 0; n < 6 && b.talkers.at(-1)?.crypto?.epoch === group.counter; n += 1) await says(30);
      await comesTrue('all talks have ended', () => b.ends.length === b.talkers.length);
      t.equal(b.talkers[0]?.crypto?.epoch, group.counter);
      t.equal(b.talkers.at(-1)?.crypto?.epoch, group.counter + 1);
      t.strictSame(b.speech(), hexOf(said));
      t.strictSame(b.unopened, []);

      t.equal(c.heard.length, heardUntilThen, 'the removed one is sent nothing');
      t.equal(c.keys.keyring.secretFor(group.id, group.counter + 1), null);
      const query = `talkgroup_id=${group.id}&holder_id=${c.keys.holderId}`;
      await t.rejects(c.keys.rest.get(`/keys/epochs?${query}`), { name: 'RestError', status: 404 });
      const [old, next] = [b.talkers[0], b.talkers.at(-1)];
      if (!old?.crypto || !next?.crypto) throw new Error('both bursts have crypto');
      const inputs = { talkgroupId: group.id, userId: ann.id, counter: group.counter };
      t.equal(
        opens(c.keys, tap, { ...inputs, burst: old.burst, crypto: old.crypto }),
        60,
        'what he was there for',
      );
      t.equal(opens(c.keys, tap, { ...inputs, burst: next.burst, crypto: next.crypto }), 0);
      const asOfNext = { ...inputs, counter: group.counter + 1 };
      t.ok(
        opens(b.keys, tap, { ...asOfNext, burst: next.burst, crypto: next.crypto }) > 0,
        'who stayed opens it',
      );
    },
  );

  t.test('a talker and a listener that lose their connections in a burst go on with it', async (t) => {
    const people = [await personIn(s, 'ann-5'), await personIn(s, 'bob-5')];
    const [ann, bob] = people;
    if (!ann || !bob) throw new Error('two people were asked for');
    const group = await groupOf(s, 'resumed', 'required', people);
    const taps = [createTap(), createTap()];
    const [a, b] = [await ready(t, s, group, ann, taps[0]), await ready(t, s, group, bob, taps[1])];
    const packets = Array.from({ length: 200 }, (_, i) => Buffer.from(`packet ${i}`));
    const outcome = talks(a.radio, group.id, packets);
    for (const [{ radio }, tap] of [
      [b, taps[1]],
      [a, taps[0]],
    ] as const) {
      const from = b.heard.length;
      await comesTrue('more is heard', () => b.heard.length > from + 10);
      const resumed = new Promise((resolve) => radio.on('open', (welcome) => resolve(welcome.resumed)));
      tap?.sockets.at(-1)?.terminate();
      t.equal(await resumed, true);
    }
    t.match(await outcome, { kind: 'ended', code: 'released' });
    await comesTrue('the last packet is heard', () => b.speech().at(-1) === hexOf(packets).at(-1));
    const numbers = b.heard.map(({ payload }) => Number(Buffer.from(payload).toString().split(' ')[1]));
    t.strictSame(
      numbers,
      [...new Set(numbers)].sort((x, y) => x - y),
      'in order, and nothing twice',
    );
    t.strictSame(b.unopened, []);
    await comesTrue('all talks have ended', () => b.ends.length === b.talkers.length);
    t.equal(b.ends.at(-1)?.isCutOff, undefined);
  });

  t.test(
    'a radio without keys talks and hears in `allowed`, and is told why not in `required`',
    async (t) => {
      const people = [];
      for (const name of ['ann-6', 'old-6', 'new-6']) people.push(await personIn(s, name));
      const [ann, old, fresh] = people;
      if (!ann || !old || !fresh) throw new Error('three people were asked for');
      const group = await groupOf(s, 'old clients', 'allowed', people);
      const keys = await keysOf(t, s, { token: ann.token });
      const a = await radioWith(t, s, keys);
      /** As clients of an earlier release: raw frames, and no word of encryption. */
      const o = await old.radio();
      const n = await radioWith(t, s, { token: fresh.token });

      o.speaks(group.number, 'clear one', { start: true });
      o.speaks(group.number, 'clear two', { end: true });
      await a.hearsEnds(1);
      t.strictSame(a.locks, ['clear']);
      t.strictSame(a.speech(), hexOf([Buffer.from('clear one'), Buffer.from('clear two')]));
      await n.hearsEnds(1);
      t.match(await talks(a.radio, group.id, spoken.slice(0, 3)), { code: 'released' });
      await o.hears('TALK_ENDED');
      await o.hears('TALK_ENDED');
      t.equal(o.frames.at(-1)?.flags, END, 'clear speech of a radio with keys is heard');
      await n.hearsEnds(2);
      t.match(
        await talks(a.radio, group.id, spoken.slice(0, 3), true),
        { code: 'released' },
        'encrypted by choice',
      );
      await n.hearsEnds(3);
      t.strictSame(n.unopened, ['no_key']);
      t.strictSame(n.locks, ['clear', 'clear', 'cannot_open']);
      t.match(n.ends[2], { heard: 3, unopened: 3 });
      t.equal(n.heard.length, 5, 'noise is not played');

      await s.admin.patch(`/talkgroups/${group.id}`, { encryption: 'required' });
      await o.hears('TALKGROUP_CHANGED', ({ encryption }) => encryption === 'required');
      o.speaks(group.number, 'clear', { start: true });
      t.match(await o.hears('ERROR'), {
        code: 'encryption_required',
        talkgroup_id: group.id,
        message: 'this audio must be encrypted',
      });
      await comesTrue('the radio follows', () => n.radio.isRequired(group.id));
      t.match(await talks(n.radio, group.id, spoken.slice(0, 3)), { kind: 'denied', code: 'no_key' });
      t.equal(a.heard.length, 2);
    },
  );

  t.test('a lost device takes its key holders with it, and the others go on with the next key', async (t) => {
    const people = [
      await personIn(s, 'lost-7', { serial: 'lost-7' }),
      await personIn(s, 'same-7', { serial: 'lost-7' }),
      await personIn(s, 'eve-7'),
      await personIn(s, 'fay-7'),
    ];
    const [lost, same, eve, fay] = people;
    if (!lost || !same || !eve || !fay) throw new Error('four people were asked for');
    const group = await groupOf(s, 'lost', 'required', people);
    await inUse(s, group);
    const [l, e, f] = [
      await ready(t, s, group, lost),
      await ready(t, s, group, eve),
      await ready(t, s, group, fay),
    ];
    await keysOf(t, s, { token: same.token });
    const closed = new Promise((resolve) => l.radio.on('waiting', resolve));
    await s.admin.patch(`/devices/${lost.device}/status`, { active: false });
    t.match(await closed, { code: 1008, reason: 'device disabled' });
    const counts = [];
    for (const { id } of people)
      counts.push(((await s.admin.get(`/keys/holders?user_id=${id}`)).holders as object[]).length);
    t.strictSame(counts, [0, 0, 1, 1], 'both users of the device lost theirs');
    t.equal(await counterOf(s, group.id), group.counter + 1);
    await t.rejects(
      l.keys.rest.get(`/keys/epochs?talkgroup_id=${group.id}&holder_id=${l.keys.holderId}`),
      RestError,
    );
    await Promise.all([e, f].map(({ keys }) => keys.has(group.id, group.counter + 1)));
    const said: Uint8Array[] = [];
    // The next key is used 2 s behind the loss. The relay takes 8 bursts in 10 s.
    for (let n = 0; n < 6 && f.talkers.at(-1)?.crypto?.epoch !== group.counter + 1; n += 1) {
      said.push(...spoken.slice(0, 30));
      t.match(await talks(e.radio, group.id, spoken.slice(0, 30)), { code: 'released', frames: 30 });
      await f.hearsEnds(n + 1);
    }
    t.equal(f.talkers.at(-1)?.crypto?.epoch, group.counter + 1);
    t.strictSame(f.speech(), hexOf(said));
  });
});

/** In what of the service these packets are: `wire`, `log`, `database` or `metrics`. */
async function whereIs(s: Service, tap: Tap, packets: readonly Uint8Array[]): Promise<string[]> {
  const places: Record<string, Buffer> = {
    wire: Buffer.concat(tap.bytes),
    log: Buffer.from(s.output()),
    database: Buffer.from(Object.values(await dumpOf(s)).join('\n')),
    metrics: Buffer.from(await (await fetch(s.metrics)).text()),
  };
  return placesWith(places, packets);
}

/** The tables that have a piece of these packets. */
async function storedIn(s: Service, packets: readonly Uint8Array[]): Promise<string[]> {
  const tables = Object.entries(await dumpOf(s)).map(([name, text]) => [name, Buffer.from(text)]);
  return placesWith(Object.fromEntries(tables), packets);
}

function placesWith(places: Readonly<Record<string, Buffer>>, packets: readonly Uint8Array[]): string[] {
  const pieces = packets.flatMap((packet) => [0, 15, 30, 45].map((at) => packet.subarray(at, at + 15)));
  const isIn = (place: Buffer) =>
    pieces.some((piece) => [Buffer.from(piece), ...textsOf(piece)].some((one) => place.includes(one)));
  return Object.keys(places).filter((name) => isIn(places[name] as Buffer));
}

/** As texts write bytes, at each place that they may have within a text of base64. */
function textsOf(bytes: Uint8Array): string[] {
  const shifted = [0, 1, 2].map((shift) => Buffer.concat([Buffer.alloc(shift), bytes]));
  return [
    Buffer.from(bytes).toString('hex'),
    ...(['base64', 'base64url'] as const).flatMap((form) =>
      // Without the digits that the neighbours have a part in.
      shifted.map((all, shift) =>
        all.toString(form).slice(shift === 0 ? 0 : 4, Math.floor((all.length * 8) / 6) - 1),
      ),
    ),
  ];
}

/** By table: every row as text. */
async function dumpOf({ sql }: Service): Promise<Record<string, string>> {
  const tables = await sql<{ name: string }[]>`
    select table_name as name from information_schema.tables
    where table_schema = current_schema() and table_type = 'BASE TABLE'`;
  if (tables.length < 5) throw new Error('the dump has no tables');
  const texts: Record<string, string> = {};
  for (const { name } of tables) {
    const rows = await sql<{ row: string }[]>`select t::text as row from ${sql(name)} t`;
    texts[name] = rows.map(({ row }) => row).join('\n');
  }
  return texts;
}

/** How many tapped frames of a burst these keys open, taken for those of that epoch. */
function opens(
  { keyring }: Keys,
  tap: Tap,
  {
    burst,
    crypto,
    ...inputs
  }: { burst: number; crypto: Crypto; talkgroupId: string; userId: string; counter: number },
): number {
  const secret = keyring.secretFor(inputs.talkgroupId, inputs.counter);
  const salt = fromBase64url(crypto.salt);
  if (!secret || !salt) throw new Error('no key to try');
  const keys = [inputs.counter, crypto.epoch].map((counter) => {
    const baseKey = burstKey(keyring.primitives, { ...inputs, secret, salt, counter });
    return deriveSframeKey(keyring.primitives, { baseKey, keyId: crypto.epoch % KEY_IDS });
  });
  // Messages in JSON begin with a brace, which is no version of a frame.
  const frames = tap.bytes.flatMap((bytes) => {
    const read = decodeFrames(bytes, Number.MAX_SAFE_INTEGER);
    return typeof read === 'string' ? [] : read;
  });
  const own = frames.filter((frame) => frame.burst === burst && frame.payload.length > 0);
  return own.filter((frame) => keys.some((key) => key.open(metadataFrom(frame), frame.payload) !== null))
    .length;
}
