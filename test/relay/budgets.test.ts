// One account on many sockets, and those who share a talkgroup with it.
import assert from 'node:assert/strict';
import t from 'tap';
import { HEADER_BYTES } from '../../src/protocol/frame.js';
import { comesTrue, eventually } from '../helpers/eventually.js';
import { scrape } from '../helpers/http/exposition.js';
import { speech } from '../helpers/relay/speech.js';
import { type Json, type Radio, service } from '../helpers/service/service.js';

/** Of the account that floods. `make prove` takes 32, which is SOCKETS_PER_USER. */
const SOCKETS = Number(process.env.FLOOD_SOCKETS ?? 5);
const FLOOD_FRAMES_PER_SECOND = 100;
const FLOOD_BYTES = 1000;
/** What each other member may be sent of it in any second. */
const FRAMES_PER_SECOND_MAX = 300;

t.test(
  `an account that floods from ${SOCKETS} sockets is cut to its budget, and a talker beside it loses nothing`,
  { timeout: 60_000 },
  async (t) => {
    const s = await service(t);
    const [ann, bob, cid] = [await s.person('ann'), await s.person('bob'), await s.person('cid')];
    const fire = await s.talkgroup('fire', ann, bob, cid);
    const [b, c] = [await bob.radio(), await cid.radio()];
    const flooding: Radio[] = [];
    for (let socket = 0; socket < SOCKETS; socket++) flooding.push(await ann.radio());
    const heardAtMs: number[] = [];
    c.socket.on('message', (message: Buffer, isBinary: boolean) => {
      if (isBinary && message.byteLength === HEADER_BYTES + FLOOD_BYTES) heardAtMs.push(performance.now());
    });

    const talk = speech(t, b, fire);
    await talk.goesOn(10);
    const payload = 'x'.repeat(FLOOD_BYTES);
    const periodMs = 20;
    const flood = setInterval(() => {
      for (const radio of flooding)
        for (let frame = 0; frame < (FLOOD_FRAMES_PER_SECOND * periodMs) / 1000; frame++)
          radio.speaks(fire.number, payload);
    }, periodMs);
    t.teardown(() => clearInterval(flood));
    // Two bursts run, and the newest one ends twice.
    const endsOf = () =>
      c.messages.filter(({ type, code }) => type === 'TALK_ENDED' && code === 'rate_limited');
    await comesTrue('both bursts have ended', () => endsOf().length === 2);
    clearInterval(flood);
    await talk.goesOn(10);
    talk.stop();
    await c.hearsText(String(talk.said() - 1).padEnd(60));

    const most = Math.max(
      ...heardAtMs.map((from) => heardAtMs.filter((atMs) => atMs >= from && atMs < from + 1000).length),
    );
    t.ok(most <= FRAMES_PER_SECOND_MAX, `${most} frames in a second`);
    t.ok(heardAtMs.length > 65, `${heardAtMs.length} frames: what the budget allows is relayed`);
    const starts = c.messages.filter(({ type, user_id }) => type === 'TALK_STARTED' && user_id === ann.id);
    t.equal(starts.length, 2, 'no third burst');
    t.same(
      endsOf().map(({ session }) => session),
      starts.map(({ session }) => session).reverse(),
      'the newest first',
    );
    const heard = c.frames.filter(({ sender }) => sender === b.session).map(({ text }) => Number(text));
    t.same(
      heard,
      heard.map((_, index) => index),
    );
    t.equal(heard.length, talk.said(), 'every frame of the talker beside it');
    t.notOk(c.messages.some(({ type }) => type === 'LAG'));

    const talked = flooding.filter(({ session }) => starts.some((start) => start.session === session));
    for (const radio of talked) {
      const told = radio.messages.filter(({ type }) => type === 'ERROR' || type === 'FLOOR_REVOKED');
      // A flood that stood still for a moment is warned again.
      t.match(told.pop(), { type: 'FLOOR_REVOKED', code: 'rate_limited' });
      t.match(told.shift(), { type: 'ERROR', code: 'rate_limited' });
      for (const warning of told) t.match(warning, { type: 'ERROR', code: 'rate_limited' });
    }
    await eventually(async () => {
      const { series } = await scrape(s.metrics);
      assert.ok((series.get('talkgroup_relay_frames_dropped_total{reason="over_budget"}') ?? 0) > 100);
    });
  },
);

t.test('talkers at once in an open talkgroup', async (t) => {
  const s = await service(t, { TALKERS_MAX: '3', TALK_SILENCE_MS: '60000' });
  const isOf = (radio: Radio) => (message: Json) => message.session === radio.session;

  t.test('the third burst of a user is refused and names the first, those of others are not', async (t) => {
    const [ann, bob] = [await s.person('own-ann'), await s.person('own-bob')];
    const { id, number } = await s.talkgroup('own', ann, bob);
    const [a1, a2, a3] = [await ann.radio(), await ann.radio(), await ann.radio()];
    const b = await bob.radio();
    for (const radio of [a1, a2]) {
      radio.speaks(number, 'hello', { start: true });
      await b.hears('TALK_STARTED', isOf(radio));
    }
    a3.speaks(number, 'hello', { start: true });
    const denied = await a3.hears('FLOOR_DENIED');
    t.match(denied, { talkgroup_id: id, code: 'busy', talker: { session: a1.session, username: 'own-ann' } });
    t.match(await a3.asks({ type: 'FLOOR_REQUEST', talkgroup_id: id, queue: true }), { code: 'busy' });
    b.speaks(number, 'hello', { start: true });
    t.match(await a1.hears('TALK_STARTED', isOf(b)), { username: 'own-bob' });
    a2.speaks(number, '', { end: true });
    await b.hears('TALK_ENDED', isOf(a2));
    a3.speaks(number, 'now', { start: true });
    await b.hearsText('now');
  });

  t.test('where as many talk as may, one that would wait is served in its turn', async (t) => {
    const { id, number, radios } = await s.crew(t, 5, { name: 'full' });
    const [a, b, c, d] = radios;
    for (const radio of [a, b, c]) radio.speaks(number, 'hello', { start: true });
    await d.hearsFrames(3);
    d.speaks(number, 'lost', { start: true });
    const denied = await d.hears('FLOOR_DENIED');
    t.equal(denied.code, 'busy');
    t.notOk('talker' in denied, 'many are in the way');
    t.match(await d.asks({ type: 'FLOOR_REQUEST', talkgroup_id: id, queue: true }), {
      ...{ type: 'FLOOR_QUEUED', position: 1, size: 1 },
    });
    b.speaks(number, '', { end: true });
    t.match(await d.hears('FLOOR_GRANTED'), { talkgroup_id: id, max_talk_ms: 0 });
    d.speaks(number, 'my turn', { start: true });
    await a.hearsText('my turn');
  });

  t.test('a user without a burst takes the place of the newest second burst of another', async (t) => {
    const [ann, bob, cid] = [await s.person('two-ann'), await s.person('two-bob'), await s.person('two-cid')];
    const { number } = await s.talkgroup('two', ann, bob, cid);
    const [a1, a2] = [await ann.radio(), await ann.radio()];
    const [b, c] = [await bob.radio(), await cid.radio()];
    for (const radio of [a1, a2, b]) {
      radio.speaks(number, 'hello', { start: true });
      await c.hears('TALK_STARTED', isOf(radio));
    }
    c.speaks(number, 'me too', { start: true });
    t.match(await a2.hears('FLOOR_REVOKED'), { code: 'preempted' });
    t.match(await b.hears('TALK_ENDED'), { session: a2.session, code: 'preempted' });
    await b.hearsText('me too');
    a2.speaks(number, 'again', { start: true });
    t.match(await a2.hears('FLOOR_DENIED'), { code: 'busy', talker: { session: a1.session } });
  });

  t.test('an administrator, and a user in an emergency, talk beside as many as may', async (t) => {
    const { id, number, radios } = await s.crew(t, 6, { name: 'above', admins: 1 });
    const [chief, ...others] = radios;
    const [first, second, third, raiser, refused] = others as [Radio, Radio, Radio, Radio, Radio];
    for (const radio of [first, second, third]) radio.speaks(number, 'hello', { start: true });
    await refused.hearsFrames(3);
    chief.speaks(number, 'dispatch', { start: true });
    await refused.hearsText('dispatch');
    t.match(await raiser.asks({ type: 'EMERGENCY_RAISE', talkgroup_id: id }), { type: 'OK' });
    raiser.speaks(number, 'help', { start: true });
    await refused.hearsText('help');
    refused.speaks(number, 'hello', { start: true });
    t.match(await refused.hears('FLOOR_DENIED'), { code: 'busy' });
  });
});

t.test('an END beyond the budget ends its burst at once, and the floor is free', async (t) => {
  const s = await service(t, { USER_BYTES_PER_SECOND: '16384', TALK_SILENCE_MS: '60000' });
  const [ann, bob] = [await s.person('ann'), await s.person('bob')];
  const { number } = await s.talkgroupWith({ name: 'one at a time', floor_mode: 'single' }, ann, bob);
  const [a, b] = [await ann.radio(), await bob.radio()];
  for (let frame = 0; frame < 30; frame++) a.speaks(number, 'x'.repeat(1000), { start: frame === 0 });
  a.speaks(number, 'x'.repeat(1000), { end: true });
  t.match(await b.hears('TALK_ENDED'), { session: a.session, code: 'released' });
  t.ok(b.frames.length < 30, `${b.frames.length} frames were within it`);
  b.speaks(number, 'me', { start: true });
  await a.hearsText('me');
});
