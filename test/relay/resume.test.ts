// Coming back: a session that goes on over another socket, what it keeps meanwhile and for how long, and who may not.
import { once } from 'node:events';
import t, { type Test } from 'tap';
import { encodeFrame } from '../../src/protocol/frame.js';
import { throughProxy } from '../helpers/database/proxied-database.js';
import { scrape } from '../helpers/http/exposition.js';
import { dies } from '../helpers/relay/lost-sockets.js';
import { BINARY, wire, wireFrame } from '../helpers/relay/wire.js';
import { connect, type Json, type Radio, service } from '../helpers/service/service.js';
import { isDealt, isOverNodes } from '../helpers/service/two-nodes.js';
import { within } from '../helpers/within.js';

t.setTimeout(300_000);
// These wait more than they work: side by side they take as long as the longest few. Over two relays a
// return takes longer the more radios come and go.
t.jobs = isDealt ? 1 : 4;

/** The floor of a dead socket is kept so long. */
const LOST_MS = 1500;
/** A machine that stands still for as long proves nothing, and it is tried again. */
const ATTEMPTS = 5;

// No burst here ends by silence.
const s = await service(t, { TALK_SILENCE_MS: '60000' });

type Crew = Awaited<ReturnType<typeof s.crew>>;
const single = (t: Test, count: number, name: string) => s.crew(t, count, { name, floor_mode: 'single' });
const request = (radio: Radio, { id }: { id: string }, more: Json = {}) =>
  radio.asks({ type: 'FLOOR_REQUEST', talkgroup_id: id, ...more });

t.test('a socket that dies comes back with its number and its modes', { buffered: true }, async (t) => {
  const [ann, bob] = [await s.person('modes-ann'), await s.person('modes-bob')];
  const groups = [];
  for (const name of ['talk', 'listen', 'events', 'none'])
    groups.push(await s.talkgroup(`modes ${name}`, ann, bob));
  const [talk, listen, events, none] = groups as [Crew, Crew, Crew, Crew];
  const [a, first] = [await ann.radio(), await bob.radio()];
  await first.asks({ type: 'SUBSCRIBE', talkgroup_ids: [listen.id], mode: 'listen', presence: true });
  await first.asks({ type: 'SUBSCRIBE', talkgroup_ids: [events.id], mode: 'events' });
  await first.asks({ type: 'UNSUBSCRIBE', talkgroup_ids: [none.id] });
  await dies(first, a, talk);

  const b = await bob.resumes(first);
  t.match(b.welcome, { resumed: true, session: first.session, user_id: bob.id });
  t.not(b.welcome?.resume_token, first.welcome?.resume_token, 'with another token');
  t.same(
    new Set(b.welcome?.talkgroups.map(({ talkgroup_id }) => talkgroup_id)),
    new Set([talk.id, listen.id, events.id]),
  );
  for (const { number } of [none, events, listen, talk])
    a.speaks(number, `to ${number}`, { start: true, end: true });
  await b.hearsText(`to ${talk.number}`);
  t.same(
    b.frames.map(({ talkgroup }) => talkgroup),
    [listen.number, talk.number],
  );
  t.match(await b.hears('TALK_STARTED'), { talkgroup_id: events.id });
  t.match(await request(b, listen), { type: 'FLOOR_DENIED', code: 'listen_only' });
  t.match(await request(b, talk), { type: 'FLOOR_GRANTED' });
  const another = await ann.radio();
  // Where the session came from another node, the first PRESENCE may have no names.
  const isOf = ({ joined }: Json) =>
    (joined as Json[] | undefined)?.some(({ session }) => session === another.session) ?? true;
  t.match(await b.hears('PRESENCE', isOf), { talkgroup_id: listen.id });
});

t.test(
  'if the old socket still lives the new one takes over, the running burst included',
  { buffered: true },
  async (t) => {
    const groups = [await s.crew(t, 2, { name: 'taken over open' }), await single(t, 2, 'taken over single')];
    for (const group of groups) {
      const [old, b] = group.radios;
      old.speaks(group.number, 'one', { start: true });
      await b.hearsText('one');
      const a = await group.people[0].resumes(old);
      t.same(await old.closes(), { code: 1000, reason: 'resumed' });
      t.match(a.welcome, { resumed: true, session: old.session });
      t.match(a.welcome?.talkgroups, [
        { event: 1, online: 2, talkers: [{ session: old.session, burst: 1, frames: 1 }] },
      ]);
      a.speaks(group.number, 'two', { sequence: 1 });
      a.speaks(group.number, 'three', { sequence: 2, end: true });
      t.match(await b.hears('TALK_ENDED'), { burst: 1, code: 'released', frames: 3, event: 2 });
      t.same(
        b.frames.map(({ sender, burst, flags }) => [sender, burst, flags]),
        [
          [old.session, 1, 8],
          [old.session, 1, 0],
          [old.session, 1, 4],
        ],
        'for the listener nothing has happened',
      );
      t.match(await a.hears('TALK_ENDED'), { event: 2 });
      a.speaks(group.number, 'next', { start: true });
      t.match(await b.hearsText('next'), { sender: old.session, burst: 2 }, 'burst numbers go on');
      await a.settled();
      t.equal(a.messages.filter(({ type }) => type === 'TALK_STARTED').length, 1, 'nothing is heard twice');
      a.socket.terminate();
    }
  },
);

t.test('frames still in the old socket are dropped', { buffered: true }, async (t) => {
  const group = await s.crew(t, 2, { name: 'old frames' });
  const [, b] = group.radios;
  const ann = group.people[0];
  const old = await wire(t, `${s.ws}/ws?token=${ann.token}`);
  const welcome = await old.hears(({ type }) => type === 'WELCOME');
  const frame = (text: string) =>
    wireFrame({
      opcode: BINARY,
      payload: encodeFrame({ sequence: 0, talkgroup: group.number, payload: Buffer.from(text) }),
    });
  old.write(frame('in time'));
  await b.hearsText('in time');
  // What is written before the relay takes over is heard, what is written after it is not, at any order of the reads.
  const writing = setInterval(() => !old.socket.closed && old.write(frame('old')), 1);
  const a = await ann.resumes({ welcome: welcome as Radio['welcome'] });
  t.ok(a.welcome?.resumed);
  a.speaks(group.number, 'new');
  await b.hearsText('new');
  await old.ends();
  clearInterval(writing);
  await a.settled();
  await b.settled();
  const texts = b.frames.map(({ text }) => text);
  t.same(texts.slice(texts.indexOf('new')), ['new'], 'none behind the first of the new socket');
  t.ok(b.frames.every(({ burst }) => burst === 1));
});

t.test('a talker whose socket died finds its floor kept, and goes on', { buffered: true }, async (t) => {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const group = await single(t, 3, `kept ${attempt}`);
    const [old, b, c] = group.radios;
    old.speaks(group.number, 'one', { start: true });
    await b.hearsText('one');
    const aliveAtMs = performance.now();
    await dies(old, c, group);
    b.speaks(group.number, 'mine?', { start: true });
    t.match(await b.hears('FLOOR_DENIED'), { code: 'busy', talker: { session: old.session } });
    const a = await group.people[0].resumes(old);
    a.speaks(group.number, 'two', { sequence: 1, end: true });
    const end = await b.hears('TALK_ENDED');
    const isLate = performance.now() - aliveAtMs >= LOST_MS;
    if (isLate && attempt < ATTEMPTS) continue;
    t.match(a.welcome, { resumed: true, talkgroups: [{ talkers: [{ session: old.session, burst: 1 }] }] });
    t.match(end, { burst: 1, code: 'released', frames: 2 });
    t.same(
      b.frames.map(({ text }) => text),
      ['one', 'two'],
    );
    a.socket.terminate();
    return;
  }
});

t.test(
  'a talker that does not come back is gone after 1.5 s, in `open` at once',
  { buffered: true },
  async (t) => {
    const [kept, open] = [await single(t, 3, 'lost'), await s.crew(t, 2, { name: 'lost open' })];
    const [a, b, next] = kept.radios;
    const [c, d] = open.radios;
    a.speaks(kept.number, 'one', { start: true });
    await b.hearsText('one');
    await request(next, kept, { queue: true });
    c.speaks(open.number, 'one', { start: true });
    await d.hearsText('one');

    const diedAt = performance.now();
    for (const radio of [a, c]) radio.socket.terminate();
    t.match(await d.hears('TALK_ENDED'), { session: c.session, code: 'disconnected', frames: 1 });
    within(t, performance.now() - diedAt, 1000);
    t.match(await b.hears('TALK_ENDED'), { session: a.session, code: 'disconnected', frames: 1 });
    const tookMs = performance.now() - diedAt;
    t.ok(tookMs >= LOST_MS, `${Math.round(tookMs)} ms`);
    within(t, tookMs, LOST_MS + 1000);
    await next.hears('FLOOR_GRANTED');

    const back = await kept.people[0].resumes(a);
    t.ok(back.welcome?.resumed, 'the session itself is kept longer');
    t.match(await request(back, kept), { type: 'FLOOR_DENIED', code: 'busy' });
    back.socket.terminate();
  },
);

t.test(
  'a queued session that lost its socket is passed over while away, and finds its place',
  { buffered: true },
  async (t) => {
    const group = await single(t, 4, 'place');
    const [a, old, c, onlooker] = group.radios;
    a.speaks(group.number, 'of a', { start: true });
    await c.hearsText('of a');
    for (const radio of [old, c]) await request(radio, group, { queue: true });
    await dies(old, onlooker, group);
    a.speaks(group.number, '', { end: true });
    await c.hears('FLOOR_GRANTED');
    c.speaks(group.number, 'of c', { start: true });
    const b = await group.people[1].resumes(old);
    t.match(b.welcome, { resumed: true });
    t.equal((b.arrivals[0] as Json).type, 'WELCOME', 'first of all');
    t.match(await b.hears('FLOOR_QUEUED'), { talkgroup_id: group.id, position: 1, size: 1 });
    c.speaks(group.number, '', { end: true });
    t.match(await b.hears('FLOOR_GRANTED'), { burst: 1 });
    b.socket.terminate();
  },
);

t.test(
  'a queued session that comes back to a free floor has it, and is told after WELCOME',
  { buffered: true },
  async (t) => {
    const group = await single(t, 3, 'free again');
    const [a, old, onlooker] = group.radios;
    a.speaks(group.number, 'of a', { start: true });
    await onlooker.hearsText('of a');
    await request(old, group, { queue: true });
    await dies(old, onlooker, group);
    a.speaks(group.number, '', { end: true });
    await onlooker.hears('TALK_ENDED');
    const b = await group.people[1].resumes(old);
    t.match(await b.hears('FLOOR_GRANTED'), { burst: 1 });
    t.equal((b.arrivals[0] as Json).type, 'WELCOME');
    t.ok(b.welcome?.resumed);
    b.socket.terminate();
  },
);

t.test(
  'a place in the queue whose owner does not come back is gone after 1.5 s',
  { buffered: true },
  async (t) => {
    const group = await single(t, 3, 'place lost');
    const [a, b, c] = group.radios;
    a.speaks(group.number, 'of a', { start: true });
    await c.hearsText('of a');
    for (const radio of [b, c]) await request(radio, group, { queue: true });
    const diedAt = performance.now();
    b.socket.terminate();
    t.match(await c.hears('FLOOR_QUEUED'), { position: 1, size: 1 });
    const tookMs = performance.now() - diedAt;
    t.ok(tookMs >= LOST_MS, `${Math.round(tookMs)} ms`);
    within(t, tookMs, LOST_MS + 1000);
  },
);

t.test(
  'a client that says goodbye ends its talk at once and cannot resume',
  { buffered: true },
  async (t) => {
    const group = await single(t, 3, 'goodbye');
    const [a, b, c] = group.radios;
    a.speaks(group.number, 'one', { start: true });
    await c.hearsText('one');
    await request(b, group, { queue: true });
    const saidAt = performance.now();
    a.socket.close(1000);
    t.match(await c.hears('TALK_ENDED'), { session: a.session, code: 'disconnected' });
    await b.hears('FLOOR_GRANTED');
    within(t, performance.now() - saidAt, LOST_MS);
    const again = await group.people[0].resumes(a);
    t.match(again.welcome, { resumed: false });
    t.not(again.session, a.session);
    again.socket.terminate();
  },
);

t.test('a client that goes away, 1001, may come back', { buffered: true }, async (t) => {
  const ann = await s.person('going');
  const a = await ann.radio();
  a.socket.close(1001);
  await a.closes();
  const again = await ann.resumes(a);
  t.match(again.welcome, { resumed: true, session: a.session });
});

t.test('a token is good once, and each WELCOME brings the next', { buffered: true }, async (t) => {
  const ann = await s.person('once');
  const first = await ann.radio();
  let radio = first;
  const tokens = new Set([radio.welcome?.resume_token]);
  for (let round = 0; round < 3; round++) {
    radio = await ann.resumes(radio);
    t.match(radio.welcome, { resumed: true, session: first.session });
    tokens.add(radio.welcome?.resume_token);
  }
  t.equal(tokens.size, 4);
  const stale = await ann.resumes(first);
  t.match(stale.welcome, { resumed: false });
  t.not(stale.session, first.session);
  await radio.settled();
  t.equal(radio.socket.readyState, radio.socket.OPEN, 'whoever holds the session keeps it');
});

t.test('after a text too long the session is kept, after abuse it is not', { buffered: true }, async (t) => {
  const ann = await s.person('closed');
  const long = await ann.radio();
  long.says('x'.repeat(8193));
  await long.closes();
  t.match((await ann.resumes(long)).welcome, { resumed: true, session: long.session });
  const abusive = await ann.radio();
  for (let sent = 0; sent < 20; sent++) abusive.says('no JSON');
  t.same(await abusive.closes(), { code: 1013, reason: 'rate_limited' });
  t.match((await ann.resumes(abusive)).welcome, { resumed: false });
});

t.test('of many who bring one token at once, one goes on with the session', { buffered: true }, async (t) => {
  const ann = await s.person('race');
  const first = await ann.radio();
  const radios = await Promise.all(Array.from({ length: 8 }, () => ann.resumes(first)));
  const resumed = radios.filter(({ welcome }) => welcome?.resumed === true);
  t.equal(resumed.length, 1);
  t.equal(resumed[0]?.session, first.session);
  t.equal(new Set(radios.map(({ session }) => session)).size, 8, 'the others are sessions of their own');
  for (const radio of radios) radio.socket.terminate();
});

t.test(
  'another user’s attempt gets a session of its own and leaves the token valid',
  { buffered: true },
  async (t) => {
    const [ann, eve] = [await s.person('owner'), await s.person('thief')];
    const old = await ann.radio();
    const thief = await eve.resumes(old);
    t.match(thief.welcome, { resumed: false, user_id: eve.id });
    t.not(thief.session, old.session);
    await old.settled();
    const forged = await connect(t, `${s.ws}/ws?token=${ann.token}x&resume=${old.welcome?.resume_token}`);
    t.same(
      await forged.closes(),
      { code: 1008, reason: 'invalid token' },
      'a token resumes, it does not admit',
    );
    await old.settled();
    t.match((await ann.resumes(old)).welcome, { resumed: true, session: old.session });
  },
);

t.test('a token that is none, or two of them, means a new session', { buffered: true }, async (t) => {
  const ann = await s.person('no token');
  const old = await ann.radio();
  const good = old.welcome?.resume_token as string;
  for (const query of [
    'resume=',
    'resume=x',
    `resume=${good}A`,
    `resume=${good}&resume=${good}`,
    'resume=%00',
  ]) {
    const radio = await connect(t, `${s.ws}/ws?token=${ann.token}&${query}`);
    t.match(radio.welcome, { resumed: false }, query);
    t.not(radio.session, old.session);
  }
  t.match((await ann.resumes(old)).welcome, { resumed: true });
});

t.test('what was joined, left or deleted meanwhile is so on return', { buffered: true }, async (t) => {
  const [ann, bob] = [await s.person('meanwhile-ann'), await s.person('meanwhile-bob')];
  const [kept, left, rejoined, deleted] = [
    await s.talkgroup('kept', ann, bob),
    await s.talkgroup('left', ann, bob),
    await s.talkgroup('rejoined', ann, bob),
    await s.talkgroup('deleted', ann, bob),
  ];
  const joined = await s.talkgroup('joined', bob);
  // `other` hears what the relay that keeps the session has read.
  const [old, other, b] = [await ann.radioHere(), await ann.radioHere(), await bob.radio()];
  await old.asks({ type: 'SUBSCRIBE', talkgroup_ids: [kept.id, left.id, rejoined.id], mode: 'events' });
  await dies(old, b, kept);
  await ann.delete(`/talkgroups/${left.id}/leave`);
  await ann.delete(`/talkgroups/${rejoined.id}/leave`);
  // Before this the relay may see leave and join as one change that changes nothing.
  await other.hears('TALKGROUP_LEFT', ({ talkgroup_id }) => talkgroup_id === rejoined.id);
  await ann.post(`/talkgroups/${rejoined.id}/join`);
  await ann.post(`/talkgroups/${joined.id}/join`);
  await s.admin.delete(`/talkgroups/${deleted.id}`);

  const a = await ann.resumes(old);
  t.match(a.welcome, { resumed: true, session: old.session });
  t.same(
    new Set(a.welcome?.talkgroups.map(({ talkgroup_id }) => talkgroup_id)),
    new Set([kept.id, rejoined.id, joined.id]),
  );
  for (const { number } of [left, kept, rejoined, joined])
    b.speaks(number, 'one', { start: true, end: true });
  const heard = await a.hearsFrames(2);
  t.same(
    heard.map(({ talkgroup }) => talkgroup),
    [rejoined.number, joined.number],
    'joined anew is in mode `talk`, what stayed is as it was',
  );
  t.match(await request(a, joined), { type: 'FLOOR_GRANTED' });
  t.match(await request(a, left), { type: 'FLOOR_DENIED', code: 'not_member' });
});

t.test('changes reach a floor that is kept for a return', { buffered: true }, async (t) => {
  const [left, mode] = [await single(t, 2, 'left meanwhile'), await single(t, 2, 'mode meanwhile')];
  for (const { radios, number } of [left, mode]) {
    radios[0].speaks(number, 'one', { start: true });
    await radios[1].hearsText('one');
    await dies(radios[0], radios[1], radios === left.radios ? left : mode);
  }
  await left.people[0].delete(`/talkgroups/${left.id}/leave`);
  t.match(await left.radios[1].hears('TALK_ENDED'), { session: left.radios[0].session, code: 'left' });
  await s.admin.patch(`/talkgroups/${mode.id}`, { floor_mode: 'broadcast' });
  t.match(await mode.radios[1].hears('TALK_ENDED'), { session: mode.radios[0].session, code: 'mode' });
});

t.test('a disabled device voids the session, connected or not', { buffered: true }, async (t) => {
  const [ann, bob] = [await s.person('device-ann', { serial: 'resume-SN' }), await s.person('device-bob')];
  const group = await s.talkgroupWith({ name: 'device', floor_mode: 'single' }, ann, bob);
  const b = await bob.radio();
  const status = (active: boolean) => s.admin.patch(`/devices/${ann.device}/status`, { active });

  const parked = await ann.radio();
  parked.speaks(group.number, 'one', { start: true });
  await b.hearsText('one');
  await dies(parked, b, group);
  await status(false);
  t.match(await b.hears('TALK_ENDED'), { session: parked.session, code: 'disabled' });
  t.same(await (await ann.resumes(parked)).closes(), { code: 1008, reason: 'device disabled' });
  await status(true);
  t.match((await ann.resumes(parked)).welcome, { resumed: false });

  const live = await ann.radio();
  await status(false);
  t.same(await live.closes(), { code: 1008, reason: 'device disabled' });
  await status(true);
  t.match((await ann.resumes(live)).welcome, { resumed: false });
});

t.test(
  'a revoked user’s sessions are void, and a newer token resumes none of them',
  { buffered: true },
  async (t) => {
    const ann = await s.person('revoked');
    const group = await s.talkgroup('revoked', ann);
    const [parked, live, onlooker] = [await ann.radio(), await ann.radio(), await ann.radio()];
    await dies(parked, onlooker, group);
    t.equal((await s.revoke(ann.name)).code, 0);
    t.same(await live.closes(), { code: 1008, reason: 'invalid token' });
    const iat = Math.floor(Date.now() / 1000) + 60;
    const newer = s.sign({ sub: ann.id, username: ann.name, role: 'user', iat });
    for (const old of [parked, live]) {
      const radio = await connect(t, `${s.ws}/ws?token=${newer}&resume=${old.welcome?.resume_token}`);
      t.match(radio.welcome, { resumed: false });
    }
  },
);

t.test(
  'a session that was not resumed in time is over, and on another node there is none',
  { buffered: true },
  async (t) => {
    const short = await service(t, { DATABASE_URL: s.url, RESUME_MS: '200' });
    const group = await short.crew(t, 3, { name: 'over', floor_mode: 'single' });
    const [a, b, c] = group.radios;
    a.speaks(group.number, 'one', { start: true });
    await b.hearsText('one');
    const second = await group.people[1].resumes(b);
    t.match(second.welcome, { resumed: true }, 'a live socket has no time limit');
    a.socket.terminate();
    // Its floor would be kept longer than the session is.
    t.match(await c.hears('TALK_ENDED'), { session: a.session, code: 'disconnected' });
    const again = await group.people[0].resumes(a);
    t.match(again.welcome, { resumed: false });
    t.not(again.session, a.session);
    again.socket.terminate();

    const ann = await s.person('other node');
    const here = await ann.radio();
    const there = await connect(t, `${short.ws}/ws?token=${ann.token}&resume=${here.welcome?.resume_token}`);
    t.match(there.welcome, { resumed: false }, 'what this node knows no other does');
    t.not(there.session, here.session);
  },
);

t.test(
  'sockets admitted less sockets closed are those that live, takeovers included',
  { buffered: true },
  async (t) => {
    const own = await service(t);
    const ann = await own.person('books');
    const figures = async () => {
      const scraped = await Promise.all(own.metricsOfNodes.map(scrape));
      const series = scraped.flatMap((node) => [...node.series]);
      const sumOf = (name: string) =>
        series.reduce(
          (sum, [key, value]) => (key.startsWith(`talkgroup_relay_${name}`) ? sum + value : sum),
          0,
        );
      return {
        admitted: sumOf('handshakes_admitted_total'),
        closed: sumOf('sockets_closed_total'),
        live: sumOf('sessions{state="live"}'),
        resumed: sumOf('closes_total{reason="resumed"}'),
      };
    };
    let radio = await ann.radio();
    for (let takeover = 0; takeover < 3; takeover++) {
      const old = radio;
      radio = await ann.resumes(old);
      t.match(radio.welcome, { resumed: true });
      t.same(await old.closes(), { code: 1000, reason: 'resumed' });
    }
    const other = await ann.radio();
    other.socket.close(1000);
    await other.closes();
    const { admitted, closed, live, resumed } = await figures();
    t.equal(admitted - closed, live);
    t.equal(resumed, 3);
    // Over two threads the helper has sockets of its own.
    if (isOverNodes || !isDealt) t.same({ admitted, closed, live }, { admitted: 5, closed: 4, live: 1 });
  },
);

t.test('with RESUME_MS=0 no session is kept', { buffered: true }, async (t) => {
  const none = await service(t, { DATABASE_URL: s.url, RESUME_MS: '0' });
  const group = await none.crew(t, 2, { name: 'none kept', floor_mode: 'single' });
  const [a, b] = group.radios;
  a.speaks(group.number, 'one', { start: true });
  await b.hearsText('one');
  a.socket.terminate();
  t.match(await b.hears('TALK_ENDED'), { code: 'disconnected' });
  t.match((await group.people[0].resumes(a)).welcome, { resumed: false });
});

t.test('with room for few: who is kept, and who counts', { buffered: true }, async (t) => {
  const settings = { DATABASE_URL: s.url, RESUMABLE_SESSIONS: '2', SOCKETS_PER_USER: '2' };
  const few = await service(t, settings, undefined, { isOneNode: true }); // each node has room for so many

  t.test('beyond the number of sessions kept the one kept longest goes', async (t) => {
    const group = await few.crew(t, 4, { name: 'parked' });
    const [onlooker, ...others] = group.radios;
    for (const radio of others) await dies(radio, onlooker, group);
    const resumed = [];
    for (const [index, radio] of others.entries()) {
      const { welcome } = (await group.people[index + 1]?.resumes(radio)) ?? {};
      resumed.push(welcome?.resumed);
    }
    t.same(resumed, [false, true, true]);
    const { series } = await scrape(few.metrics);
    t.equal(series.get('talkgroup_relay_sessions_forgotten_total'), 1);
  });

  t.test('a user that parks many sessions loses its own', async (t) => {
    const [ann, eve, onlooker] = [
      await few.person('parked-ann'),
      await few.person('parked-eve'),
      await few.person('parked-onlooker'),
    ];
    const group = await few.talkgroup('parked by one', ann, eve, onlooker);
    const watching = await onlooker.radio();
    const a = await ann.radio();
    const own = [await eve.radio(), await eve.radio()];
    for (const radio of [a, ...own]) await dies(radio, watching, group);
    t.match((await ann.resumes(a)).welcome, { resumed: true, session: a.session }, 'parked before hers');
    t.match((await eve.resumes(own[0] as Radio)).welcome, { resumed: false });
    t.match((await eve.resumes(own[1] as Radio)).welcome, { resumed: true });
  });

  t.test('a resume counts among the sockets of its user, and who was replaced may come back', async (t) => {
    const ann = await few.person('few');
    const group = await few.talkgroup('few', ann);
    const [first, second] = [await ann.radio(), await ann.radio()];
    const third = await ann.radio();
    t.same(await first.closes(), { code: 1013, reason: 'replaced' });
    await second.settled();
    await third.settled();
    const again = await ann.resumes(first);
    t.match(again.welcome, { resumed: true, session: first.session });
    t.same(await second.closes(), { code: 1013, reason: 'replaced' }, 'the longest-silent one goes');
    t.match(await again.asks({ type: 'SYNC', talkgroup_id: group.id }), { online: 2 });
    const taker = await ann.resumes(third);
    t.match(taker.welcome, { resumed: true });
    await again.settled();
    t.equal(again.socket.readyState, again.socket.OPEN, 'a take-over is no socket more');
  });
});

t.test('a load that failed leaves the token valid', { buffered: true }, async (t) => {
  const link = await throughProxy(t, s.url);
  const behind = await service(t, { DATABASE_URL: link.url }, s.url);
  const ann = await behind.person('failed load');
  const old = await ann.radio();
  link.proxy.slam();
  link.proxy.reset();
  const failed = await ann.resumes(old);
  t.same(await failed.closes(), { code: 1013, reason: 'overloaded' });
  await old.settled();
  await link.proxy.listen();
  let radio = await ann.resumes(old);
  while (radio.welcome === null) radio = await ann.resumes(old);
  t.match(radio.welcome, { resumed: true, session: old.session });
  t.same(await old.closes(), { code: 1000, reason: 'resumed' });
});

t.test(
  'an emergency raised and events that passed meanwhile stand in WELCOME',
  { buffered: true },
  async (t) => {
    const group = await s.crew(t, 2, { name: 'caught up' });
    const [old, b] = group.radios;
    await dies(old, b, group);
    const { emergency_id } = await b.asks({ type: 'EMERGENCY_RAISE', talkgroup_id: group.id });
    b.speaks(group.number, 'one', { start: true });
    await b.hears('TALK_STARTED');
    const a = await group.people[0].resumes(old);
    t.match(a.welcome?.talkgroups, [
      { event: 2, emergencies: [{ emergency_id }], talkers: [{ session: b.session, emergency: true }] },
    ]);
    b.speaks(group.number, '', { end: true });
    t.match(await a.hears('TALK_ENDED'), { event: 3 }, 'and the numbers go on from there');
    a.socket.close();
    await once(a.socket, 'close');
  },
);
