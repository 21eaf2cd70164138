// Floor control over the wire: who may talk, who is told what, and that nobody keeps or takes a floor that is not his.
import t, { type Test } from 'tap';
import { END, START } from '../../src/protocol/frame.js';
import { comesTrue, eventually } from '../helpers/eventually.js';
import { type Json, type Radio, service } from '../helpers/service/service.js';
import { heardEverywhere, isDealt, toldEverywhere } from '../helpers/service/two-nodes.js';
import { within } from '../helpers/within.js';

t.setTimeout(120_000);

/** Frames carry text, messages a type: what came, in its order, WELCOME left out. */
const heardBy = ({ arrivals }: Radio) =>
  arrivals
    .map((arrival) => ('payload' in arrival ? arrival.text : (arrival as Json).type))
    .filter((what) => what !== 'WELCOME');

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
    await heardEverywhere(); // a grant that ends unused is told to nobody
    return answer;
  };

  t.test('in `single` the first frame is the request: granted, announced, heard whole', async (t) => {
    const group = await single(t, 2, 'first frame');
    const [a, b] = group.radios;
    a.speaks(group.number, 'one', { start: true });
    a.speaks(group.number, 'two', { end: true });
    await b.hears('TALK_ENDED');
    await a.hears('TALK_ENDED');
    t.same(heardBy(a), ['FLOOR_GRANTED', 'TALK_STARTED', 'TALK_ENDED']);
    t.same(heardBy(b), ['TALK_STARTED', 'one', 'two', 'TALK_ENDED']);
    t.same(await a.hears('FLOOR_GRANTED'), {
      type: 'FLOOR_GRANTED',
      talkgroup_id: group.id,
      burst: 1,
      priority: 1,
      max_talk_ms: 60_000,
    });
  });

  t.test('in `open` the first frame is granted without a word', async (t) => {
    const group = await s.crew(t, 2, { name: 'wordless' });
    const [a, b] = group.radios;
    a.speaks(group.number, 'one', { start: true });
    a.speaks(group.number, 'two', { end: true });
    await b.hears('TALK_ENDED');
    await a.hears('TALK_ENDED');
    t.same(heardBy(a), ['TALK_STARTED', 'TALK_ENDED']);
  });

  for (const floor_mode of ['open', 'single', 'broadcast'] as const) {
    t.test(
      `in \`${floor_mode}\` a FLOOR_REQUEST is answered, and talk is announced at the first frame only`,
      async (t) => {
        const group = await s.crew(t, 2, { name: `asked ${floor_mode}`, floor_mode, admins: 1 });
        const [a, b] = group.radios;
        const max_talk_ms = floor_mode === 'open' ? 0 : 60_000;
        t.match(await request(a, group), { type: 'FLOOR_GRANTED', burst: 1, priority: 1, max_talk_ms });
        await settled(b);
        t.same(heardBy(b), ['PONG'], 'a grant is nobody’s news');
        a.speaks(group.number, 'one', { start: true });
        t.match(await b.hears('TALK_STARTED'), { burst: 1, priority: 1, emergency: false });
        t.match(await b.hearsFrame(), { text: 'one', burst: 1, flags: START });
        t.match(await request(a, group), { type: 'FLOOR_GRANTED', burst: 1, priority: 1, max_talk_ms });
        a.speaks(group.number, 'two', { end: true });
        t.match(await b.hears('TALK_ENDED'), { burst: 1, code: 'released', frames: 2 });
      },
    );
  }

  t.test('whoever comes second is told once who talks, and none of his frames is heard', async (t) => {
    const group = await single(t, 3, 'busy');
    const [a, b, c] = group.radios;
    a.speaks(group.number, 'of a', { start: true });
    await c.hearsFrame();
    for (let frame = 0; frame < 5; frame++) b.speaks(group.number, 'of b', { start: frame === 0 });
    await settled(b, c);
    const { talker, ...denial } = await b.hears('FLOOR_DENIED');
    t.same(denial, { type: 'FLOOR_DENIED', talkgroup_id: group.id, code: 'busy' });
    t.match(talker, { session: a.session, burst: 1, username: 'busy-0', priority: 1, emergency: false });
    t.match(talker, { user_id: group.people[0].id, started_at: /^\d{4}-.*Z$/ });
    t.notOk(typesLeft(b).some((type) => type === 'FLOOR_DENIED' || type === 'ERROR'));
    t.same(c.frames, []);

    b.speaks(group.number, 'again', { start: true });
    t.match(await b.hears('FLOOR_DENIED'), { code: 'busy' }, 'a START tries again');
    a.speaks(group.number, '', { end: true });
    await c.hears('TALK_ENDED');
    b.speaks(group.number, 'still muted');
    await settled(b, c);
    t.same(
      c.frames.map(({ text }) => text),
      [''],
      'and what follows without one does not, though the floor is free',
    );
    b.speaks(group.number, 'at last', { start: true });
    t.match(await b.hears('FLOOR_GRANTED'), { burst: 1 }, 'a denied burst has no number');
    await c.hearsText('at last');
  });

  t.test(
    'a FLOOR_REQUEST for a busy floor is denied under its ref, and a later one lifts the mute',
    async (t) => {
      const group = await single(t, 3, 'denied');
      const [a, b, c] = group.radios;
      a.speaks(group.number, 'of a', { start: true });
      await c.hearsFrame();
      t.match(await request(b, group), {
        type: 'FLOOR_DENIED',
        code: 'busy',
        talker: { session: a.session },
      });
      a.speaks(group.number, '', { end: true });
      await c.hears('TALK_ENDED');
      b.speaks(group.number, 'in flight');
      await settled(b);
      t.notOk(typesLeft(b).includes('FLOOR_GRANTED'), 'a frame in flight does not ask again');
      t.match(await request(b, group), { type: 'FLOOR_GRANTED' });
      b.speaks(group.number, 'asked');
      await c.hearsText('asked');
      t.notOk(c.frames.some(({ text }) => text === 'in flight'));
    },
  );

  t.test('two sockets of one user are two talkers', async (t) => {
    const group = await single(t, 2, 'two sockets');
    const [a, b] = group.radios;
    const second = await group.people[0].radio();
    t.teardown(() => second.socket.terminate());
    a.speaks(group.number, 'one', { start: true });
    await b.hearsFrame();
    second.speaks(group.number, 'two', { start: true });
    t.match(await second.hears('FLOOR_DENIED'), { code: 'busy', talker: { session: a.session } });
    second.speaks(group.number, '', { end: true });
    a.speaks(group.number, 'mine', { end: true });
    t.match(await b.hears('TALK_ENDED'), { session: a.session, frames: 2 });
  });

  t.test('who waits is told his place, and again whenever it changes', async (t) => {
    const group = await single(t, 5, 'queue');
    const [a, b, c, d, e] = group.radios as [Radio, Radio, Radio, Radio, Radio];
    a.speaks(group.number, 'of a', { start: true });
    await b.hearsFrame();
    const place = (position: number, size: number) => ({
      type: 'FLOOR_QUEUED',
      talkgroup_id: group.id,
      position,
      size,
    });
    for (const [index, radio] of [b, c, d].entries())
      t.match(await request(radio, group, { queue: true }), place(index + 1, index + 1));
    t.match(await request(e, group, { queue: true, priority: 2 }), place(1, 4), 'a higher one goes before');
    t.same(await b.hears('FLOOR_QUEUED'), place(2, 4), 'pushed without a ref');
    t.same(await c.hears('FLOOR_QUEUED'), place(3, 4));
    t.same(await d.hears('FLOOR_QUEUED'), place(4, 4));
    t.match(await release(b, group), { type: 'OK' }, 'who releases leaves the queue');
    t.same(await c.hears('FLOOR_QUEUED'), place(2, 3));
    t.same(await d.hears('FLOOR_QUEUED'), place(3, 3));
    await settled(e);
    t.notOk(typesLeft(e).includes('FLOOR_QUEUED'), 'who keeps his place hears nothing');

    a.speaks(group.number, '', { end: true });
    const granted = await e.hears('FLOOR_GRANTED');
    t.match(granted, { burst: 1, priority: 2 });
    t.notOk('ref' in granted, 'an answer came already');
    t.same(await c.hears('FLOOR_QUEUED'), place(1, 2));
    t.same(await d.hears('FLOOR_QUEUED'), place(2, 2));
    e.speaks(group.number, 'of e', { end: true });
    await c.hearsText('of e');
    t.match(await c.hears('FLOOR_GRANTED'), { burst: 1 });
    t.same(await d.hears('FLOOR_QUEUED'), place(1, 1));
    await settled(b);
    t.notOk(typesLeft(b).includes('FLOOR_GRANTED'), 'who left the queue is passed over');
  });

  t.test('who waits and asks again keeps his time, and without `queue` his place is gone', async (t) => {
    const group = await single(t, 3, 'again');
    const [a, b, c] = group.radios;
    a.speaks(group.number, 'of a', { start: true });
    await b.hearsFrame();
    await request(b, group, { queue: true, priority: 1 });
    await request(c, group, { queue: true, priority: 2 });
    t.match(await b.hears('FLOOR_QUEUED'), { position: 2 });
    t.match(await request(b, group, { queue: true, priority: 2 }), { position: 1, size: 2 }, 'the older one');
    t.match(await c.hears('FLOOR_QUEUED'), { position: 2, size: 2 });
    t.match(await request(b, group), { type: 'FLOOR_DENIED', code: 'busy' });
    t.match(await c.hears('FLOOR_QUEUED'), { position: 1, size: 1 });
    t.match(await release(b, group), { type: 'ERROR', code: 'not_holder' });
  });

  t.test('a frame of one who waits is refused, and his place is kept', async (t) => {
    const group = await single(t, 2, 'impatient');
    const [a, b] = group.radios;
    a.speaks(group.number, 'of a', { start: true });
    await b.hearsFrame();
    const codec = { name: 'pcm', sample_rate: 8000, frame_ms: 20 };
    await request(b, group, { queue: true, codec });
    b.speaks(group.number, 'too early', { start: true });
    b.speaks(group.number, 'too early');
    t.match(await b.hears('FLOOR_DENIED'), { code: 'busy', talker: { session: a.session } });
    a.speaks(group.number, '', { end: true });
    await b.hears('FLOOR_GRANTED');
    b.speaks(group.number, 'now', { start: true });
    t.match(await a.hearsFrame(), { text: 'now', burst: 1 });
    t.notOk(typesLeft(b).includes('FLOOR_DENIED'), 'told once');
    t.match(
      await a.hears('TALK_STARTED', ({ session }) => session === b.session),
      { codec },
      'and his codec',
    );
  });

  t.test('20 wait, and one more is told that the queue is full', async (t) => {
    const group = await single(t, 22, 'long queue');
    const [a, ...others] = group.radios;
    a.speaks(group.number, 'of a', { start: true });
    await others[0].hearsFrame();
    for (const [index, radio] of others.slice(0, 20).entries())
      t.match(await request(radio, group, { queue: true }), { position: index + 1, size: index + 1 });
    const [last, first] = [others.at(-1) as Radio, others[0]];
    t.match(await request(last, group, { queue: true }), {
      type: 'FLOOR_DENIED',
      code: 'queue_full',
      talker: { session: a.session },
    });
    t.match(
      await request(first, group, { queue: true }),
      { position: 1, size: 20 },
      'who waits may ask again',
    );
    await release(first, group);
    t.match(await request(last, group, { queue: true }), { position: 20, size: 20 });
  });

  t.test('priorities up to 3 take nothing from anybody, and a user has no more', async (t) => {
    const group = await single(t, 2, 'clamped');
    const [a, b] = group.radios;
    t.match(await request(a, group, { priority: 0 }), { type: 'FLOOR_GRANTED', priority: 0 });
    for (const priority of [3, 4, 7])
      t.match(await request(b, group, { priority }), { type: 'FLOOR_DENIED', code: 'busy' });
    await release(a, group);
    t.match(await request(b, group, { priority: 7 }), { type: 'FLOOR_GRANTED', priority: 3 });
  });

  t.test('an admin asking with 4 to 7 takes the floor from whoever stands lower', async (t) => {
    const group = await single(t, 4, 'preempted', 2);
    const [chief, other, a, b] = group.radios;
    a.speaks(group.number, 'one', { start: true });
    await b.hearsText('one');
    t.match(await request(chief, group, { priority: 3 }), { code: 'busy' }, 'admins’ 3 is everybody’s');
    t.match(await request(chief, group, { priority: 5 }), { type: 'FLOOR_GRANTED', priority: 5, burst: 1 });
    t.same(await a.hears('FLOOR_REVOKED'), {
      type: 'FLOOR_REVOKED',
      talkgroup_id: group.id,
      burst: 1,
      code: 'preempted',
    });
    for (const radio of [a, b])
      t.match(await radio.hears('TALK_ENDED'), { session: a.session, code: 'preempted', frames: 1 });
    t.ok(heardBy(a).indexOf('FLOOR_REVOKED') < heardBy(a).indexOf('TALK_ENDED'));

    t.match(await request(other, group, { priority: 5 }), { type: 'FLOOR_DENIED', code: 'busy' }, 'equal');
    t.match(await request(other, group, { priority: 6 }), { type: 'FLOOR_GRANTED', priority: 6 });
    t.match(await chief.hears('FLOOR_REVOKED'), { burst: 1, code: 'preempted' });
    other.speaks(group.number, 'of the other', { start: true });
    await b.hearsText('of the other');
    t.notOk(
      b.messages.some(({ type, session }) => type === 'TALK_ENDED' && session === chief.session),
      'what never began has no end',
    );
  });

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

  t.test('a priority that is no integer from 0 to 7 is a bad message', async (t) => {
    const group = await single(t, 1, 'bad priority');
    const [a] = group.radios;
    for (const priority of [8, -1, 1.5, '1', true])
      t.match(await request(a, group, { priority }), { type: 'ERROR', code: 'bad_message' });
    for (const queue of [0, 'true'])
      t.match(await request(a, group, { queue }), { type: 'ERROR', code: 'bad_message' });
  });

  t.test('the talk limit ends a burst, whatever is in flight, until the talker begins anew', async (t) => {
    const group = await s.crew(t, 2, { name: 'limit', floor_mode: 'single', max_talk_ms: 1000 });
    const [a, b] = group.radios;
    const startedAt = performance.now();
    a.speaks(group.number, 'one', { start: true });
    t.match(await a.hears('FLOOR_GRANTED'), { max_talk_ms: 1000 });
    t.match(await a.hears('FLOOR_REVOKED'), { burst: 1, code: 'too_long' });
    t.ok(performance.now() - startedAt >= 1000, 'not before its time');
    t.match(await b.hears('TALK_ENDED'), { burst: 1, code: 'too_long', frames: 1 });
    a.speaks(group.number, 'in flight');
    await settled(a, b);
    t.equal(b.frames.length, 1);
    t.notOk(typesLeft(a).includes('FLOOR_DENIED'));
    a.speaks(group.number, 'two', { start: true });
    await b.hearsText('two');
  });

  t.test('a running burst keeps the limit it began with, 0 is none, and `open` has none', async (t) => {
    const kept = await single(t, 2, 'limit kept');
    const none = await s.crew(t, 2, { name: 'no limit', floor_mode: 'single', max_talk_ms: 0 });
    const open = await s.crew(t, 2, { name: 'open limit', max_talk_ms: 1000 });
    const limited = await single(t, 2, 'limit set');
    for (const { radios, number } of [kept, none, open]) radios[0].speaks(number, 'one', { start: true });
    t.match(await kept.radios[0].hears('FLOOR_GRANTED'), { max_talk_ms: 60_000 });
    t.match(await none.radios[0].hears('FLOOR_GRANTED'), { max_talk_ms: 0 });
    await open.radios[1].hearsText('one');

    for (const { id } of [kept, limited]) await s.admin.patch(`/talkgroups/${id}`, { max_talk_ms: 1000 });
    limited.radios[0].speaks(limited.number, 'begun last', { start: true });
    t.match(await limited.radios[1].hears('TALK_ENDED'), { code: 'too_long' });
    for (const { radios, number } of [kept, none, open]) {
      radios[0].speaks(number, 'two', { end: true });
      t.match(await radios[1].hears('TALK_ENDED'), { burst: 1, code: 'released', frames: 2 });
    }
    t.match(await request(kept.radios[0], kept), { max_talk_ms: 1000 }, 'the next one has the new limit');
  });

  t.test(
    'a grant unused for 2 s is revoked without others hearing of it, and who waits next has it',
    async (t) => {
      const groups = [await single(t, 3, 'unused'), await s.crew(t, 3, { name: 'unused open' })] as const;
      const waiting = await single(t, 2, 'unused queue');
      const grantedAt = performance.now();
      for (const group of groups) t.match(await request(group.radios[0], group), { burst: 1 });
      const [first, next] = waiting.radios;
      await request(first, waiting);
      await request(next, waiting, { queue: true });

      for (const { radios, id } of groups) {
        t.same(await radios[0].hears('FLOOR_REVOKED'), {
          type: 'FLOOR_REVOKED',
          talkgroup_id: id,
          burst: 1,
          code: 'unused',
        });
        const tookMs = performance.now() - grantedAt;
        t.ok(tookMs >= 2000, `${Math.round(tookMs)} ms`);
        if (!isDealt) within(t, tookMs, 3000); // two nodes share the machine
        t.match(await release(radios[0], { id }), { type: 'ERROR', code: 'not_holder' });
        await settled(radios[2]);
        t.same(heardBy(radios[2]), ['PONG']);
      }
      t.match(await next.hears('FLOOR_GRANTED'), { burst: 1 });
    },
  );

  t.test('from `open` to `single` the oldest burst goes on and the younger ones end', async (t) => {
    const group = await s.crew(t, 4, { name: 'to single' });
    const [a, b, c, d] = group.radios;
    for (const radio of [b, a, c]) {
      radio.speaks(group.number, 'one', { start: true });
      await d.hearsFrame();
    }
    await s.admin.patch(`/talkgroups/${group.id}`, { floor_mode: 'single' });
    // The change is answered: what is spoken from here on must follow it.
    for (const radio of [a, b, c]) radio.speaks(group.number, `of ${radio.session}`);
    await settled(a, b, c, d);
    t.same(
      d.frames.map(({ text }) => text),
      [`of ${b.session}`],
    );
    for (const radio of [a, c]) {
      t.match(await radio.hears('FLOOR_REVOKED'), { burst: 1, code: 'mode' });
      // Those of two nodes end in any order.
      const ended = await d.hears('TALK_ENDED', ({ session }) => !isDealt || session === radio.session);
      t.match(ended, { session: radio.session, code: 'mode', frames: 1 });
    }
    t.notOk(typesLeft(b).includes('FLOOR_REVOKED'));
    t.same(await d.hears('TALKGROUP_CHANGED'), {
      type: 'TALKGROUP_CHANGED',
      talkgroup_id: group.id,
      name: 'to single',
      floor_mode: 'single',
      max_talk_ms: 60_000,
      encryption: 'allowed',
      clear_emergency: true,
    });
    a.speaks(group.number, 'again', { start: true });
    t.match(await a.hears('FLOOR_DENIED'), { code: 'busy', talker: { session: b.session } });
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
    'from `single` to `broadcast` users are cut off and refused, and admins keep their place',
    async (t) => {
      const group = await single(t, 4, 'to broadcast', 1);
      const [chief, a, b, c] = group.radios;
      a.speaks(group.number, 'one', { start: true });
      await c.hearsText('one');
      await request(b, group, { queue: true, priority: 3 });
      await request(chief, group, { queue: true });
      await s.admin.patch(`/talkgroups/${group.id}`, { floor_mode: 'broadcast' });
      t.match(await a.hears('FLOOR_REVOKED'), { code: 'mode' });
      t.match(await c.hears('TALK_ENDED'), { session: a.session, code: 'mode' });
      const denial = await b.hears('FLOOR_DENIED');
      t.same(denial, { type: 'FLOOR_DENIED', talkgroup_id: group.id, code: 'forbidden' });
      t.match(await chief.hears('FLOOR_GRANTED'), { burst: 1 }, 'the floor is free for who may have it');
      b.speaks(group.number, 'in flight');
      await settled(b);
      t.notOk(typesLeft(b).includes('FLOOR_DENIED'), 'muted after it');
    },
  );

  t.test('from `single` to `open` everybody who waits is granted', async (t) => {
    const group = await single(t, 3, 'to open');
    const [a, b, c] = group.radios;
    a.speaks(group.number, 'of a', { start: true });
    await b.hearsText('of a');
    for (const radio of [b, c]) await request(radio, group, { queue: true });
    await s.admin.patch(`/talkgroups/${group.id}`, { floor_mode: 'open' });
    for (const radio of [b, c]) {
      t.match(await radio.hears('FLOOR_GRANTED'), { burst: 1, max_talk_ms: 0 });
      radio.speaks(group.number, `of ${radio.session}`, { start: true });
      await a.hearsText(`of ${radio.session}`);
    }
    a.speaks(group.number, 'still there', { end: true });
    t.match(await b.hears('TALK_ENDED'), { session: a.session, burst: 1, code: 'released' });
  });

  t.test('in `broadcast` a user is refused once, an admin and who calls for help are heard', async (t) => {
    const group = await s.crew(t, 3, { name: 'broadcast', floor_mode: 'broadcast', admins: 1 });
    const [chief, a, b] = group.radios;
    for (let frame = 0; frame < 5; frame++) a.speaks(group.number, 'of a', { start: frame === 0 });
    t.same(await a.hears('FLOOR_DENIED'), {
      type: 'FLOOR_DENIED',
      talkgroup_id: group.id,
      code: 'forbidden',
    });
    t.match(await request(a, group, { queue: true }), { type: 'FLOOR_DENIED', code: 'forbidden' });
    chief.speaks(group.number, 'of the chief', { start: true });
    t.match(await b.hearsText('of the chief'), { sender: chief.session });
    t.match(await chief.hears('FLOOR_GRANTED'), { priority: 1, max_talk_ms: 60_000 });
    t.match(await request(a, group, { queue: true }), { type: 'FLOOR_DENIED', code: 'forbidden' });
    chief.speaks(group.number, '', { end: true });
    await b.hears('TALK_ENDED');
    t.notOk(typesLeft(a).includes('FLOOR_DENIED'));

    await a.asks({ type: 'EMERGENCY_RAISE', talkgroup_id: group.id });
    a.speaks(group.number, 'help', { start: true });
    t.match(await b.hearsText('help'), { sender: a.session });
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
        t.notOk(told.some((message) => 'event' in message));
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

  t.test('only who holds or waits can release', async (t) => {
    const group = await single(t, 2, 'release');
    const [a, b] = group.radios;
    t.match(await release(a, group), { type: 'ERROR', code: 'not_holder', talkgroup_id: group.id });
    t.match(await release(a, { id: '00000000-0000-4000-8000-000000000000' }), { code: 'not_holder' });
    await request(a, group);
    t.match(await release(b, group), { type: 'ERROR', code: 'not_holder' });
    t.same(Object.keys(await release(a, { id: group.id.toUpperCase() })), ['type', 'ref'], 'OK');
    t.match(await release(a, group), { type: 'ERROR', code: 'not_holder' });
    a.speaks(group.number, 'one', { start: true });
    await b.hearsText('one');
    a.says({ type: 'FLOOR_RELEASE', talkgroup_id: group.id });
    t.match(await b.hears('TALK_ENDED'), { burst: 2, code: 'released', frames: 1 });
    await settled(a);
    t.notOk(typesLeft(a).includes('OK'), 'without a ref there is no OK');
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
    'a member removed by an admin is told `left`, his burst ends, and the floor passes on',
    async (t) => {
      const group = await single(t, 3, 'removed');
      const [a, b, c] = group.radios;
      a.speaks(group.number, 'one', { start: true });
      await b.hearsText('one');
      for (const radio of [b, c]) await request(radio, group, { queue: true });
      const [ann, bob] = group.people;
      await s.admin.delete(`/talkgroups/${group.id}/members/${bob.id}`);
      t.same(await b.hears('TALKGROUP_LEFT'), {
        type: 'TALKGROUP_LEFT',
        talkgroup_id: group.id,
        reason: 'left',
      });
      t.match(await c.hears('FLOOR_QUEUED'), { position: 1, size: 1 }, 'the queue moves up');
      await s.admin.delete(`/talkgroups/${group.id}/members/${ann.id}`);
      a.speaks(group.number, 'after it');
      t.match(await a.hears('FLOOR_REVOKED'), { burst: 1, code: 'left' });
      t.match(await a.hears('TALKGROUP_LEFT'), { reason: 'left' });
      t.match(await c.hears('TALK_ENDED'), { session: a.session, code: 'left', frames: 1 });
      t.match(await c.hears('FLOOR_GRANTED'), { burst: 1 });
      await settled(a, c);
      t.notOk(c.frames.some(({ text }) => text === 'after it'));
      t.match(await request(a, group), { type: 'FLOOR_DENIED', code: 'not_member' });
    },
  );

  t.test(
    'who is cut off by the end of its talkgroup or device is told before it hears no more',
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
    t.same((await b.hears('TALK_STARTED')).codec, codec);
    const late = await group.people[1].radio();
    t.match(late.welcome?.talkgroups, [{ talkers: [{ codec }] }]);
    late.socket.terminate();
    a.speaks(group.number, '', { end: true });
    a.speaks(group.number, 'two', { start: true, end: true });
    t.notOk('codec' in (await b.hears('TALK_STARTED')), 'without a request it is the usual one');
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

  t.test('a START inside a burst ends it and begins the next, in `single` too', async (t) => {
    const group = await single(t, 2, 'restart');
    const [a, b] = group.radios;
    a.speaks(group.number, 'one', { start: true });
    a.speaks(group.number, 'two', { start: true });
    await b.hearsText('two');
    t.match(await b.hears('TALK_ENDED'), { burst: 1, code: 'released', frames: 1 });
    t.same(
      b.frames.map(({ burst, flags }) => [burst, flags]),
      [
        [1, START],
        [2, START],
      ],
    );
    t.match(await a.hears('FLOOR_GRANTED'), { burst: 1 });
    t.match(await a.hears('FLOOR_GRANTED'), { burst: 2 });
  });

  t.test('a START inside a burst while others wait gives them the floor', async (t) => {
    const group = await single(t, 2, 'restart queue');
    const [a, b] = group.radios;
    a.speaks(group.number, 'one', { start: true });
    await b.hearsText('one');
    await request(b, group, { queue: true });
    a.speaks(group.number, 'two', { start: true });
    t.match(await b.hears('TALK_ENDED'), { burst: 1, code: 'released', frames: 1 });
    await b.hears('FLOOR_GRANTED');
    t.match(await a.hears('FLOOR_DENIED'), { code: 'busy' });
  });

  t.test('the END frame is heard and counted, and the floor is free behind it', async (t) => {
    const group = await single(t, 3, 'end frame');
    const [a, b, c] = group.radios;
    a.speaks(group.number, 'one', { start: true });
    a.speaks(group.number, 'last', { end: true });
    t.match(await c.hearsText('last'), { flags: END });
    t.match(await c.hears('TALK_ENDED'), { code: 'released', frames: 2 });
    b.speaks(group.number, 'next', { start: true });
    t.match(await c.hearsText('next'), { sender: b.session });
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
  });
});

/** Over two relays a test hears of the other one's steps before it goes on. */
const SILENCE_MS = isDealt ? 2000 : 300;

t.test('silence', async (t) => {
  const s = await service(t, { TALK_SILENCE_MS: String(SILENCE_MS) });

  t.test('in `single` it revokes the floor, ends the burst, and the next in the queue has it', async (t) => {
    const group = await s.crew(t, 2, { name: 'silent', floor_mode: 'single' });
    const [a, b] = group.radios;
    a.speaks(group.number, 'one', { start: true });
    await b.hearsText('one');
    t.match(await b.asks({ type: 'FLOOR_REQUEST', talkgroup_id: group.id, queue: true }), { position: 1 });
    t.match(await a.hears('FLOOR_REVOKED'), { burst: 1, code: 'silence' });
    t.match(await b.hears('TALK_ENDED'), { burst: 1, code: 'silence', frames: 1 });
    await b.hears('FLOOR_GRANTED');
    await a.hears('TALK_ENDED');
    t.ok(heardBy(a).indexOf('FLOOR_REVOKED') < heardBy(a).indexOf('TALK_ENDED'));
  });

  t.test('in `open` it is told as TALK_ENDED alone, to who had asked as well', async (t) => {
    const group = await s.crew(t, 2, { name: 'silent open' });
    const [a, b] = group.radios;
    await b.asks({ type: 'FLOOR_REQUEST', talkgroup_id: group.id });
    for (const radio of [b, a]) {
      radio.speaks(group.number, 'one', { start: true });
      for (const one of [a, b])
        t.match(await one.hears('TALK_ENDED'), { session: radio.session, code: 'silence' });
      await settled(radio);
      t.notOk(typesLeft(radio).includes('FLOOR_REVOKED'));
    }
  });

  t.test('a dead talker’s floor is kept for its return beyond T1', async (t) => {
    const group = await s.crew(t, 2, { name: 'dead, silent', floor_mode: 'single' });
    const [a, b] = group.radios;
    a.speaks(group.number, 'one', { start: true });
    await b.hearsText('one');
    a.socket.terminate();
    t.match(await b.hears('TALK_ENDED'), { session: a.session, code: 'disconnected' });
  });

  t.test('whoever was silent may begin again without START', async (t) => {
    const group = await s.crew(t, 2, { name: 'silent, again', floor_mode: 'single' });
    const [a, b] = group.radios;
    a.speaks(group.number, 'one', { start: true });
    await b.hears('TALK_ENDED');
    a.speaks(group.number, 'two');
    t.match(await b.hearsText('two'), { burst: 2, flags: START });
  });

  t.test('after an unused grant a frame in flight does not take the floor back', async (t) => {
    const group = await s.crew(t, 2, { name: 'unused in flight', floor_mode: 'single' });
    const [a, b] = group.radios;
    await a.asks({ type: 'FLOOR_REQUEST', talkgroup_id: group.id });
    await a.hears('FLOOR_REVOKED');
    a.speaks(group.number, 'in flight');
    await settled(a, b);
    t.same(b.frames, []);
    a.speaks(group.number, 'pressed again', { start: true });
    t.match(await b.hearsText('pressed again'), { burst: 2 });
  });

  t.test('after a denied FLOOR_REQUEST the frames in flight are dropped without a word', async (t) => {
    const group = await s.crew(t, 2, { name: 'denied in flight', floor_mode: 'single' });
    const [a, b] = group.radios;
    a.speaks(group.number, 'one', { start: true });
    await b.hearsText('one');
    t.match(await b.asks({ type: 'FLOOR_REQUEST', talkgroup_id: group.id }), { code: 'busy' });
    b.speaks(group.number, 'in flight');
    await settled(b);
    t.notOk(typesLeft(b).includes('FLOOR_DENIED'));
  });

  t.test('T1 of silence lifts a mute, and frames that keep coming do not', async (t) => {
    const group = await s.crew(t, 3, { name: 'muted', floor_mode: 'single' });
    const elsewhere = await s.talkgroup('muted elsewhere', ...group.people);
    for (const person of group.people) await person.post(`/talkgroups/${elsewhere.id}/join`);
    const [a, b, c] = group.radios;
    a.speaks(group.number, 'of a', { start: true });
    await c.hearsText('of a');
    b.speaks(group.number, 'denied', { start: true });
    await b.hears('FLOOR_DENIED');
    a.speaks(group.number, '', { end: true });
    for (let frame = 0; frame < 10; frame++) {
      await new Promise((resolve) => setTimeout(resolve, SILENCE_MS / 5)); // the pace of one who does not listen
      b.speaks(group.number, 'muted');
    }
    // A burst elsewhere that begins now and ends by silence: T1 has passed.
    b.speaks(elsewhere.number, 'meanwhile', { start: true });
    t.match(await c.hears('TALK_ENDED', ({ talkgroup_id }) => talkgroup_id === elsewhere.id), {
      code: 'silence',
    });
    t.notOk(c.frames.some(({ text }) => text === 'muted' || text === 'denied'));
    b.speaks(group.number, 'after the silence');
    await c.hearsText('after the silence');
  });
});
