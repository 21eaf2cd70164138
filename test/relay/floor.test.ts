// Floor control over the wire, beside what floor-live plays: refs, the order with frames in flight, mutes, codecs, event
// numbers, rates, and what comes from REST. The rules themselves are in test/unit/floor.
import t, { type Test } from 'tap';
import { comesTrue, eventually } from '../helpers/eventually.js';
import { type Json, type Radio, service } from '../helpers/service/service.js';
import { heardEverywhere, isDealt, toldEverywhere } from '../helpers/service/two-nodes.js';

t.setTimeout(300_000);

/** What was heard once everything sent before has been handled. */
async function settled(...radios: Radio[]): Promise<void> {
  for (const radio of radios) await radio.settled();
}

const typesLeft = ({ messages }: Radio) => messages.map(({ type }) => type);

t.test('the floor', async (t) => {
  // No burst here ends by silence.
  const s = await service(t, { TALK_SILENCE_MS: '60000' });
  const single = (t: Test, count: number, name: string, admins = 0) =>
    s.crew(t, count, { name, floor_mode: 'single', admins });

  const request = (radio: Radio, { id }: { id: string }, more: Json = {}) =>
    radio.asks({ type: 'FLOOR_REQUEST', talkgroup_id: id, ...more });
  const release = async (radio: Radio, { id }: { id: string }) => {
    const answer = await radio.asks({ type: 'FLOOR_RELEASE', talkgroup_id: id });
    await heardEverywhere(); // a grant that ends unused is not announced
    return answer;
  };

  t.test('frames in flight of a talker cut off never take the floor back', async (t) => {
    const group = await single(t, 3, 'in flight', 1);
    const [chief, a, b] = group.radios;
    a.speaks(group.number, 'one', { start: true });
    await b.hearsText('one');
    await request(chief, group, { priority: 7 });
    await a.hears('FLOOR_REVOKED');
    for (let frame = 0; frame < 5; frame++) a.speaks(group.number, 'in flight');
    await settled(a);
    await release(chief, group);
    for (let frame = 0; frame < 5; frame++) a.speaks(group.number, 'in flight');
    await settled(a, b);
    t.same(
      b.frames.map(({ text }) => text),
      ['one'],
    );
    t.notOk(
      typesLeft(a).some((type) => type === 'FLOOR_DENIED' || type === 'ERROR'),
      'without a word',
    );
    a.speaks(group.number, 'pressed again', { start: true });
    t.match(await b.hearsText('pressed again'), { burst: 2 });
  });

  t.test('20 sessions wait, and one more is told that the queue is full', async (t) => {
    const group = await single(t, 22, 'long queue');
    const [a, ...others] = group.radios;
    a.speaks(group.number, 'of a', { start: true }); // a grant alone would end meanwhile
    await others[0].hearsFrame();
    const answers: Json[] = [];
    for (const radio of others) answers.push(await request(radio, group, { queue: true }));
    t.match(answers[19], { type: 'FLOOR_QUEUED', position: 20, size: 20 });
    t.match(answers[20], { type: 'FLOOR_DENIED', code: 'queue_full' });
  });

  t.test('a priority that is no integer from 0 to 7 is a bad message', async (t) => {
    const group = await single(t, 1, 'bad priority');
    const [a] = group.radios;
    for (const priority of [8, -1, 1.5, '1', true])
      t.match(await request(a, group, { priority }), { type: 'ERROR', code: 'bad_message' });
    for (const queue of [0, 'true'])
      t.match(await request(a, group, { queue }), { type: 'ERROR', code: 'bad_message' });
  });

  t.test('a change of mode is not answered before the relay follows it', async (t) => {
    const group = await s.crew(t, 2, { name: 'followed' });
    const [a, b] = group.radios;
    for (const radio of [a, b]) {
      radio.speaks(group.number, 'one', { start: true });
      await radio.hears('TALK_STARTED', ({ session }) => session === radio.session);
      await heardEverywhere();
    }
    const change: { answered?: Promise<unknown>; isAnswered: boolean } = { isAnswered: false };
    await s.sql.begin(async (sql) => {
      await sql`lock table emergencies in access exclusive mode`; // the relay's read waits, the change does not
      change.answered = s.admin.patch(`/talkgroups/${group.id}`, { floor_mode: 'single' }).then(() => {
        change.isAnswered = true;
      });
      await eventually(async () => {
        const [waiting] = await s.sql`select from pg_locks where not granted`;
        if (waiting === undefined) throw new Error('the relay does not read yet');
      });
      await s.admin.get('/talkgroups'); // takes as long as an answer would
      t.notOk(change.isAnswered);
    });
    await change.answered;
    for (const radio of [a, b]) radio.speaks(group.number, `of ${radio.session}`);
    await settled(a, b);
    t.match(await b.hears('FLOOR_REVOKED'), { code: 'mode' });
    t.notOk(a.frames.some(({ text }) => text === `of ${b.session}`));
  });

  t.test(
    'a change of name or limit is told to every member, and one that changes nothing is not',
    async (t) => {
      const group = await s.crew(t, 2, { name: 'renamed' });
      const [a, b] = group.radios;
      const patch = (settings: Json) => s.admin.patch(`/talkgroups/${group.id}`, settings);
      await patch({ name: 'another name' });
      await toldEverywhere(group.radios, ({ name }) => name === 'another name');
      await patch({ max_talk_ms: 5000 });
      await patch({ name: 'another name', floor_mode: 'open', max_talk_ms: 5000 });
      await patch({});
      for (const radio of [a, b]) {
        await radio.settled();
        const told = radio.messages.filter(({ type }) => type === 'TALKGROUP_CHANGED');
        t.match(told, [
          { talkgroup_id: group.id, name: 'another name', floor_mode: 'open', max_talk_ms: 60_000 },
          { talkgroup_id: group.id, name: 'another name', floor_mode: 'open', max_talk_ms: 5000 },
        ]);
        t.equal(told.length, 2);
        const fields = ['type', 'talkgroup_id', 'name', 'floor_mode', 'max_talk_ms'];
        t.same(
          Object.keys(told[0] ?? {}),
          [...fields, 'encryption', 'clear_emergency', 'recording_days'],
          'and no event number',
        );
      }
      const late = await group.people[0].radio();
      t.match(late.welcome?.talkgroups, [{ name: 'another name', max_talk_ms: 5000 }]);
      late.socket.terminate();
    },
  );

  t.test('a session talks in eight talkgroups at once, and a ninth is refused', async (t) => {
    const [ann, bob] = [await s.person('many-ann'), await s.person('many-bob')];
    const groups = [];
    for (let index = 0; index < 10; index++)
      groups.push(
        await s.talkgroupWith({ name: `many-${index}`, floor_mode: index < 5 ? 'single' : 'open' }, ann, bob),
      );
    const [a, b] = [await ann.radio(), await bob.radio()];
    const [ninth, tenth] = groups.splice(8) as [(typeof groups)[number], (typeof groups)[number]];
    for (const { number } of groups) a.speaks(number, 'one', { start: true });
    const heard = await b.hearsFrames(8);
    // Their floors may be decided by different nodes, which answer in any order.
    const inOrder = (numbers: readonly number[]) =>
      isDealt ? numbers.toSorted((one, other) => one - other) : numbers;
    t.same(
      inOrder(heard.map(({ talkgroup }) => talkgroup)),
      groups.map(({ number }) => number),
    );
    t.same(
      inOrder(heard.map(({ burst }) => burst)),
      [1, 2, 3, 4, 5, 6, 7, 8],
      'every burst of a session has a number of its own',
    );
    for (let frame = 0; frame < 3; frame++) a.speaks(ninth.number, 'nine', { start: frame === 0 });
    t.match(await a.hears('ERROR'), { code: 'too_many_talkgroups', talkgroup_id: ninth.id });
    t.match(await request(a, tenth), { type: 'ERROR', code: 'too_many_talkgroups' });
    await settled(a, b);
    t.same(b.frames, []);
    t.notOk(typesLeft(a).includes('ERROR'), 'once per stream');
    const [first] = groups;
    if (first === undefined) throw new Error('eight talkgroups are needed');
    a.speaks(first.number, '', { end: true });
    t.match(await request(a, tenth), { type: 'FLOOR_GRANTED' }, 'when one has ended there is room');
    t.match(await request(a, first), { type: 'ERROR', code: 'too_many_talkgroups' }, 'a grant counts');
    await release(a, tenth);
    t.match(await request(b, first), { type: 'FLOOR_GRANTED' });
    t.match(await request(a, first, { queue: true }), { type: 'FLOOR_QUEUED' });
    t.match(
      await request(a, ninth),
      { type: 'ERROR', code: 'too_many_talkgroups' },
      'a place in a queue counts',
    );
  });

  t.test('frames in flight behind a FLOOR_RELEASE begin nothing', async (t) => {
    const group = await s.crew(t, 2, { name: 'released' });
    const [a, b] = group.radios;
    a.speaks(group.number, 'one', { start: true });
    t.match(await release(a, group), { type: 'OK' });
    a.speaks(group.number, 'in flight');
    a.speaks(group.number, 'in flight', { end: true });
    a.speaks(group.number, 'next', { start: true });
    t.match(await b.hearsText('next'), { burst: 2 });
    t.same(
      b.frames.map(({ text }) => text),
      ['one', 'next'],
    );
  });

  t.test(
    'while a right is in doubt nothing is relayed, and what is asked is to be asked again',
    async (t) => {
      const dan = await s.person('doubt-dan', { serial: 'doubt-SN' });
      const group = await s.crew(t, 1, { name: 'doubt' });
      await dan.post(`/talkgroups/${group.id}/join`);
      const [b] = group.radios;
      const d = await dan.radio();
      d.speaks(group.number, 'before', { start: true });
      await b.hearsText('before');
      await s.sql.begin(async (sql) => {
        await sql`lock table memberships in access exclusive mode`; // the read that would confirm the right waits
        const doubt = { kind: 'device_changed', device: dan.device, id: 'a notice of the test' };
        await s.sql`select pg_notify('talkgroup_radio', ${JSON.stringify(doubt)})`;
        await comesTrue(
          'the right is in doubt',
          async () => (await request(d, group)).type === 'FLOOR_DENIED',
        );
        const denial = await request(d, group);
        t.match(denial, { type: 'FLOOR_DENIED', code: 'retry_later', retry_ms: Number });
        d.speaks(group.number, 'meanwhile');
        t.match(await d.asks({ type: 'EMERGENCY_RAISE', talkgroup_id: group.id }), { code: 'unavailable' });
        b.speaks(group.number, 'of b', { start: true });
        await settled(b, d);
      });
      await dan.post(`/talkgroups/${group.id}/join`); // answered after the read
      t.match(await d.hears('SUBSCRIBED'), { talkgroups: [{ event: 2 }] }, 'what went by meanwhile is shown');
      d.speaks(group.number, 'after');
      t.match(await b.hearsText('after'), { burst: 1 }, 'the burst goes on');
      t.notOk(b.frames.some(({ text }) => text === 'meanwhile'));
      t.same(d.frames, []);
      t.notOk(typesLeft(d).includes('ERROR'));
    },
  );

  t.test(
    'FLOOR_REQUEST is denied not_member in a talkgroup of others and for an id that names none',
    async (t) => {
      const [mine, others] = [await single(t, 1, 'mine'), await single(t, 1, 'others')];
      const [a] = mine.radios;
      t.match(await request(a, others), {
        type: 'FLOOR_DENIED',
        talkgroup_id: others.id,
        code: 'not_member',
      });
      for (const id of ['00000000-0000-4000-8000-000000000000', 'no id', ''])
        t.match(await request(a, { id }), {
          type: 'FLOOR_DENIED',
          talkgroup_id: id,
          code: 'not_member',
        });
      t.match(await request(a, { id: mine.id.toUpperCase() }), {
        type: 'FLOOR_GRANTED',
        talkgroup_id: mine.id,
      });
    },
  );

  t.test('a ninth burst within 10 s is refused, and neither START nor request lifts that', async (t) => {
    const group = await s.crew(t, 2, { name: 'hammered' });
    const [a, b] = group.radios;
    for (let burst = 1; burst <= 8; burst++) a.speaks(group.number, `${burst}`, { start: true, end: true });
    await b.hearsFrames(8);
    a.speaks(group.number, 'nine', { start: true });
    t.match(await a.hears('ERROR'), { code: 'rate_limited', talkgroup_id: group.id });
    a.speaks(group.number, 'ten', { start: true });
    const denial = await request(a, group);
    t.match(denial, { type: 'FLOOR_DENIED', code: 'retry_later' });
    const retryMs = denial.retry_ms as number;
    t.ok(Number.isInteger(retryMs) && retryMs > 0 && retryMs <= 2000, `${retryMs} ms`);
    await settled(a, b);
    t.same(b.frames, []);
    t.notOk(typesLeft(a).includes('ERROR'), 'told once');
  });

  t.test('denials do not count as bursts, grants do', async (t) => {
    const group = await single(t, 2, 'counted');
    const [a, b] = group.radios;
    await request(a, group);
    for (let denied = 0; denied < 10; denied++) t.match(await request(b, group), { code: 'busy' });
    await release(a, group);
    for (let granted = 0; granted < 8; granted++) {
      t.match(await request(b, group), { type: 'FLOOR_GRANTED', burst: granted + 1 });
      await release(b, group);
    }
    t.match(await request(b, group), { type: 'FLOOR_DENIED', code: 'retry_later' });
  });

  t.test('every event of a talkgroup has the next number, whatever it is', async (t) => {
    const group = await single(t, 3, 'events', 1);
    const [chief, a, b] = group.radios;
    a.speaks(group.number, 'one', { start: true });
    await b.hearsFrame();
    const { emergency_id } = await b.asks({ type: 'EMERGENCY_RAISE', talkgroup_id: group.id });
    await s.admin.post('/keys/rotate', { talkgroup_id: group.id });
    await chief.hears('KEY_ROTATED');
    await toldEverywhere(group.radios, ({ type }) => type === 'KEY_ROTATED');
    await s.admin.patch(`/talkgroups/${group.id}`, { name: 'events, renamed' });
    await request(chief, group, { priority: 7 });
    chief.speaks(group.number, 'two', { start: true, end: true });
    await toldEverywhere(
      group.radios,
      ({ type, session }) => type === 'TALK_ENDED' && session === chief.session,
    );
    await chief.asks({ type: 'EMERGENCY_ACK', emergency_id });
    await chief.asks({ type: 'EMERGENCY_CLEAR', emergency_id });
    for (const radio of group.radios) {
      await radio.hears('EMERGENCY', ({ state }) => state === 'cleared');
      const events = radio.arrivals.filter((arrival) => 'event' in arrival) as Json[];
      t.same(
        events.map(({ event, type }) => [event, type]),
        [
          [1, 'TALK_STARTED'],
          [2, 'EMERGENCY'],
          [3, 'KEY_ROTATED'],
          [4, 'TALK_ENDED'],
          [5, 'TALK_STARTED'],
          [6, 'TALK_ENDED'],
          [7, 'EMERGENCY'],
          [8, 'EMERGENCY'],
        ],
      );
    }
  });

  t.test(
    'a talker cut off by the end of its talkgroup or device is told before it hears no more',
    async (t) => {
      const [deleted, kept] = [await single(t, 2, 'deleted'), await single(t, 2, 'kept')];
      const [a, b] = deleted.radios;
      a.speaks(deleted.number, 'one', { start: true });
      await b.hearsText('one');
      await request(b, deleted, { queue: true });
      await s.admin.delete(`/talkgroups/${deleted.id}`);
      t.match(await a.hears('FLOOR_REVOKED'), { code: 'deleted' });
      t.match(await b.hears('TALK_ENDED'), { session: a.session, code: 'deleted' });
      await b.hears('TALKGROUP_LEFT');
      t.notOk(typesLeft(b).includes('FLOOR_GRANTED'), 'nobody is granted what is gone');

      const [c] = kept.radios;
      const dan = await s.person('kept-dan', { serial: 'kept-SN' });
      await dan.post(`/talkgroups/${kept.id}/join`);
      const d = await dan.radio();
      d.speaks(kept.number, 'one', { start: true });
      await c.hearsText('one');
      await request(c, kept, { queue: true });
      await s.admin.patch(`/devices/${dan.device}/status`, { active: false });
      await d.closes();
      t.match(await c.hears('TALK_ENDED'), { session: d.session, code: 'disabled' });
      await c.hears('FLOOR_GRANTED');
    },
  );

  t.test('the codec of a request stands in TALK_STARTED as it was given, for that burst alone', async (t) => {
    const group = await s.crew(t, 2, { name: 'codec' });
    const [a, b] = group.radios;
    const codec = { name: 'pcm', sample_rate: 8000, frame_ms: 2.5, channels: 2 };
    await request(a, group, { codec });
    a.speaks(group.number, 'one', { start: true });
    const started = await b.hears('TALK_STARTED');
    t.same(started.codec, codec);
    t.match(started, { user_id: group.people[0].id, started_at: /^\d{4}-.*Z$/ });
    const late = await group.people[1].radio();
    t.match(late.welcome?.talkgroups, [{ talkers: [{ codec }] }]);
    late.socket.terminate();
    a.speaks(group.number, '', { end: true });
    a.speaks(group.number, 'two', { start: true, end: true });
    t.notOk('codec' in (await b.hears('TALK_STARTED')), 'without a request it is the usual one');
  });

  t.test('the codec of a queued request is kept when a frame before the grant is denied', async (t) => {
    const group = await single(t, 2, 'impatient');
    const [a, b] = group.radios;
    a.speaks(group.number, 'of a', { start: true });
    await b.hearsFrame();
    const codec = { name: 'pcm', sample_rate: 8000, frame_ms: 20 };
    await request(b, group, { queue: true, codec });
    b.speaks(group.number, 'too early', { start: true });
    await b.hears('FLOOR_DENIED');
    a.speaks(group.number, '', { end: true });
    await b.hears('FLOOR_GRANTED');
    b.speaks(group.number, 'now', { start: true });
    t.match(await a.hears('TALK_STARTED', ({ session }) => session === b.session), { codec });
  });

  t.test('the codec of a request that was denied is that of no later burst', async (t) => {
    const group = await single(t, 3, 'codec denied');
    const [a, b, c] = group.radios;
    a.speaks(group.number, 'one', { start: true });
    await c.hearsText('one');
    await request(b, group, { codec: { name: 'pcm', sample_rate: 8000, frame_ms: 20 } });
    a.speaks(group.number, '', { end: true });
    await c.hears('TALK_ENDED');
    b.speaks(group.number, 'two', { start: true });
    await c.hearsText('two');
    t.notOk('codec' in (await c.hears('TALK_STARTED', ({ session }) => session === b.session)));
  });

  t.test('a codec of more than 256 bytes, or one that says too little, is a bad message', async (t) => {
    const group = await single(t, 1, 'codec size');
    const [a] = group.radios;
    const codec = { name: '', sample_rate: 48_000, frame_ms: 20 };
    const room = 256 - Buffer.byteLength(JSON.stringify(codec));
    t.match(await request(a, group, { codec: { ...codec, name: 'x'.repeat(room) } }), {
      type: 'FLOOR_GRANTED',
    });
    for (const bad of [
      { ...codec, name: 'x'.repeat(room + 1) },
      { ...codec, name: 'é'.repeat(room / 2 + 1) },
      { name: 'opus', sample_rate: 48_000 },
      { ...codec, sample_rate: 0 },
      { ...codec, frame_ms: '20' },
      'opus',
    ])
      t.match(await request(a, group, { codec: bad }), { type: 'ERROR', code: 'bad_message' });
  });

  t.test('every answer repeats its ref, be it text or number', async (t) => {
    const group = await single(t, 2, 'refs');
    const [a, b] = group.radios;
    const talkgroup_id = group.id;
    const refs = ['x'.repeat(64), '', 0, -1, Number.MAX_SAFE_INTEGER];
    for (const [index, ref] of refs.entries()) {
      const radio = index % 2 === 0 ? a : b;
      radio.says({ type: 'FLOOR_REQUEST', talkgroup_id, ref });
      t.match(await radio.hears('FLOOR_GRANTED'), { ref });
      radio.says({ type: 'FLOOR_RELEASE', talkgroup_id, ref });
      t.match(await radio.hears('OK'), { ref });
      await heardEverywhere();
    }
    b.says({ type: 'FLOOR_REQUEST', talkgroup_id });
    t.notOk('ref' in (await b.hears('FLOOR_GRANTED')));
    a.says({ type: 'FLOOR_REQUEST', talkgroup_id, queue: true, ref: 'mine' });
    t.match(await a.hears('FLOOR_QUEUED'), { ref: 'mine' });
    a.says({ type: 'FLOOR_RELEASE', talkgroup_id });
    await settled(a);
    t.notOk(typesLeft(a).includes('OK'), 'without a ref there is no OK');
  });
});

t.test('a dead talker’s floor is kept for its return beyond T1', async (t) => {
  // Over two relays a test hears of the other one's steps before it goes on.
  const s = await service(t, { TALK_SILENCE_MS: isDealt ? '2000' : '300' });
  const group = await s.crew(t, 2, { name: 'dead, silent', floor_mode: 'single' });
  const [a, b] = group.radios;
  a.speaks(group.number, 'one', { start: true });
  await b.hearsText('one');
  a.socket.terminate();
  t.match(await b.hears('TALK_ENDED'), { session: a.session, code: 'disconnected' });
});
