// Talk bursts: how they begin and end, what late comers are told, and that no event is missed.
import t, { type Test } from 'tap';
import { END } from '../../src/protocol/frame.js';
import { type Json, type Radio, service } from '../helpers/service/service.js';
import { isDealt } from '../helpers/service/two-nodes.js';

/** Over two relays the next step of a test comes later: it waits until both know of the one before. */
const SILENCE_MS = isDealt ? 2000 : 300;

t.test('bursts', async (t) => {
  const s = await service(t, { TALK_SILENCE_MS: String(SILENCE_MS) });

  /** A talkgroup of `count` radios with names of its own. */
  async function group(t: Test, name: string, count: number) {
    const people = await Promise.all(
      Array.from({ length: count }, (_, index) => s.person(`${name}-${index}`)),
    );
    const talkgroup = await s.talkgroup(name, ...people);
    const radios = await Promise.all(people.map((person) => person.radio()));
    t.teardown(() => {
      for (const radio of radios) radio.socket.terminate();
    });
    return { people, talkgroup, number: talkgroup.number, radios: radios as [Radio, Radio, Radio, Radio] };
  }

  t.test(
    'every listener hears TALK_STARTED before the first frame and TALK_ENDED after the last',
    async (t) => {
      const { number, radios } = await group(t, 'order', 4);
      const [a, ...listeners] = radios;
      for (let frame = 0; frame < 10; frame++)
        a.speaks(number, `${frame}`, { start: frame === 0, end: frame === 9 });
      for (const radio of listeners) {
        await radio.hears('TALK_ENDED');
        const kinds = radio.arrivals.map((arrival) =>
          'payload' in arrival ? arrival.text : (arrival as Json).type,
        );
        t.same(kinds, ['WELCOME', 'TALK_STARTED', ...'0123456789', 'TALK_ENDED']);
      }
    },
  );

  t.test('silence of T1 ends a burst, and the next frame begins another', async (t) => {
    const {
      number,
      radios: [a, b],
    } = await group(t, 'silence', 2);
    a.speaks(number, 'one', { start: true });
    const ended = await b.hears('TALK_ENDED');
    t.match(ended, { code: 'silence', frames: 1, burst: 1 });
    t.ok((ended.duration_ms as number) >= SILENCE_MS);
    a.speaks(number, 'two');
    t.match(await b.hears('TALK_STARTED', ({ burst }) => burst === 2), { session: a.session });
  });

  t.test('frames that keep coming keep the burst alive', async (t) => {
    const {
      number,
      radios: [a, b],
    } = await group(t, 'alive', 2);
    const frames = (4 * SILENCE_MS) / 20;
    for (let frame = 0; frame < frames; frame++) {
      a.speaks(number, `${frame}`, { start: frame === 0 });
      await new Promise((resolve) => setTimeout(resolve, 20)); // the pace of speech
    }
    a.speaks(number, 'end', { end: true });
    t.match(await b.hears('TALK_ENDED'), { code: 'released', frames: frames + 1, burst: 1 });
  });

  t.test('an empty END that comes after the silence begins nothing', async (t) => {
    const {
      number,
      radios: [a, b],
    } = await group(t, 'late END', 2);
    a.speaks(number, 'one', { start: true });
    await b.hears('TALK_ENDED');
    a.speaks(number, '', { flags: END });
    await a.settled();
    await b.settled();
    t.same(b.messages.filter(({ type }) => type === 'TALK_STARTED').length, 1);
    t.equal(b.frames.length, 1);
  });

  t.test('a radio that connects during a burst is told who talks, and hears the rest', async (t) => {
    const {
      people,
      talkgroup,
      number,
      radios: [a, b],
    } = await group(t, 'late', 2);
    a.speaks(number, 'one', { start: true });
    a.speaks(number, 'two', { sequence: 7 });
    await b.hearsFrames(2);
    const late = await (people[1] as (typeof people)[number]).radio();
    const snapshot = onlySnapshot(late);
    t.match(snapshot, { talkgroup_id: talkgroup.id, number, event: 1, talkers_total: 1, online: 3 });
    t.match(snapshot.talkers, [{ session: a.session, burst: 1, username: 'late-0', frames: 2, sequence: 7 }]);
    a.speaks(number, 'three');
    t.equal((await late.hearsFrame()).text, 'three');
    late.socket.terminate();
  });

  t.test('the sequence is unwrapped for late comers beyond 65,535', async (t) => {
    const {
      people,
      number,
      radios: [a, b],
    } = await group(t, 'wrap', 2);
    a.speaks(number, 'one', { start: true, sequence: 65_534 });
    a.speaks(number, 'two', { sequence: 65_535 });
    a.speaks(number, 'three', { sequence: 0 });
    t.same(
      (await b.hearsFrames(3)).map(({ sequence }) => sequence),
      [65_534, 65_535, 0],
      'on the wire it wraps',
    );
    const late = await (people[1] as (typeof people)[number]).radio();
    t.match(onlySnapshot(late).talkers, [{ sequence: 65_536 }]);
    late.socket.terminate();
  });
});

function onlySnapshot(radio: Radio): Json {
  const [snapshot, ...more] = radio.welcome?.talkgroups ?? [];
  if (snapshot === undefined || more.length > 0) throw new Error('not exactly one talkgroup in WELCOME');
  return snapshot;
}
