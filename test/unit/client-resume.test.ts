// What a radio keeps over a lost connection, in a resumed session and in a new one.
import t from 'tap';
import { END, START } from '../../src/protocol/frame.js';
import {
  ALPHA,
  fakeWorld,
  OWN,
  packet,
  sentBy,
  talkEnd,
  talker,
  talkStart,
} from '../helpers/client/fakes.js';

const id = ALPHA.talkgroup_id;

function setUp() {
  const world = fakeWorld();
  const { clock, radio, socket } = world;
  socket().welcomes();
  const sent = () => sentBy(socket());
  const running = (burst: number, session = OWN) => ({
    ...ALPHA,
    event: 1,
    talkers: [{ ...talker({ session, burst }), frames: 2, sequence: 1 }],
    talkers_total: 1,
  });
  /** Gone and back. `talkgroup` as the relay then tells it. */
  const returns = ({ resumed = true, talkgroup = ALPHA } = {}) => {
    socket().closes(1006);
    clock.pass(0);
    socket().welcomes({ session: resumed ? OWN : OWN + 1, resumed, talkgroups: [talkgroup] });
  };
  const talk = (floor: 'first_frame' | 'request' | 'queue' = 'first_frame') =>
    radio.talk({ talkgroupId: id, floor });
  /** A talk that waits in the queue. */
  const queued = () => {
    const waiting = talk('queue');
    const ref = socket().texts.at(-1)?.ref as string;
    socket().says({ type: 'FLOOR_QUEUED', ref, talkgroup_id: id, position: 2, size: 3 });
    return waiting;
  };
  const starts = (burst: number) => socket().says(talkStart({ session: OWN, burst }));
  return { ...world, sent, running, returns, talk, queued, starts };
}

t.test('every return asks for the session of the last WELCOME, until a 1008 ends it', async (t) => {
  const { clock, socket, sockets } = setUp();
  const resume = () => new URL(socket().address).searchParams.get('resume');
  t.equal(resume(), null);
  socket().closes(1006);
  clock.pass(0);
  t.equal(resume(), 'token-1');
  socket().closes(1013);
  clock.pass(5_000);
  t.equal(resume(), 'token-1', 'a load that failed leaves it valid');
  socket().welcomes({ resume_token: 'a&b' });
  socket().closes(1006);
  clock.pass(0);
  t.equal(resume(), 'a&b');
  socket().welcomes();
  socket().closes(1008, 'device disabled');
  clock.pass(45_000);
  t.equal(sockets.length, 5);
  t.equal(resume(), null);
});

t.test('after a GOAWAY that is resumable the radio brings its token to the next node', async (t) => {
  const { clock, socket, sockets } = setUp();
  socket().says({ type: 'GOAWAY', reconnect_after_ms: 500, resumable: true });
  socket().closes(1012);
  clock.pass(499);
  t.equal(sockets.length, 1, 'not before the time that GOAWAY names');
  clock.pass(1);
  t.equal(sockets.length, 2);
  t.equal(new URL(socket().address).searchParams.get('resume'), 'token-1');
});

t.test('a resumed burst goes on: same number, sequence as if nothing had happened, no START', async (t) => {
  const { clock, socket, sent, running, talk, starts } = setUp();
  const burst = talk();
  burst.send(packet(0));
  starts(3);
  burst.send(packet(1));
  socket().closes(1006);
  burst.send(packet(2));
  clock.pass(20);
  burst.send(packet(3));
  socket().welcomes({ resumed: true, talkgroups: [running(3)] });
  burst.send(packet(4));
  burst.end(packet(5));
  t.same(sent(), [
    [0, 4, 0x08, 4],
    [END, 5, 0x08, 5],
  ]);
  t.match(burst.state, { kind: 'talking', burst: 3 });
  socket().says(talkEnd({ session: OWN, burst: 3, frames: 4 }));
  t.match(await burst.ended, { code: 'released', frames: 4 });
});

t.test('a burst whose news had not come yet is found again in the snapshot', async (t) => {
  const { sent, running, returns, talk } = setUp();
  const burst = talk();
  burst.send(packet(0));
  returns({ talkgroup: running(1) });
  burst.send(packet(1));
  t.same(sent(), [[0, 1, 0x08, 1]]);
});

t.test(
  'a burst that ended meanwhile, or whose session is gone, begins anew with the next frame',
  async (t) => {
    for (const how of [{ resumed: true }, { resumed: false }]) {
      const { sent, returns, talk, starts, socket } = setUp();
      const burst = talk();
      burst.send(packet(0));
      starts(1);
      returns(how);
      t.same(burst.state, { kind: 'idle' });
      burst.send(packet(1));
      t.same(sent(), [[START, 0, 0x08, 1]]);
      t.same(socket().texts, []);
    }
  },
);

t.test('a number of another session is another burst, whatever it is', async (t) => {
  const { clock, socket, sent, running, talk } = setUp();
  const burst = talk();
  burst.send(packet(0));
  socket().closes(1006);
  clock.pass(0);
  socket().welcomes({ session: OWN + 1, resumed: false, talkgroups: [running(1, OWN + 1)] });
  burst.send(packet(1));
  t.same(sent(), [[START, 0, 0x08, 1]]);
});

t.test('a burst let go while away is given back by the radio that returns', async (t) => {
  const { clock, socket, running, talk, starts } = setUp();
  const burst = talk();
  burst.send(packet(0));
  starts(1);
  socket().closes(1006);
  burst.end();
  t.match(await burst.ended, { kind: 'ended', code: 'lost' });
  clock.pass(0);
  socket().welcomes({ resumed: true, talkgroups: [running(1)] });
  t.match(socket().texts, [{ type: 'FLOOR_RELEASE', talkgroup_id: id }]);
});

t.test('a new talk in the place of one let go while away is not taken for it', async (t) => {
  const { clock, socket, sent, running, talk, starts } = setUp();
  talk().send(packet(0));
  starts(1);
  socket().closes(1006);
  const second = talk();
  clock.pass(0);
  socket().welcomes({ resumed: true, talkgroups: [running(1)] });
  second.send(packet(1));
  t.same(sent(), [[START, 0, 0x08, 1]], 'its START ends the other');
  t.same(socket().texts, []);
});

t.test('a floor asked for is asked for again, in the old session and in a new one', async (t) => {
  for (const resumed of [true, false]) {
    const { returns, queued, socket } = setUp();
    const waiting = queued();
    t.match(waiting.state, { kind: 'queued' });
    returns({ resumed });
    t.match(waiting.state, { kind: 'requested' });
    t.match(socket().texts, [{ type: 'FLOOR_REQUEST', talkgroup_id: id, queue: true }]);
  }
});

t.test('a place in the queue that was given up while away is given back when its turn comes', async (t) => {
  const { clock, socket, queued } = setUp();
  const waiting = queued();
  socket().closes(1006);
  waiting.end();
  t.match(await waiting.ended, { code: 'unsent' });
  clock.pass(0);
  socket().welcomes({ resumed: true });
  socket().says({ type: 'FLOOR_GRANTED', talkgroup_id: id, burst: 4, priority: 1, max_talk_ms: 0 });
  t.match(socket().texts, [{ type: 'FLOOR_RELEASE', talkgroup_id: id }]);
});

t.test('talkers heard before are the same talkers after, resumed or not', async (t) => {
  for (const resumed of [true, false]) {
    const { radio, socket, running, returns } = setUp();
    const heard: string[] = [];
    radio.on('talk_started', ({ session, burst }) => heard.push(`started ${session}/${burst}`));
    radio.on('talk_ended', ({ session, burst, heard: frames }) =>
      heard.push(`ended ${session}/${burst} ${frames}`),
    );
    radio.on('audio', ({ sequence }) => heard.push(`#${sequence}`));
    socket().says(talkStart({ burst: 9 }));
    const relays = (sequence: number) =>
      socket().relays({ talkgroup: ALPHA.number, sender: 20, burst: 9, sequence, payload: packet(0) });
    relays(0);
    returns({ resumed, talkgroup: running(9, 20) });
    relays(2);
    socket().says(talkEnd({ burst: 9 }));
    t.same(heard, ['started 20/9', '#0', '#2', 'ended 20/9 2']);
  }
});

t.test('the end of a burst that did not get through is seen in the next snapshot', async (t) => {
  const { socket, sent, talk, starts } = setUp();
  const snapshot = (over: Partial<typeof ALPHA>) =>
    socket().says({ type: 'SUBSCRIBED', more: false, talkgroups: [{ ...ALPHA, ...over }], refused: [] });
  const burst = talk();
  burst.send(packet(0));
  snapshot({});
  t.match(burst.state, { kind: 'requested' }, 'it may not have begun yet');
  starts(1);
  snapshot({ talkers_total: 40 });
  t.match(burst.state, { kind: 'talking' }, 'a snapshot has not room for all talkers');
  snapshot({});
  t.match(burst.state, { kind: 'idle' });
  burst.send(packet(1));
  t.same(sent().at(-1), [START, 0, 0x08, 1]);
});
