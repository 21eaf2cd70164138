// Speech between radios: what is relayed, to whom, and what all members hear about it.
import t from 'tap';
import { END, START } from '../../src/protocol/frame.js';
import { service } from '../helpers/service/service.js';

for (const threads of ['1', '0']) {
  t.test(`with RELAY_THREADS=${threads} a frame reaches every other member and no other radio`, async (t) => {
    const s = await service(t, { RELAY_THREADS: threads });
    const [ann, bob, cid] = [await s.person('ann'), await s.person('bob'), await s.person('cid')];
    const group = await s.talkgroup('fire', ann, bob);
    const other = await s.talkgroup('rail', cid);
    const [a, b, c] = [await ann.radio(), await bob.radio(), await cid.radio()];
    const a2 = await ann.radio();

    a.speaks(group.number, 'one', { start: true });
    a.speaks(group.number, 'two', { end: true });

    const started = await b.hears('TALK_STARTED');
    t.match(started, {
      talkgroup_id: group.id,
      event: 1,
      session: a.session,
      burst: 1,
      user_id: ann.id,
      username: 'ann',
    });
    const [one, two] = [await b.hearsFrame(), await b.hearsFrame()];
    t.match(one, {
      text: 'one',
      sender: a.session,
      burst: 1,
      sequence: 0,
      talkgroup: group.number,
      flags: START,
    });
    t.match(two, { text: 'two', sender: a.session, burst: 1, sequence: 1, flags: END });
    t.match(await b.hears('TALK_ENDED'), {
      event: 2,
      session: a.session,
      burst: 1,
      code: 'released',
      frames: 2,
    });
    t.match(await a.hears('TALK_ENDED'), { event: 2 }, 'the talker hears of its own burst');
    t.equal((await a2.hearsFrame()).text, 'one', 'another socket of the same user hears it');

    await a.settled();
    await c.settled();
    t.same(a.frames, [], 'the talking socket does not hear itself');
    t.same(
      c.arrivals.filter((arrival) => 'payload' in arrival),
      [],
      'a stranger hears nothing',
    );
    t.not(other.number, group.number);
  });
}
