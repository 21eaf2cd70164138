// Encrypted and clear speech over the wire: what the relay accepts, what it refuses, and what it tells of both.
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import t from 'tap';
import { ENCRYPTED } from '../../src/protocol/frame.js';
import { type Json, type Radio, service } from '../helpers/service/service.js';
import { heardEverywhere } from '../helpers/service/two-nodes.js';

t.setTimeout(300_000);

const SALTS = ['oKGio6SlpqeoqaqrrK2urw', 'AAAAAAAAAAAAAAAAAAAAAA', '_____________________w'];
const cryptoOf = (epoch: number, salt = SALTS[0]) => ({ suite: 4, epoch, salt });
const sealed = (epoch: number) => ({ flags: ENCRYPTED, epoch: epoch % 256 });

t.test('encrypted speech', async (t) => {
  const s = await service(t, { TALK_SILENCE_MS: '500' });

  const tell = (change: Json) =>
    s.sql`select pg_notify('talkgroup_radio', ${JSON.stringify({ id: randomUUID(), ...change })})`;
  const told = (radios: readonly Radio[], type: string, matches?: (message: Json) => boolean) =>
    Promise.all(radios.map((radio) => radio.hears(type, matches)));

  async function setMode(id: string, encryption: string, radios: readonly Radio[], { clear = true } = {}) {
    if (encryption === 'required')
      await s.sql`update memberships set may_have_keys = true where talkgroup_id = ${id}`;
    await s.sql`update talkgroups set encryption = ${encryption}, clear_emergency = ${clear}, revision = revision + 1
      where id = ${id}`;
    await tell({ kind: 'talkgroup_changed', talkgroup: id });
    await told(
      radios,
      'TALKGROUP_CHANGED',
      (message) => message.encryption === encryption && message.clear_emergency === clear,
    );
  }

  /** As the route does: the counter grows by one, and is used after that time. */
  async function rotate(id: string, counter: number, useInMs: number, isTold = true) {
    await s.sql`
      with moved as (
        update talkgroups set rotation_counter = ${counter}, newest_use_at = now() + ${useInMs} * interval '1 ms'
         where id = ${id} returning id, newest_use_at)
      insert into key_epochs select id, ${counter}, now(), newest_use_at from moved`;
    if (isTold) await tell({ kind: 'key_rotated', talkgroup: id });
  }

  const request = (radio: Radio, id: string, more: Json = {}) =>
    radio.asks({ type: 'FLOOR_REQUEST', talkgroup_id: id, ...more });

  t.test('crypto goes to every listener, and into snapshots', async (t) => {
    const group = await s.crew(t, 2, { name: 'shown' });
    const [a, b] = group.radios;
    const crypto = cryptoOf(0);
    t.match(await request(a, group.id, { crypto }), { type: 'FLOOR_GRANTED' });
    a.speaks(group.number, 'one', sealed(0));
    t.match(await b.hears('TALK_STARTED'), { crypto });
    t.match(await b.hearsFrame(), { text: 'one', flags: 9, epoch: 0 });
    const synced = await b.asks({ type: 'SYNC', talkgroup_id: group.id });
    t.match(synced, {
      encryption: 'allowed',
      clear_emergency: true,
      talk_counter: 0,
      use_in_ms: 0,
      talkers: [{ crypto }],
    });
    a.speaks(group.number, 'clear');
    t.match(await a.hears('ERROR'), { code: 'encryption_required', talkgroup_id: group.id });
    a.speaks(group.number, 'clear again');
    a.speaks(group.number, 'another epoch', sealed(1));
    a.speaks(group.number, '', { end: true });
    t.match(await b.hears('TALK_ENDED'), { code: 'released', frames: 2 });
    t.same(
      a.messages.filter(({ type }) => type === 'ERROR'),
      [],
      'told once a stream',
    );
    t.same(
      b.frames.map(({ text }) => text),
      [''],
      'clear frames are not relayed, END without a payload is',
    );
  });

  t.test('a salt of another form is a bad message', async (t) => {
    const group = await s.crew(t, 1, { name: 'salts' });
    const [a] = group.radios;
    for (const salt of SALTS)
      t.match(await request(a, group.id, { crypto: cryptoOf(0, salt) }), { type: 'FLOOR_GRANTED' });
    for (const salt of ['', `${SALTS[0]}A`, 'oKGio6SlpqeoqaqrrK2urx', 'oKGio6SlpqeoqaqrrK2u+w'])
      t.match(await request(a, group.id, { crypto: cryptoOf(0, salt) }), { code: 'bad_message' });
    t.match(await request(a, group.id, { crypto: { ...cryptoOf(0), epoch: -1 } }), { code: 'bad_message' });
  });

  t.test('a request with another salt ends the burst, and the same one does not', async (t) => {
    const group = await s.crew(t, 2, { name: 'next run' });
    const [a, b] = group.radios;
    await request(a, group.id, { crypto: cryptoOf(0) });
    a.speaks(group.number, 'one', sealed(0));
    await b.hears('TALK_STARTED');
    t.match(await request(a, group.id, { crypto: cryptoOf(0) }), { type: 'FLOOR_GRANTED', burst: 1 });
    t.match(await request(a, group.id, { crypto: cryptoOf(0, SALTS[1]) }), {
      type: 'FLOOR_GRANTED',
      burst: 2,
    });
    t.match(await b.hears('TALK_ENDED'), { burst: 1, code: 'released' });
    a.speaks(group.number, 'two', sealed(0));
    t.match(await b.hears('TALK_STARTED'), { burst: 2, crypto: { salt: SALTS[1] } });
  });

  t.test('in `required` a client of today is told why, once, before TALK_STARTED', async (t) => {
    const group = await s.crew(t, 2, { name: 'old clients' });
    const [a, b] = group.radios;
    a.speaks(group.number, 'one', { start: true });
    a.speaks(group.number, 'two', { end: true });
    await b.hears('TALK_ENDED');
    await setMode(group.id, 'required', group.radios);
    b.frames.length = 0;
    b.messages.length = 0;
    for (const start of [true, false, false]) a.speaks(group.number, 'clear', { start });
    a.speaks(group.number, 'clear', { start: true });
    t.match(await a.hears('ERROR'), { code: 'encryption_required' });
    t.match(await a.hears('ERROR'), { code: 'encryption_required' }, 'a START is another stream');
    t.match(await request(a, group.id), { type: 'ERROR', code: 'encryption_required' });
    a.speaks(group.number, 'sealed', { start: true, ...sealed(0) });
    t.match(await a.hears('ERROR'), { code: 'encryption_unannounced' });
    await heardEverywhere();
    await b.settled();
    t.same([b.frames, b.messages.filter(({ type }) => type === 'TALK_STARTED')], [[], []]);
  });

  t.test('the change to `required` ends clear bursts, but not those of an open emergency', async (t) => {
    const group = await s.crew(t, 4, { name: 'change' });
    const [a, b, c, d] = group.radios;
    await c.asks({ type: 'EMERGENCY_RAISE', talkgroup_id: group.id });
    await request(b, group.id, { crypto: cryptoOf(0) });
    a.speaks(group.number, 'clear', { start: true });
    b.speaks(group.number, 'sealed', sealed(0));
    c.speaks(group.number, 'help', { start: true });
    await d.hearsFrames(3);
    await setMode(group.id, 'required', group.radios);
    t.match(await a.hears('FLOOR_REVOKED'), { code: 'mode' });
    t.match(await d.hears('TALK_ENDED'), { session: a.session, code: 'mode' });
    b.speaks(group.number, 'goes on', sealed(0));
    c.speaks(group.number, 'help again');
    t.same((await d.hearsFrames(2)).map(({ text }) => text).sort(), ['goes on', 'help again']);
    c.speaks(group.number, 'over', { end: true });
    c.speaks(group.number, 'and again', { start: true });
    await d.hearsText('and again');
    await setMode(group.id, 'required', group.radios, { clear: false });
    c.speaks(group.number, 'over', { end: true });
    c.speaks(group.number, 'refused', { start: true });
    t.match(await c.hears('ERROR'), { code: 'encryption_required' });
  });

  t.test('without the permission to have keys a member hears events and no audio', async (t) => {
    const group = await s.crew(t, 3, { name: 'no keys' });
    const [a, b, c] = group.radios;
    const [, bob] = group.people;
    await setMode(group.id, 'required', group.radios);
    await told(
      group.radios,
      'SUBSCRIBED',
      ({ talkgroups }) => (talkgroups as Json[])[0]?.may_have_keys === true,
    );
    await s.sql`update memberships set may_have_keys = false where user_id = ${bob.id}`;
    await tell({ kind: 'keys_changed', user: bob.id, talkgroup: group.id });
    t.match((await b.hears('SUBSCRIBED')).talkgroups, [{ may_have_keys: false, encryption: 'required' }]);
    await request(a, group.id, { crypto: cryptoOf(0) });
    a.speaks(group.number, 'one', sealed(0));
    await c.hearsText('one');
    await b.hears('TALK_STARTED');
    t.match(await request(b, group.id, { crypto: cryptoOf(0) }), { type: 'ERROR', code: 'keys_forbidden' });
    await b.settled();
    t.same(b.frames, []);
    await s.sql`update memberships set may_have_keys = true where user_id = ${bob.id}`;
    await tell({ kind: 'keys_changed', user: bob.id, talkgroup: group.id });
    t.match((await b.hears('SUBSCRIBED')).talkgroups, [
      { may_have_keys: true, talkers: [{ session: a.session }] },
    ]);
    a.speaks(group.number, 'two', sealed(0));
    t.equal((await b.hearsFrame()).text, 'two');
  });

  t.test('in `off` nothing encrypted is relayed', async (t) => {
    const group = await s.crew(t, 2, { name: 'off' });
    const [a, b] = group.radios;
    await setMode(group.id, 'off', group.radios);
    t.match(await request(a, group.id, { crypto: cryptoOf(0) }), { type: 'ERROR', code: 'encryption_off' });
    a.speaks(group.number, 'muted', { start: true });
    t.match(await request(a, group.id), { type: 'FLOOR_GRANTED' });
    a.speaks(group.number, 'clear');
    t.equal((await b.hearsFrame()).text, 'clear', 'the START behind the refused request was muted');
    a.speaks(group.number, 'sealed', sealed(0));
    t.match(await a.hears('ERROR'), { code: 'encryption_off' });
  });

  t.test('a START behind `silence` takes over nothing, and neither does a clear frame', async (t) => {
    const group = await s.crew(t, 2, { name: 'after silence' });
    const [a, b] = group.radios;
    await setMode(group.id, 'required', group.radios);
    for (const [code, more] of [
      ['encryption_unannounced', { start: true, ...sealed(0) }],
      ['encryption_required', {}],
    ] as const) {
      t.match(await request(a, group.id, { crypto: cryptoOf(0) }), { type: 'FLOOR_GRANTED' });
      a.speaks(group.number, 'one', sealed(0));
      t.match(await b.hears('TALK_ENDED'), { code: 'silence' });
      a.speaks(group.number, 'refused', more);
      t.match(await a.hears('ERROR'), { code });
    }
    await b.settled();
    t.same(
      b.frames.map(({ text }) => text),
      ['one', 'one'],
    );
  });

  t.test('the whole counter is judged, and a newer one is read', async (t) => {
    const group = await s.crew(t, 2, { name: 'epochs' });
    const [a, b] = group.radios;
    for (const counter of [255, 256, 265]) {
      await rotate(group.id, counter, 60_000, false);
      let answer: Json = {};
      do {
        const answered = request(a, group.id, { crypto: cryptoOf(counter, SALTS[1]) });
        a.speaks(group.number, `at ${counter}`, sealed(counter));
        answer = await answered;
      } while (answer.code === 'stale_epoch'); // the database has 200 ms, and a busy machine needs longer
      t.match(answer, { type: 'FLOOR_GRANTED' });
      await b.hearsText(`at ${counter}`);
      t.match(await b.hears('TALK_STARTED', ({ crypto }) => (crypto as Json).epoch === counter), {});
    }
    t.match(
      await request(a, group.id, { crypto: cryptoOf(9) }),
      { type: 'ERROR', code: 'stale_epoch' },
      '265 - 256',
    );
    t.match(await request(a, group.id, { crypto: cryptoOf(266) }), { type: 'ERROR', code: 'stale_epoch' });
  });

  /** `work` runs while no read of a talkgroup is answered, and epoch 1 is announced. */
  const withoutReads = (id: string, work: () => Promise<void>) =>
    s.sql.begin(async (sql) => {
      await rotate(id, 1, 60_000, false);
      await sql`lock table key_epochs in access exclusive mode`;
      await work();
    });

  t.test(
    'a request with a newer epoch is refused after 200 ms when the database does not answer',
    async (t) => {
      const group = await s.crew(t, 2, { name: 'no database' });
      const [a, b] = group.radios;
      await withoutReads(group.id, async () => {
        const askedAt = performance.now();
        const answered = request(a, group.id, { crypto: cryptoOf(1) });
        a.speaks(group.number, 'held', { start: true, ...sealed(1) });
        t.match(await answered, { type: 'ERROR', code: 'stale_epoch' });
        t.ok(performance.now() - askedAt >= 199, `after ${performance.now() - askedAt} ms`);
        a.speaks(group.number, 'refused', { start: true, ...sealed(1) });
        t.match(
          await request(a, group.id, { crypto: cryptoOf(0) }),
          { type: 'FLOOR_GRANTED' },
          'a known epoch',
        );
        a.speaks(group.number, 'known', { end: true, ...sealed(0) });
        await b.hearsText('known');
      });
      t.match(await request(a, group.id, { crypto: cryptoOf(1, SALTS[1]) }), { type: 'FLOOR_GRANTED' });
      a.speaks(group.number, 'read', { end: true, ...sealed(1) });
      await b.hearsText('read');
      t.same(
        b.frames.map(({ text }) => text),
        ['known', 'read'],
      );
    },
  );

  t.test('a release waits for the answer to a held request, and a member that leaves gets one', async (t) => {
    const group = await s.crew(t, 3, { name: 'released' });
    const [a, b, c] = group.radios;
    const [, , cid] = group.people;
    await withoutReads(group.id, async () => {
      const held = request(a, group.id, { crypto: cryptoOf(1) });
      a.speaks(group.number, 'held', { start: true, ...sealed(1) });
      const released = a.asks({ type: 'FLOOR_RELEASE', talkgroup_id: group.id });
      t.match(await held, { type: 'ERROR', code: 'stale_epoch' });
      t.match(await released, { type: 'ERROR', code: 'not_holder' });
      const left = request(c, group.id, { crypto: cryptoOf(1) });
      await s.sql`delete from memberships where user_id = ${cid.id}`;
      await tell({ kind: 'left', user: cid.id, talkgroup: group.id });
      t.match(await left, { type: /^(FLOOR_DENIED|ERROR)$/ });
    });
    t.match(await c.hears('TALKGROUP_LEFT'), { talkgroup_id: group.id });
    const held = request(a, group.id, { crypto: cryptoOf(1) });
    const released = a.asks({ type: 'FLOOR_RELEASE', talkgroup_id: group.id });
    t.match(await held, { type: 'FLOOR_GRANTED' });
    t.match(await released, { type: 'OK' });
    a.speaks(group.number, 'of the released grant', sealed(1));
    t.match(await request(b, group.id, { crypto: cryptoOf(1) }), { type: 'FLOOR_GRANTED' });
    b.speaks(group.number, 'next', sealed(1));
    t.equal((await a.hearsFrame()).text, 'next');
    await b.settled();
    t.same(b.frames, []);
  });

  t.test('KEY_ROTATED and snapshots say when the new epoch is used', async (t) => {
    const group = await s.crew(t, 1, { name: 'rotated' });
    const [a] = group.radios;
    await rotate(group.id, 1, 10_000);
    const rotated = await a.hears('KEY_ROTATED');
    t.match(rotated, { rotation_counter: 1, talk_counter: 0 });
    t.ok(Number(rotated.use_in_ms) > 5000 && Number(rotated.use_in_ms) <= 10_000);
    t.match(await a.asks({ type: 'SYNC', talkgroup_id: group.id }), { rotation_counter: 1, talk_counter: 0 });
  });

  t.test('all sockets of a user are told that the key holders changed', async (t) => {
    const group = await s.crew(t, 1, { name: 'holders' });
    const [ann] = group.people;
    const radios = [...group.radios, await ann.radio()];
    await s.sql`insert into key_holders (user_id, public_key, name) values (${ann.id}, ${Buffer.alloc(65, 4)}, 'phone')`;
    await tell({ kind: 'holders_changed', user: ann.id });
    t.match(await told(radios, 'KEY_HOLDERS'), [{ waiting: 1 }, { waiting: 1 }]);
  });
});

/** Stalls of a talker (ms) on a narrow link, around both values of T1. */
const STALLS_MS = [1900, 2100, 4000];

for (const silenceMs of [500, 2000])
  t.test(`a talker that stalls goes on with its salt: T1 ${silenceMs} ms`, async (t) => {
    const s = await service(t, { TALK_SILENCE_MS: String(silenceMs) });
    const cases = ['allowed', 'required'].flatMap((encryption) =>
      STALLS_MS.map((stallMs) => ({ encryption, stallMs })),
    );
    const groups = await Promise.all(
      cases.map(async ({ encryption, stallMs }) => {
        const group = await s.crew(t, 2, { name: `${encryption} ${stallMs}` });
        await s.sql`update talkgroups set encryption = ${encryption}, revision = revision + 1 where id = ${group.id}`;
        await s.sql`update memberships set may_have_keys = true where talkgroup_id = ${group.id}`;
        const change = { id: randomUUID(), kind: 'talkgroup_changed', talkgroup: group.id };
        await s.sql`select pg_notify('talkgroup_radio', ${JSON.stringify(change)})`;
        if (encryption === 'required')
          for (const radio of group.radios) await radio.hears('TALKGROUP_CHANGED');
        return group;
      }),
    );
    await Promise.all(
      cases.map(async ({ encryption, stallMs }, index) => {
        const group = groups[index] as (typeof groups)[number]; // one for each case
        const [a, b] = group.radios;
        const what = `${encryption}, ${stallMs} ms`;
        await a.asks({ type: 'FLOOR_REQUEST', talkgroup_id: group.id, crypto: cryptoOf(0) });
        a.speaks(group.number, 'one', sealed(0));
        await b.hearsText('one');
        for (const [sequence, text] of ['two', 'three'].entries()) {
          await delay(stallMs);
          a.speaks(group.number, text, { sequence: sequence + 1, ...sealed(0) });
          await b.hearsText(text);
        }
        a.speaks(group.number, 'over', { sequence: 3, end: true, ...sealed(0) });
        await b.hearsText('over');
        const started = b.arrivals.filter((one) => 'type' in one && one.type === 'TALK_STARTED');
        for (const burst of started) t.match(burst, { crypto: cryptoOf(0) }, what);
        // Near T1 either may be: the burst goes on, or `silence` ends it and the next one takes over.
        if (stallMs >= 2 * silenceMs) t.equal(started.length, 3, what);
        t.notOk(
          a.arrivals.some((one) => 'type' in one && one.type === 'ERROR'),
          what,
        );
      }),
    );
  });

t.test(
  'a clear burst of an emergency goes on when that is forbidden, and the next one is refused',
  async (t) => {
    const s = await service(t);
    const group = await s.crew(t, 2, { name: 'forbidden meanwhile' });
    const [a, b] = group.radios;
    const set = async (fields: { encryption: string; clear: boolean; name: string }) => {
      await s.sql`update memberships set may_have_keys = true`;
      await s.sql`
      update talkgroups set encryption = ${fields.encryption}, clear_emergency = ${fields.clear}, name = ${fields.name},
                            revision = revision + 1
      where id = ${group.id}`;
      const change = { id: randomUUID(), kind: 'talkgroup_changed', talkgroup: group.id };
      await s.sql`select pg_notify('talkgroup_radio', ${JSON.stringify(change)})`;
      // Each by its own node, where there are two.
      for (const radio of group.radios)
        await radio.hears('TALKGROUP_CHANGED', ({ name }) => name === fields.name);
    };
    await a.asks({ type: 'EMERGENCY_RAISE', talkgroup_id: group.id });
    a.speaks(group.number, 'one', { start: true });
    t.match(await b.hears('TALK_STARTED'), { emergency: true });
    await set({ encryption: 'required', clear: true, name: 'required' });
    a.speaks(group.number, 'two');
    await set({ encryption: 'required', clear: false, name: 'forbidden' });
    a.speaks(group.number, 'three', { end: true });
    t.match(await b.hears('TALK_ENDED'), { burst: 1, code: 'released', frames: 3 });
    a.speaks(group.number, 'four', { start: true });
    t.match(await a.hears('ERROR'), { code: 'encryption_required' });
    t.same(
      b.frames.map(({ text }) => text),
      ['one', 'two', 'three'],
    );
  },
);

t.test(
  'with `clear_emergency` false an emergency is talked in cipher alone, also after a stall',
  async (t) => {
    const s = await service(t, { TALK_SILENCE_MS: '2000' });
    const group = await s.crew(t, 2, { name: 'no clear emergency' });
    const [a, b] = group.radios;
    await s.sql`update memberships set may_have_keys = true`;
    await s.sql`update talkgroups set encryption = 'required', clear_emergency = false, revision = revision + 1`;
    const change = { id: randomUUID(), kind: 'talkgroup_changed', talkgroup: group.id };
    await s.sql`select pg_notify('talkgroup_radio', ${JSON.stringify(change)})`;
    t.match(await a.hears('TALKGROUP_CHANGED'), { encryption: 'required', clear_emergency: false });
    await a.asks({ type: 'EMERGENCY_RAISE', talkgroup_id: group.id });
    a.speaks(group.number, 'clear', { start: true });
    t.match(await a.hears('ERROR'), { code: 'encryption_required' });
    t.match(await a.asks({ type: 'FLOOR_REQUEST', talkgroup_id: group.id }), { code: 'encryption_required' });
    t.match(await a.asks({ type: 'FLOOR_REQUEST', talkgroup_id: group.id, crypto: cryptoOf(0) }), {
      type: 'FLOOR_GRANTED',
      priority: 7,
    });
    a.speaks(group.number, 'sealed', sealed(0));
    t.match(await b.hears('TALK_STARTED'), { emergency: true, crypto: cryptoOf(0) });
    t.match(await b.hears('TALK_ENDED'), { code: 'silence' });
    a.speaks(group.number, 'after the stall', sealed(0));
    t.match(await b.hears('TALK_STARTED'), { emergency: true, crypto: cryptoOf(0) });
    t.match(await b.hears('TALK_ENDED'), { code: 'silence' });
    a.speaks(group.number, 'clear again');
    t.match(await a.hears('ERROR'), { code: 'encryption_required' });
    await b.settled();
    t.same(
      b.frames.map(({ text }) => text),
      ['sealed', 'after the stall'],
    );
  },
);
