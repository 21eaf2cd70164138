// Held talk buttons in the worker of the console: when a talk begins, waits in the queue, tries again and ends.
import t from 'tap';
import type { TalkView } from '../../src/console/worker/messages.js';
import { createPresses } from '../../src/console/worker/presses.js';
import type { DenyCode } from '../../src/protocol/codes.js';
import { END, START } from '../../src/protocol/frame.js';
import {
  ALPHA,
  BRAVO,
  fakeWorld,
  idOf,
  OWN,
  packet,
  sentBy,
  talkEnd,
  talker,
  talkStart,
} from '../helpers/client/fakes.js';

const id = ALPHA.talkgroup_id;

/** A microphone of which the test gives the packets. */
function fakeMicrophone() {
  let give: ((packet: Uint8Array) => void) | null = null;
  return {
    get isOn() {
      return give !== null;
    },
    records: (n: number) => give?.(packet(n)),
    attach() {},
    start(onPacket: (packet: Uint8Array) => void) {
      give = onPacket;
    },
    stop() {
      give = null;
    },
    close() {},
  };
}

function setUp({ connected = true, hasMicrophone = true } = {}) {
  const world = fakeWorld();
  const views: TalkView[] = [];
  const microphone = fakeMicrophone();
  const presses = createPresses(
    world.radio,
    world.clock,
    () => 5_000,
    (view) => views.push(view),
  );
  world.radio.on('open', presses.opened);
  world.radio.on('waiting', presses.closed);
  if (hasMicrophone) presses.microphone(microphone);
  if (connected) world.socket().welcomes({ talkgroups: [ALPHA, BRAVO], talkgroups_total: 2 });
  const { socket } = world;
  const denies = (code: DenyCode, over = {}) =>
    socket().says({ type: 'FLOOR_DENIED', talkgroup_id: id, code, ...over });
  /** The answer to the last FLOOR_REQUEST. */
  const refOfLast = () => String(socket().texts.at(-1)?.ref);
  return { ...world, presses, views, microphone, denies, refOfLast, now: () => views.at(-1)?.state };
}

t.test('a press records at once, and its first packet is the request for the floor', async (t) => {
  const { presses, microphone, socket, now } = setUp();
  presses.press(id);
  t.same(now(), { phase: 'asking' });
  t.ok(microphone.isOn);
  microphone.records(0);
  t.same(sentBy(socket()), [[START, 0, 0x08, 0]]);
  t.same(socket().texts, [], 'no message goes before the frame');
  socket().says(talkStart({ session: OWN }));
  t.same(now(), { phase: 'talking', sinceMs: 5_000, limitMs: 0 });
  presses.release(id);
  t.equal(now(), null);
  t.notOk(microphone.isOn);
  t.equal(sentBy(socket()).at(-1)?.[0], END);
});

t.test('a grant tells the talk limit that the countdown shows', async (t) => {
  const { presses, microphone, socket, now } = setUp();
  presses.press(id);
  microphone.records(0);
  socket().says({ type: 'FLOOR_GRANTED', talkgroup_id: id, burst: 1, priority: 1, max_talk_ms: 30_000 });
  socket().says(talkStart({ session: OWN }));
  t.same(now(), { phase: 'talking', sinceMs: 5_000, limitMs: 30_000 });
});

t.test('a press on a taken floor waits in the queue by itself', async (t) => {
  const { presses, microphone, socket, denies, views, refOfLast, now } = setUp();
  presses.press(id);
  microphone.records(0);
  denies('busy', { talker: talker() });
  t.same(now(), { phase: 'asking' }, 'the answer comes from the queue');
  t.match(socket().texts.at(-1), { type: 'FLOOR_REQUEST', queue: true });
  const ref = refOfLast();
  socket().says({ type: 'FLOOR_QUEUED', talkgroup_id: id, ref, position: 2, size: 3 });
  t.same(now(), { phase: 'queued', position: 2, size: 3 });
  microphone.records(1);
  t.equal(sentBy(socket()).length, 1, 'a queued talk sends no frame');
  socket().says({ type: 'FLOOR_GRANTED', talkgroup_id: id, burst: 2, priority: 1, max_talk_ms: 0 });
  microphone.records(2);
  socket().says(talkStart({ session: OWN, burst: 2 }));
  t.match(now(), { phase: 'talking' });
  t.notOk(views.some(({ state }) => state?.phase === 'over'));
});

t.test('a denied button asks again after 2 s while it is held, and not after its release', async (t) => {
  const { presses, microphone, clock, socket, denies, now } = setUp();
  presses.press(id);
  microphone.records(0);
  denies('retry_later');
  t.same(now(), { phase: 'refused', code: 'retry_later', talker: null, isFinal: false });
  clock.pass(1_999);
  microphone.records(1);
  t.equal(sentBy(socket()).length, 1);
  clock.pass(1);
  microphone.records(2);
  t.same(sentBy(socket()).at(-1), [START, 0, 0x08, 2]);
  t.match(now(), { phase: 'refused' }, 'the reason stays on show until the next answer');
  denies('retry_later');
  presses.release(id);
  clock.pass(10_000);
  t.equal(sentBy(socket()).filter(([flags]) => flags === START).length, 2);
});

for (const code of ['forbidden', 'listen_only', 'not_member'] as const) {
  t.test(`a press that is denied with ${code} sends one request, however long it is held`, async (t) => {
    const { presses, microphone, clock, socket, denies, now } = setUp();
    presses.press(id);
    microphone.records(0);
    denies(code);
    t.same(now(), { phase: 'refused', code, talker: null, isFinal: true });
    t.notOk(microphone.isOn);
    clock.pass(10_000);
    presses.microphone(microphone);
    microphone.records(1);
    t.equal(sentBy(socket()).length, 1);
    t.notOk(socket().texts.some(({ type }) => type === 'FLOOR_REQUEST'));
    socket().closes(1006);
    t.match(now(), { code }, 'the reason stays when the connection is lost');
    presses.release(id);
    presses.press(id);
    t.match(now(), { phase: 'refused', code: 'not_connected' });
  });
}

t.test('a full queue is asked again after 2 s', async (t) => {
  const { presses, microphone, clock, socket, denies, refOfLast, now } = setUp();
  presses.press(id);
  microphone.records(0);
  denies('busy');
  denies('queue_full', { ref: refOfLast() });
  t.match(now(), { phase: 'refused', code: 'queue_full' });
  const asked = socket().texts.length;
  clock.pass(2_000);
  t.match(socket().texts.slice(asked), [{ type: 'FLOOR_REQUEST', queue: true }]);
});

t.test('the talk limit ends the talk for good, until the button is released', async (t) => {
  const { presses, microphone, clock, socket, now } = setUp();
  presses.press(id);
  microphone.records(0);
  socket().says(talkStart({ session: OWN }));
  socket().says({ type: 'FLOOR_REVOKED', talkgroup_id: id, burst: 1, code: 'too_long' });
  socket().says(talkEnd({ session: OWN, code: 'too_long' }));
  t.same(now(), { phase: 'over', code: 'too_long', isFinal: true });
  t.notOk(microphone.isOn);
  clock.pass(10_000);
  t.same(
    socket().texts.filter(({ type }) => type === 'FLOOR_REQUEST'),
    [],
  );
  presses.release(id);
  presses.press(id);
  t.ok(microphone.isOn);
});

t.test('a floor that a higher priority took is asked for again while the button is held', async (t) => {
  const { presses, microphone, clock, socket, now } = setUp();
  presses.press(id);
  microphone.records(0);
  socket().says(talkStart({ session: OWN }));
  socket().says({ type: 'FLOOR_REVOKED', talkgroup_id: id, burst: 1, code: 'preempted' });
  socket().says(talkEnd({ session: OWN, code: 'preempted' }));
  t.same(now(), { phase: 'over', code: 'preempted', isFinal: false });
  clock.pass(1_000);
  t.match(socket().texts.at(-1), { type: 'FLOOR_REQUEST', queue: true });
});

t.test('a press without a microphone begins as soon as there is one', async (t) => {
  const { presses, microphone, socket, now } = setUp({ hasMicrophone: false });
  presses.press(id);
  t.same(now(), { phase: 'refused', code: 'no_microphone', talker: null, isFinal: false });
  presses.microphone(microphone);
  microphone.records(0);
  t.equal(sentBy(socket()).length, 1);
  presses.microphone(null);
  t.notOk(microphone.isOn);
  t.match(now(), { phase: 'refused', code: 'no_microphone' });
  t.equal(sentBy(socket()).at(-1)?.[0], END, 'the talk of the lost microphone ends');
});

t.test('a press without a connection begins as soon as there is one', async (t) => {
  const { presses, microphone, socket, now } = setUp({ connected: false });
  presses.press(id);
  t.same(now(), { phase: 'refused', code: 'not_connected', talker: null, isFinal: false });
  socket().welcomes();
  microphone.records(0);
  t.same(sentBy(socket()), [[START, 0, 0x08, 0]]);
});

t.test('a talk that was cut continues with the next packet after the return', async (t) => {
  const { presses, microphone, clock, socket, now } = setUp();
  presses.press(id);
  microphone.records(0);
  socket().says(talkStart({ session: OWN }));
  socket().closes(1006);
  t.match(now(), { phase: 'refused', code: 'not_connected' });
  microphone.records(1);
  clock.pass(500);
  socket().welcomes({ talkgroups: [ALPHA, BRAVO], talkgroups_total: 2 });
  microphone.records(2);
  t.same(sentBy(socket()), [[START, 0, 0x08, 2]], 'what was said while it was cut is not sent late');
  t.same(now(), { phase: 'asking' });
});

t.test('one recording goes to all talkgroups that are held', async (t) => {
  const { presses, microphone, socket } = setUp();
  presses.press(id);
  presses.press(BRAVO.talkgroup_id);
  microphone.records(0);
  t.same(
    socket().frames.map(({ talkgroup }) => talkgroup),
    [ALPHA.number, BRAVO.number],
  );
  presses.release(id);
  t.ok(microphone.isOn, 'the other one is still held');
  microphone.records(1);
  t.equal(socket().frames.at(-1)?.talkgroup, BRAVO.number);
  presses.release(BRAVO.talkgroup_id);
  t.notOk(microphone.isOn);
});

t.test('a talkgroup that the user is not in says so, and is not tried again', async (t) => {
  const { presses, clock, now, views } = setUp();
  presses.press(idOf('tg-charlie'));
  t.same(now(), { phase: 'refused', code: 'not_member', talker: null, isFinal: true });
  clock.pass(10_000);
  t.equal(views.length, 1);
  t.equal(clock.pending <= 1, true, 'only the timer of the connection is left');
});
