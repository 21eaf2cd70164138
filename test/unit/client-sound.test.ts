// The sound of a page without a page: what is played of a radio, and how a talk with the microphone begins and ends.
import t, { type Test } from 'tap';
import { createEncoder, FRAME_SAMPLES } from '../../src/client/sound/codec.js';
import { NoMicrophone } from '../../src/client/sound/microphone-error.js';
import { playRadio } from '../../src/client/sound/play-radio.js';
import type { FromCapture, FromPlayer, ToCapture, ToPlayer } from '../../src/client/sound/ports.js';
import type { OpenMicrophone, Sound } from '../../src/client/sound/sound-types.js';
import {
  type MicrophoneTalk,
  type MicrophoneTalkState,
  talkWithMicrophone,
} from '../../src/client/sound/talk-with-microphone.js';
import { END, START } from '../../src/protocol/frame.js';
import { ALPHA, BRAVO, fakeWorld, idOf, OWN, talkEnd, talkStart, turn } from '../helpers/client/fakes.js';
import { type FakePort, fakePort } from '../helpers/sound/fake-port.js';

const encoder = await createEncoder();
const payload = encoder.encode(new Float32Array(FRAME_SAMPLES).fill(0.1));
encoder.free();

const [alpha, bravo] = [ALPHA.talkgroup_id, BRAVO.talkgroup_id];

/** A radio whose sound is played: the ports of its talkgroups, as the player has them. */
async function playing(t: Test) {
  const world = fakeWorld();
  const ports = new Map<string, FakePort<ToPlayer, FromPlayer>>();
  let starts = 0;
  const sound: Pick<Sound, 'start' | 'add' | 'remove'> = {
    async start() {
      starts += 1;
    },
    add(talkgroupId) {
      const port: FakePort<ToPlayer, FromPlayer> = fakePort();
      ports.set(talkgroupId, port);
      return port as never;
    },
    remove: (talkgroupId) => void ports.delete(talkgroupId),
  };
  world.socket().welcomes();
  const { stop } = await playRadio({ radio: world.radio, sound });
  t.equal(starts, 1);
  t.teardown(stop);
  const runs = (talkgroupId: string) => ports.get(talkgroupId)?.says({ kind: 'rate', rate: 48_000 });
  const speaks = (sequence: number, burst = 1) =>
    world.socket().relays({ sequence, talkgroup: ALPHA.number, sender: 20, burst, payload });
  /** The number of the voice of each message, after its kind. */
  const told = () => (ports.get(alpha)?.take() ?? []).map(({ kind, voice }) => `${kind} ${voice}`);
  return { ...world, ports, stop, runs, speaks, told };
}

t.test('a radio is played in all its talkgroups, also in those that come later', async (t) => {
  const { socket, ports, radio } = await playing(t);
  t.same([...ports.keys()], [alpha]);
  socket().says({ type: 'TALKGROUP_JOINED', ...BRAVO });
  t.same([...ports.keys()], [alpha, bravo]);
  const [port] = ports.values();
  socket().says({ type: 'TALKGROUP_LEFT', talkgroup_id: alpha, reason: 'left' });
  t.same([...ports.keys()], [bravo]);
  t.ok(port?.isClosed);
  radio.close();
  t.same([...ports.keys()], [], 'a radio that has stopped plays nothing');
});

t.test('a radio that stops before the sound has started is not played', async (t) => {
  for (const isEarly of [true, false]) {
    const { radio, socket } = fakeWorld();
    socket().welcomes();
    const added: string[] = [];
    let start = () => {};
    const started = new Promise<void>((resolve) => {
      start = resolve;
    });
    if (isEarly) radio.close();
    const playing = playRadio({
      radio,
      sound: { start: () => started, add: (id) => void added.push(id) as never, remove: () => {} },
    });
    radio.close();
    start();
    (await playing).stop();
    t.same(added, []);
  }
});

t.test('frames are played, LAG drops what is queued, and a burst that has ended is over', async (t) => {
  const { socket, stop, ports, runs, speaks, told } = await playing(t);
  runs(alpha);
  socket().says(talkStart({ event: 1 }));
  speaks(0);
  await turn();
  t.match(told(), ['play 1', 'play 1']);
  socket().says({ type: 'LAG', talkgroups: [{ talkgroup_id: alpha, missed: 3 }], since_ms: 100 });
  t.equal(told()[0], 'drop 1');
  socket().says(talkEnd({ event: 2 }));
  socket().says(talkStart({ event: 3, burst: 2 }));
  socket().says(talkEnd({ event: 4, burst: 2 }));
  told();
  speaks(0, 2);
  t.same(told(), [], 'a frame of a burst that has ended begins no voice');
  speaks(0, 3);
  t.equal(told()[0], 'play 3');
  stop();
  t.same([...ports.keys()], []);
});

t.test('speech that is not Opus is not played', async (t) => {
  const { socket, runs, speaks, told } = await playing(t);
  runs(alpha);
  socket().says(talkStart({ event: 1, codec: { name: 'codec2', sample_rate: 8_000, frame_ms: 20 } }));
  speaks(0);
  t.same(told(), []);
});

type CapturePort = FakePort<ToCapture, FromCapture>;
type Opened = OpenMicrophone & { readonly fake: CapturePort; close(): void };

/** A page with a microphone, and a radio in Alpha and Bravo. */
function page() {
  const world = fakeWorld();
  world.socket().welcomes({ talkgroups: [ALPHA, BRAVO], talkgroups_total: 2 });
  let microphone: Opened | null = null;
  let asked = 0;
  let error: Error | null = null;
  const sound = {
    get microphone() {
      return microphone;
    },
    async openMicrophone() {
      asked += 1;
      if (error) throw error;
      microphone = opened();
      return microphone.port;
    },
  };

  function opened(): Opened {
    const fake: CapturePort = fakePort();
    let close = () => {};
    const closed = new Promise<void>((resolve) => {
      close = () => {
        microphone = null;
        resolve();
      };
    });
    return { port: fake as never, closed, fake, close };
  }

  return {
    ...world,
    asked: () => asked,
    fails(now: Error | null) {
      error = now;
    },
    loses: () => microphone?.close(),
    talk: (talkgroupId = alpha) => talkWithMicrophone({ radio: world.radio, sound, talkgroupId }),
    /** One frame of 20 ms, which belongs to the newest talk of the encoder. */
    records() {
      const told = microphone?.fake.sent.filter((message) => message.kind === 'talk') ?? [];
      const samples = new Float32Array(FRAME_SAMPLES);
      microphone?.fake.says({ talk: told.at(-1)?.talk ?? 0, samples, rate: 48_000 });
    },
    isRecording: () => microphone?.fake.sent.findLast(({ kind }) => kind !== 'return')?.kind === 'talk',
    /** The flags and the talkgroup of each frame so far. */
    sent: () => world.socket().frames.map(({ flags, talkgroup }) => [flags, talkgroup]),
  };
}

function reaches(talk: MicrophoneTalk, kind: MicrophoneTalkState['kind']): Promise<void> {
  return new Promise((resolve) => {
    if (talk.state.kind === kind) resolve();
    talk.on('state', (state) => state.kind === kind && resolve());
  });
}

t.test('a talk opens the microphone, sends until the release, and the next one finds it open', async (t) => {
  const { talk, records, sent, socket, asked, isRecording } = page();
  const first = talk();
  t.same(first.state, { kind: 'opening' });
  await reaches(first, 'idle');
  records();
  records();
  t.same(sent(), [
    [START, 1],
    [0, 1],
  ]);
  socket().says(talkStart({ event: 1, session: OWN }));
  t.equal(first.state.kind, 'talking');
  first.end();
  t.notOk(isRecording());
  records();
  t.same(sent().slice(2), [[END, 1]]);
  socket().says(talkEnd({ event: 2, session: OWN }));
  t.match(await first.ended, { kind: 'ended', code: 'released' });
  t.match(first.state, { kind: 'ended' });
  const second = talk();
  await reaches(second, 'idle');
  t.ok(isRecording());
  t.equal(asked(), 1);
});

t.test('a key that is released before the microphone is open sends nothing', async (t) => {
  const { talk, records, sent, isRecording } = page();
  const early = talk();
  early.end();
  t.same(await early.ended, { kind: 'ended', code: 'unsent' });
  records();
  t.same(sent(), []);
  t.notOk(isRecording());
});

t.test('a denial ends the recording, and a talkgroup of others is denied', async (t) => {
  const { talk, records, socket, isRecording } = page();
  const denied = talk();
  await reaches(denied, 'idle');
  records();
  socket().says({ type: 'FLOOR_DENIED', talkgroup_id: alpha, code: 'listen_only' });
  t.match(await denied.ended, { kind: 'denied', code: 'listen_only' });
  t.notOk(isRecording());
  t.same(await talk(idOf('tg-other')).ended, { kind: 'denied', code: 'not_member' });
});

t.test('without a microphone the talk says why, and the next one asks again', async (t) => {
  const { talk, fails, asked } = page();
  fails(new NoMicrophone('refused'));
  const refused = talk();
  t.same(await refused.ended, { kind: 'no_microphone', reason: 'refused' });
  t.same(refused.state, { kind: 'no_microphone', reason: 'refused' });
  fails(null);
  const [one, other] = [talk(), talk(bravo)];
  await Promise.all([reaches(one, 'idle'), reaches(other, 'idle')]);
  t.equal(asked(), 2, 'and two talks ask once');
});

t.test('a microphone that goes away ends the burst, and the next talk opens it again', async (t) => {
  const { talk, records, loses, sent, socket, asked } = page();
  const cut = talk();
  await reaches(cut, 'idle');
  records();
  loses();
  await turn();
  t.same(sent().at(-1), [END, 1]);
  socket().says(talkStart({ event: 1, session: OWN }));
  socket().says(talkEnd({ event: 2, session: OWN }));
  t.same(await cut.ended, { kind: 'no_microphone', reason: 'lost' });
  t.match(cut.state, { kind: 'no_microphone' });
  const again = talk();
  await reaches(again, 'idle');
  t.equal(asked(), 2);
  records();
  t.same(sent().at(-1), [START, 1]);
});

t.test('two talks at once send the same speech, until each one is released', async (t) => {
  const { talk, records, sent, isRecording } = page();
  const [one, other] = [talk(), talk(bravo)];
  await Promise.all([reaches(one, 'idle'), reaches(other, 'idle')]);
  records();
  one.end();
  records();
  t.same(sent(), [
    [START, 1],
    [START, 2],
    [END, 1],
    [0, 2],
  ]);
  t.ok(isRecording());
  other.end();
  t.notOk(isRecording());
});
