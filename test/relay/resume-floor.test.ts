// What a resumed session is told of floor and queue, and how long its burst waits for the next frame.
import t, { type Test } from 'tap';
import { dies } from '../helpers/relay/lost-sockets.js';
import { type Json, type Radio, service } from '../helpers/service/service.js';
import { isDealt } from '../helpers/service/two-nodes.js';

t.setTimeout(300_000);
// These wait more than they work. Over two relays a return takes longer the more radios come and go.
t.jobs = isDealt ? 1 : 4;

/** T1 */
const SILENCE_MS = 1000;
const s = await service(t, { TALK_SILENCE_MS: `${SILENCE_MS}`, SOCKETS_PER_USER: '1000' });
/** For talkers that say one frame and keep the floor, however long the others take. */
const patient = await service(t, { TALK_SILENCE_MS: '60000' });

const single = (t: Test, count: number, name: string, on = s) =>
  on.crew(t, count, { name, floor_mode: 'single' });
const waitFor = (radio: Radio, { id }: { id: string }) =>
  radio.asks({ type: 'FLOOR_REQUEST', talkgroup_id: id, queue: true });
/** What the server sent behind WELCOME so far. */
async function toldBehindWelcome({ settled, arrivals }: Radio): Promise<Json[]> {
  await settled();
  const [welcome, ...others] = (arrivals as Json[]).filter(({ type }) => type !== 'PONG');
  t.match(welcome, { type: 'WELCOME', resumed: true });
  return others;
}

t.test(
  'a queued session that takes over from a live socket is told its place',
  { buffered: true },
  async (t) => {
    const group = await single(t, 3, 'takes over waiting', patient);
    const [a, b, old] = group.radios;
    a.speaks(group.number, 'of a', { start: true });
    await b.hearsText('of a');
    for (const radio of [b, old]) t.match(await waitFor(radio, group), { type: 'FLOOR_QUEUED' });
    const c = await group.people[2].resumes(old);
    t.match(await toldBehindWelcome(c), [
      { type: 'FLOOR_QUEUED', talkgroup_id: group.id, position: 2, size: 2 },
    ]);
    a.speaks(group.number, '', { end: true });
    await b.hears('FLOOR_GRANTED');
    t.match(await c.hears('FLOOR_QUEUED', ({ position }) => position === 1), { size: 1 });
  },
);

t.test('a grant that went into the old socket is repeated behind WELCOME', { buffered: true }, async (t) => {
  const group = await single(t, 2, 'takes over granted', patient);
  const [a, old] = group.radios;
  a.speaks(group.number, 'of a', { start: true });
  await old.hearsText('of a');
  await waitFor(old, group);
  a.speaks(group.number, '', { end: true });
  await old.hears('FLOOR_GRANTED');
  const b = await group.people[1].resumes(old);
  t.match(await toldBehindWelcome(b), [
    { type: 'FLOOR_GRANTED', burst: 1, priority: 1, max_talk_ms: 60_000 },
  ]);
  b.speaks(group.number, 'of b');
  t.match(await a.hearsText('of b'), { sender: old.session, burst: 1 });
});

t.test(
  'a resumed talker finds its burst in WELCOME and is not granted it again',
  { buffered: true },
  async (t) => {
    const group = await single(t, 2, 'takes over talking', patient);
    const [old, b] = group.radios;
    old.speaks(group.number, 'one', { start: true });
    await b.hearsText('one');
    const a = await group.people[0].resumes(old);
    t.match(a.welcome?.talkgroups, [{ talkers: [{ session: old.session, burst: 1 }] }]);
    t.same(await toldBehindWelcome(a), []);
  },
);

t.test(
  'silence while the socket was dead does not end the burst at the return',
  { buffered: true },
  async (t) => {
    const [group, clock, later] = [
      await single(t, 3, 'silent meanwhile'),
      await s.crew(t, 2, { name: 'one T1' }),
      await single(t, 3, 'death meanwhile'),
    ];
    const [old, b, onlooker] = group.radios;
    old.speaks(group.number, 'one', { start: true });
    later.radios[0].speaks(later.number, 'lost', { start: true });
    await Promise.all([b.hearsText('one'), later.radios[1].hearsText('lost')]);
    clock.radios[0].speaks(clock.number, 'tick', { start: true });
    // Half a T1 after the return, the time of the other one is over.
    await Promise.all([dies(old, onlooker, group), dies(later.radios[0], later.radios[2], later)]);
    t.match(await clock.radios[1].hears('TALK_ENDED'), { code: 'silence' }, 'longer ago than T1');
    const a = await group.people[0].resumes(old);
    t.match(a.welcome, { resumed: true, talkgroups: [{ talkers: [{ session: old.session, burst: 1 }] }] });
    t.match(await later.radios[1].hears('TALK_ENDED'), { code: 'disconnected' });
    a.speaks(group.number, 'two', { sequence: 1 });
    t.match(await b.hearsText('two'), { burst: 1, flags: 0 }, 'the same burst goes on');
  },
);

t.test(
  'a client that only keeps coming back loses the floor to T1 once it has returned',
  { buffered: true },
  async (t) => {
    for (const kind of ['takes over', 'goes and returns']) {
      const group = await single(t, 2, `only ${kind}`);
      const [first, b] = group.radios;
      first.speaks(group.number, 'one', { start: true });
      await b.hearsText('one');
      let ended: Json | null = null;
      const end = b.hears('TALK_ENDED').then((message) => {
        ended = message;
        return performance.now();
      });
      let a = first;
      const returnedAt = performance.now();
      while (ended === null) {
        if (kind === 'goes and returns') {
          a.socket.close(1001);
          await a.closes();
        }
        a = await group.people[0].resumes(a);
        if (!t.match(a.welcome, { resumed: true, session: first.session })) return;
      }
      t.match(ended, { code: 'silence', burst: 1, frames: 1 });
      const tookMs = (await end) - returnedAt;
      t.ok(tookMs >= SILENCE_MS, `${Math.round(tookMs)} ms after the first return`);
    }
  },
);
