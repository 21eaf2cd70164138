// Replay at the console: what the worker plays and when it stops, how far back the user goes, and which key does it.
import fc from 'fast-check';
import t from 'tap';
import { createEmitter } from '../../src/client/events.js';
import type { RadioEvents } from '../../src/client/radio.js';
import type { VoiceFrame } from '../../src/client/sound/sound-types.js';
import { createReplayChoice } from '../../src/console/replay/choice.js';
import { mayReplay, readReplayKey } from '../../src/console/replay/keys.js';
import { type Call, createReplayState } from '../../src/console/replay/state.js';
import type { Event } from '../../src/console/worker/messages.js';
import { createReplay } from '../../src/console/worker/replay.js';
import { setUp } from '../helpers/client/desk-radio.js';
import {
  ALPHA,
  emergency,
  manualClock,
  packet,
  talkEnd,
  talker,
  talkStart,
  turn,
} from '../helpers/client/fakes.js';

type Told = Extract<Event, { kind: 'replay' }>;

/** A worker that has heard a call of 10 frames in Alpha. */
async function heardCall(parts: Parameters<typeof setUp>[1] = {}) {
  const world = await setUp(undefined, parts);
  const { clock, desk, socket, events, heard, changes } = world;
  socket().welcomes();
  let event = 0;
  const call = async (over: {
    session?: number;
    codec?: { name: string; sample_rate: number; frame_ms: number };
  }) => {
    const { session = 20 } = over;
    const burst = event + 1;
    socket().says(talkStart({ event: event + 1, burst, ...over }));
    for (let sequence = 0; sequence < 10; sequence += 1) {
      socket().relays({
        talkgroup: ALPHA.number,
        sender: session,
        burst,
        sequence,
        payload: packet(sequence),
      });
      clock.pass(20);
    }
    socket().says(talkEnd({ event: event + 2, session, burst }));
    event += 2;
    clock.pass(16);
    await turn();
    return changes().at(-1)?.recent.at(-1)?.callId;
  };
  const callId = (await call({})) ?? -1;
  heard.length = 0;
  const play = (callId: number | null) => desk.take({ kind: 'replay', callId });
  const told = () => events.filter((event): event is Told => event.kind === 'replay');
  return { ...world, call, callId, play, told, events: () => events };
}

t.test('a call is replayed at the speed of speech, in a voice of its own', async (t) => {
  const { play, callId, heard, clock, told } = await heardCall();
  play(callId);
  t.strictSame(told(), [{ kind: 'replay', playing: callId, forgotten: [] }]);
  clock.pass(100);
  t.strictSame(
    heard,
    [0, 1, 2, 3, 4, 5].map((sequence) => `hear ${sequence} 2`),
  );
  clock.pass(100);
  t.strictSame(heard.slice(-2), ['hear 9 2', 'ended 0/1']);
  t.strictSame(told().at(-1), { kind: 'replay', playing: null, forgotten: [] });
  play(callId);
  clock.pass(1_000);
  t.equal(heard.at(-1), 'ended 0/2', 'the second time with another number, as voices play none twice');
});

t.test('a press to talk, a new emergency and stop end a replay, and drop what is queued', async (t) => {
  const raised = { type: 'EMERGENCY', event: 3 } as const;
  const ends: Readonly<Record<string, (world: Awaited<ReturnType<typeof heardCall>>) => void>> = {
    stop: ({ play }) => play(null),
    talk: ({ desk }) => desk.take({ kind: 'talk', talkgroupId: ALPHA.talkgroup_id }),
    emergency: ({ socket }) => socket().says({ ...raised, ...emergency() }),
    left: ({ socket }) =>
      socket().says({ type: 'TALKGROUP_LEFT', talkgroup_id: ALPHA.talkgroup_id, reason: 'left' }),
  };
  for (const [name, end] of Object.entries(ends)) {
    const world = await heardCall();
    world.play(world.callId);
    world.clock.pass(60);
    end(world);
    t.strictSame(world.heard.slice(4), ['lagged', 'ended 0/1'], name);
    t.match(world.told()[1], { playing: null }, name);
    world.clock.pass(1_000);
    t.equal(world.heard.length, 6, `${name}: no frame follows`);
    const gone = world.told().flatMap(({ forgotten }) => forgotten);
    t.strictSame(gone, name === 'left' ? [world.callId] : [], name);
  }
});

t.test('an emergency that is acknowledged or cleared ends no replay', async (t) => {
  const { play, callId, clock, socket, told } = await heardCall();
  socket().says({ type: 'EMERGENCY', event: 3, ...emergency() });
  play(callId);
  clock.pass(60);
  socket().says({ type: 'EMERGENCY', event: 4, ...emergency({ state: 'acknowledged' }) });
  socket().says({ type: 'EMERGENCY', event: 5, ...emergency({ state: 'cleared' }) });
  t.strictSame(
    told().map(({ playing }) => playing),
    [callId],
  );
});

t.test('a call that got too old is told, and is not replayed', async (t) => {
  const { play, callId, clock, socket, told, heard } = await heardCall();
  for (let ms = 0; ms < 305_000; ms += 5_000) {
    clock.pass(5_000);
    socket().says({ type: 'PONG', t: 0, server_time: 0 });
  }
  t.strictSame(told(), [{ kind: 'replay', playing: null, forgotten: [callId] }]);
  play(callId);
  t.strictSame(told()[1], told()[0], 'told again');
  t.equal(heard.length, 0);
});

t.test('a call that gets too old during its replay is played to its end', async (t) => {
  const clock = manualClock();
  const radio = createEmitter<RadioEvents>();
  const told: Told[] = [];
  const heard: number[] = [];
  const frames = [0, 1, 2].map((sequence) => ({ sequence, payload: packet(0), heardAtMs: 20 * sequence }));
  const burst = { id: 4, talker: talker(), fromMs: 0, untilMs: 40, frames };
  const voices = { hear: ({ sequence }: VoiceFrame) => heard.push(sequence), ended() {}, lagged() {} };
  const { play } = createReplay({
    radio: { on: radio.on, recall: { get: () => burst, last: () => null } },
    voices: () => ({ ...voices, attach() {}, detach() {}, close() {} }),
    packetMs: () => 60,
    clock,
    send: (event) => told.push(event),
  });
  play(4);
  clock.pass(10);
  radio.emit('forgotten', { ids: [4], isRevoked: false });
  t.match(told.at(-1), { playing: 4, forgotten: [4] });
  clock.pass(1_000);
  t.strictSame(heard, [0, 1, 2]);
  t.match(told.at(-1), { playing: null });
});

t.test('a call has an id when this console can replay it', async (t) => {
  const { call, socket, clock, changes } = await heardCall();
  t.equal(typeof (await call({ session: 21 })), 'number');
  t.equal(
    await call({ session: 22, codec: { name: 'codec2', sample_rate: 8_000, frame_ms: 40 } }),
    undefined,
  );
  socket().says(talkStart({ event: 7, session: 23 }));
  socket().says(talkEnd({ event: 8, session: 23 }));
  clock.pass(16);
  t.notOk('callId' in (changes().at(-1)?.recent.at(-1) ?? {}), 'nothing of it was heard');
});

t.test('when the code for replays does not come, the next call asks for it again', async (t) => {
  let asked = 0;
  const { call, callId, play, heard, clock } = await heardCall({
    async loadReplay() {
      asked += 1;
      if (asked === 1) throw new TypeError('no network');
      return createReplay;
    },
  });
  play(callId);
  clock.pass(100);
  t.strictSame([asked, heard.length], [1, 0]);
  await call({});
  heard.length = 0;
  play(callId);
  clock.pass(100);
  t.strictSame([asked, heard.length], [2, 6], 'and has the call of before');
});

/** The page's side. `ids` are those that were asked for. */
function page() {
  const clock = manualClock();
  const ids: (number | null)[] = [];
  const muted = new Set<string>();
  const pauses: boolean[] = [];
  let isTalking = false;
  const state = createReplayState(
    {
      send(command) {
        if (command.kind === 'replay') ids.push(command.callId);
        else pauses.push(command.isPaused);
      },
      isMuted: (id) => muted.has(id),
      isTalking: () => isTalking,
      unixMs: () => 1_000_000,
    },
    clock,
  );
  const call = (callId: number, over: Partial<Call> = {}): Call => ({
    ...{ callId, talkgroupId: 'fire', talkgroup: 'Fire', username: 'ann', isOwn: false },
    ...{ endedAtMs: 1_000_000 - 125_000, durationMs: 1_000, ...over },
  });
  const plays = (playing: number | null, forgotten: readonly number[] = [], isPaused?: true) =>
    state.take({ playing, forgotten, ...(isPaused && { isPaused }) });
  return {
    ...{ clock, ids, muted, pauses, state, call, plays },
    talks(now: boolean) {
      isTalking = now;
    },
  };
}

t.test('the text names the talker and an age that stands still', async (t) => {
  const { state, call, plays, clock } = page();
  const texts = [1_400, 30_000, 61_000, 125_000].map((agoMs, callId) => {
    state.heard([call(callId, { endedAtMs: 1_000_000 - agoMs })]);
    state.playLast(null);
    plays(callId);
    clock.pass(60_000);
    return state.text.value;
  });
  t.strictSame(
    texts.map((text) => text?.replace(/[\u2068\u2069]/g, '')),
    ['1 second', '30 seconds', '1 minute', '2 minutes'].map((age) => `Replaying ann, ${age} ago`),
  );
  plays(null, [3]);
  t.equal(state.text.value, null);
  state.stop();
  t.equal(state.newest.value.get('fire')?.callId, 2);
});

t.test('back goes from the call that was replayed last, until 10 s after its end', async (t) => {
  const { state, call, plays, ids, clock } = page();
  state.playLast(null);
  t.match(state.text.value, 'No call to replay');
  clock.pass(4_000);
  t.equal(state.text.value, null);
  state.heard([1, 2, 3].map((id) => call(id)));
  state.playLast(null);
  plays(3);
  state.heard([call(4)]);
  state.playBefore(null);
  plays(2);
  plays(null);
  clock.pass(9_000);
  state.playBefore(null);
  plays(1);
  state.playBefore(null);
  t.strictSame(ids, [3, 2, 1]);
  t.match(state.text.value, 'No earlier call');
  clock.pass(4_000);
  t.match(state.text.value, 'Replaying', 'the replay that goes on is shown again');
  plays(null);
  clock.pass(10_000);
  state.playBefore(null);
  t.equal(ids.at(-1), 3, 'the one before the last one');
});

t.test('a talkgroup has calls of its own, and in all of them muted ones do not count', async (t) => {
  const { state, call, ids, muted, talks } = page();
  state.heard([call(1), call(2, { talkgroupId: 'police' }), { ...call(3), callId: 3 }]);
  state.playLast('police');
  muted.add('fire');
  state.playLast(null);
  state.playLast('fire');
  talks(true);
  state.playLast('police');
  t.strictSame(ids, [2, 2, 3], 'and none is played during a talk');
});

t.test('back from the last call reaches each call that is kept, once, the newest first', async (t) => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.integer({ min: 1, max: 500 }), { maxLength: 60, size: 'max' }),
      fc.array(fc.nat({ max: 60 }), { maxLength: 20, size: 'max' }),
      (kept, gone) => {
        const { state, call, ids, plays } = page();
        state.heard(kept.map((id) => call(id)));
        const forgotten = gone.flatMap((at) => kept[at] ?? []);
        plays(null, forgotten);
        state.playLast(null);
        for (let step = 0; step <= kept.length; step += 1) {
          plays(ids.at(-1) ?? null);
          state.playBefore(null);
        }
        const expected = kept.filter((id) => !forgotten.includes(id)).toReversed();
        if (JSON.stringify(ids) !== JSON.stringify(expected)) throw new Error(`${ids}, not ${expected}`);
      },
    ),
  );
  t.pass('in 100 histories');
});

/** Of a recording of 100 frames. */
const speech = Array.from({ length: 100 }, (_, sequence) => ({
  ...{ sequence, payload: packet(sequence), atMs: 20 * sequence },
}));

t.test(
  'a press to talk and a new emergency pause a recording, which goes on a second before that',
  async (t) => {
    const raised = { type: 'EMERGENCY', event: 3 } as const;
    const pauses: Readonly<Record<string, (world: Awaited<ReturnType<typeof heardCall>>) => void>> = {
      user: ({ desk }) => desk.take({ kind: 'pause_replay', isPaused: true }),
      talk: ({ desk }) => desk.take({ kind: 'talk', talkgroupId: ALPHA.talkgroup_id }),
      emergency: ({ socket }) => socket().says({ ...raised, ...emergency() }),
    };
    for (const [name, pause] of Object.entries(pauses)) {
      const world = await heardCall();
      const { desk, heard, clock, told } = world;
      desk.take({ kind: 'replay', callId: -1, frames: speech });
      clock.pass(1_500);
      pause(world);
      t.strictSame(heard.splice(0).slice(-3), ['hear 75 2', 'lagged', 'ended 0/1'], name);
      t.strictSame(told().at(-1), { kind: 'replay', playing: -1, forgotten: [], isPaused: true });
      clock.pass(5_000);
      pause(world);
      t.strictSame(heard, [], `${name}: it stands still`);
      desk.take({ kind: 'pause_replay', isPaused: false });
      t.strictSame(told().at(-1), { kind: 'replay', playing: -1, forgotten: [] });
      clock.pass(20);
      t.strictSame(heard.slice(0, 2), ['hear 25 2', 'hear 26 2'], name);
      clock.pass(5_000);
      t.strictSame(heard.slice(-2), ['hear 99 2', 'ended 0/2']);
      t.match(told().at(-1), { playing: null });
    }
  },
);

t.test('a recording that is paused can be stopped, and another replay takes its place', async (t) => {
  const { desk, heard, clock, told, play, callId } = await heardCall();
  for (const next of [null, callId]) {
    desk.take({ kind: 'replay', callId: -1, frames: speech });
    clock.pass(100);
    desk.take({ kind: 'pause_replay', isPaused: true });
    heard.length = 0;
    play(next);
    clock.pass(100);
    t.match(told().at(-1), { playing: next });
    t.equal(heard.length, next === null ? 0 : 6);
  }
  play(null);
  play(callId);
  desk.take({ kind: 'pause_replay', isPaused: true });
  t.notOk('isPaused' in (told().at(-1) ?? {}), 'a call of the memory is not paused');
});

t.test('a recording waits for the code, and without it is not played', async (t) => {
  for (const isThere of [true, false]) {
    const { desk, events, heard, clock } = await setUp(undefined, {
      async loadReplay() {
        if (!isThere) throw new TypeError('no network');
        return createReplay;
      },
    });
    heard.length = 0;
    desk.take({ kind: 'replay', callId: -1, frames: speech });
    await turn();
    clock.pass(100);
    t.equal(heard.length, isThere ? 6 : 0);
    t.match(
      events.filter(({ kind }) => kind === 'replay'),
      [{ playing: isThere ? -1 : null }],
    );
  }
});

const named = { talkgroupId: 'fire', talkgroup: 'Fire', username: 'ann', time: '14:03:22' };
const plain = (text: string | null) => text?.replace(/[\u2068\u2069]/g, '');

t.test('recordings are told with their time, and one behind the other without a gap', async (t) => {
  const { state, plays, ids, clock, pauses, talks } = page();
  const first = state.playRecording(named, speech);
  plays(-1);
  t.equal(plain(state.text.value), 'Replaying ann in Fire, 14:03:22');
  plays(-1, [], true);
  t.equal(plain(state.text.value), 'Paused: ann in Fire, 14:03:22');
  t.ok(state.isPaused.value);
  talks(true);
  state.pause(false);
  t.strictSame(pauses, [], 'it does not go on during a talk');
  talks(false);
  state.pause(false);
  plays(-1);
  plays(null);
  t.equal(await first, 'ended');
  const second = state.playRecording({ ...named, username: 'bob' }, speech);
  clock.pass(100);
  t.equal(state.playing.value?.callId, -1, 'nothing flickers until the next one begins');
  plays(-2);
  t.equal(plain(state.text.value), 'Replaying bob in Fire, 14:03:22');
  state.stop();
  plays(null);
  t.equal(await second, 'stopped');
  t.equal(state.text.value, null);
  const third = state.playRecording(named, speech);
  plays(-3);
  plays(null);
  clock.pass(0);
  t.strictSame([await third, state.playing.value], ['ended', null]);
  t.strictSame([ids, pauses], [[-1, -2, null, -3], [false]]);
});

t.test('a recording is over when another replay begins, or when it cannot begin', async (t) => {
  const { state, plays, call, talks } = page();
  const first = state.playRecording(named, speech);
  plays(-1);
  const second = state.playRecording(named, speech);
  t.equal(await first, 'stopped');
  plays(null);
  plays(-2);
  state.play(call(7));
  plays(null);
  t.equal(await second, 'stopped');
  plays(7);
  plays(null);
  const third = state.playRecording(named, speech);
  plays(null, [5]);
  plays(null);
  t.equal(await third, 'not_played');
  const fourth = state.playRecording(named, speech);
  plays(-4);
  plays(null);
  await fourth;
  const fifth = state.playRecording(named, speech);
  plays(null);
  t.strictSame([await fifth, state.playing.value], ['not_played', null], 'also behind another one');
  talks(true);
  t.equal(await state.playRecording(named, speech), 'not_played');
});

const press = (code: string, over: object = {}) => ({
  ...{ code, shiftKey: false, ctrlKey: false, altKey: false, metaKey: false, repeat: false },
  ...over,
});
const place = { replayKey: 'KeyR', talkKey: 'Space', areLettersOn: true, isElsewhere: false };

t.test('the replay key replays, and with Shift goes back', async (t) => {
  t.equal(readReplayKey(press('KeyR'), place), 'last');
  t.equal(readReplayKey(press('KeyR', { shiftKey: true }), place), 'before');
  for (const over of [{ repeat: true }, { ctrlKey: true }, { altKey: true }, { metaKey: true }])
    t.equal(readReplayKey(press('KeyR', over), place), null, JSON.stringify(over));
  for (const over of [{ isElsewhere: true }, { talkKey: 'KeyR' }, { replayKey: '' }, { areLettersOn: false }])
    t.equal(readReplayKey(press('KeyR'), { ...place, ...over }), null, JSON.stringify(over));
  t.equal(readReplayKey(press(''), { ...place, replayKey: '' }), null, 'a key without a code is none');
  t.equal(
    readReplayKey(press('F9'), { ...place, replayKey: 'F9', areLettersOn: false }),
    'last',
    'a key that writes nothing works without letters',
  );
});

t.test('keys that have another meaning cannot be the replay key', async (t) => {
  for (const code of ['KeyR', 'KeyT', 'F9', 'F12', 'Insert', 'NumpadAdd']) t.ok(mayReplay(code), code);
  for (const code of ['', 'Enter', 'Escape', 'Tab', 'ArrowUp', 'Space', 'ShiftLeft', 'ControlRight'])
    t.notOk(mayReplay(code), code);
  for (const code of ['AltLeft', 'MetaLeft', 'F6', 'Slash', 'Digit1', 'KeyA', 'KeyS', 'KeyM', 'KeyF'])
    t.notOk(mayReplay(code), code);
});

t.test('the replay key is R, until the user chooses another one or none', async (t) => {
  const stored = new Map<string, string>();
  const shelf = {
    getItem: (key: string) => stored.get(key) ?? null,
    setItem: (key: string, text: string) => void stored.set(key, text),
  };
  const choice = createReplayChoice(shelf);
  t.equal(choice.key.value, 'KeyR');
  for (const code of ['F9', '']) {
    choice.choose(code);
    t.strictSame([choice.key.value, createReplayChoice(shelf).key.value], [code, code]);
  }
  stored.clear();
  stored.set('talkgroup.replay-key', '{');
  t.equal(createReplayChoice(shelf).key.value, 'KeyR');
});
