// What a client sends between the 101 and WELCOME: carried out behind WELCOME, in order and within bounds.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import t, { type Test } from 'tap';
import type { WebSocket } from 'ws';
import { END, encodeFrame, START } from '../../src/protocol/frame.js';
import { eventually } from '../helpers/eventually.js';
import { scrape } from '../helpers/http/exposition.js';
import {
  connect,
  type Json,
  type Person,
  type Radio,
  type Service,
  service,
} from '../helpers/service/service.js';

const s = await service(t);
const onlooker = await s.admin.radio();

/** Says so in its open callback. */
const says =
  (...messages: readonly (Json | string | Uint8Array)[]) =>
  (socket: WebSocket) => {
    for (const message of messages)
      socket.send(
        typeof message === 'string' || message instanceof Uint8Array ? message : JSON.stringify(message),
      );
  };
const connects = (
  t: Test,
  { token }: Pick<Person, 'token'>,
  inOpen: (socket: WebSocket) => void,
  { from = s, resume = '' }: { from?: Pick<Service, 'ws' | 'sql'>; resume?: unknown } = {},
) => connect(t, `${from.ws}/ws?token=${token}&resume=${resume}`, {}, inOpen);

/** The same, as soon as it has said that: its WELCOME may be long in coming. */
async function opens(...[t, who, inOpen, more]: Parameters<typeof connects>) {
  let radio: Promise<Radio> | null = null;
  const socket = await new Promise<WebSocket>((resolve) => {
    const says = (socket: WebSocket) => {
      inOpen(socket);
      resolve(socket);
    };
    radio = connects(t, who, says, more);
  });
  return { socket, radio: radio as unknown as Promise<Radio> }; // assigned before its socket opens
}

const speech = (talkgroup: number, text: string, flags = START | END) =>
  encodeFrame({ flags, sequence: 0, talkgroup, payload: Buffer.from(text) });
/** A question that is answered OK, of so many bytes if need be, and has no rate of its own. */
const question = (ref: number, bytes = 0) =>
  JSON.stringify({ type: 'UNSUBSCRIBE', talkgroup_ids: [], ref }).padEnd(bytes);
const fix = (lat: number, ref?: number) => ({ type: 'GPS_UPDATE', lat, lng: 2, alt: 3, ref });

/** The answers of a radio to its numbered questions, in order. */
const answersOf = ({ arrivals }: Radio) =>
  arrivals.flatMap((one) => {
    const { ref, type, code } = one as Json;
    return ref === undefined ? [] : [`${ref} ${type === 'ERROR' ? code : type}`];
  });
const answers = (from: number, to: number, answer: string) =>
  Array.from({ length: to - from + 1 }, (_, index) => `${from + index} ${answer}`);

async function seriesOf({ metrics }: Pick<Service, 'metrics'>) {
  const { series } = await scrape(metrics);
  return (name: string) => series.get(`talkgroup_relay_${name}`) ?? 0;
}

/** A radio that has said all of it before its WELCOME. */
async function connectsSlowly(...[t, who, inOpen, more]: Parameters<typeof connects>): Promise<Radio> {
  const { radio } = await withSlowReads(more?.from ?? s, async () => {
    const opened = await opens(t, who, inOpen, more);
    await allIsRead();
    return opened;
  });
  return radio;
}

/** No handshake gets its memberships while `work` runs. */
async function withSlowReads<T>({ sql }: Pick<Service, 'sql'>, work: () => Promise<T>): Promise<T> {
  return sql.begin(async (sql) => {
    await sql`lock table memberships in access exclusive mode`;
    return work();
  }) as Promise<T>;
}

/** Everything that other sockets sent before is read by now. */
async function allIsRead(): Promise<void> {
  for (let turn = 0; turn < 2; turn++) {
    onlooker.socket.ping();
    await once(onlooker.socket, 'pong');
  }
}

t.test('20 of 20 positions sent in the open callback are stored', async (t) => {
  for (let i = 0; i < 20; i++) {
    const one = await s.person(`natural-${i}`, { serial: `natural-${i}` });
    const radio = await connects(t, one, says(fix(i)));
    const answer = await eventually(async () => {
      const answer = await one.call('GET', `/devices/${one.device}/gps`);
      if (answer.status !== 200) throw new Error(`${answer.status}`);
      return answer;
    }, 2000);
    t.match(answer.body.gps, { lat: i, lng: 2, alt: 3 });
    radio.socket.terminate();
  }
});

t.test('texts and frames sent before WELCOME are carried out behind it, in their order', async (t) => {
  const [ann, bob] = [await s.person('order-ann'), await s.person('order-bob')];
  const { id, number } = await s.talkgroup('order', ann, bob);
  const listener = await bob.radio();
  const subscribes = (mode: string, ref: number) => ({ type: 'SUBSCRIBE', talkgroup_ids: [id], mode, ref });
  const radio = await connects(
    t,
    ann,
    says(
      speech(number, 'one'),
      subscribes('listen', 1),
      speech(number, 'two'),
      subscribes('talk', 2),
      speech(number, 'three'),
      question(3),
    ),
  );
  t.equal(radio.welcome?.username, 'order-ann');
  await radio.hears('OK');
  const answered = radio.arrivals.map((one) => String((one as Json).code ?? (one as Json).type));
  t.same(
    answered.filter((what) => !what.startsWith('SUBSCRIBED')), // which waits for a promise, even of nothing
    ['WELCOME', 'TALK_STARTED', 'released', 'listen_only', 'TALK_STARTED', 'released', 'OK'],
  );
  await listener.settled();
  t.same(
    listener.frames.map(({ text }) => text),
    ['one', 'three'],
  );
});

t.test(
  'eight messages of a socket are carried out, eight refs beyond are told, the rest is counted',
  async (t) => {
    const ann = await s.person('eight');
    const before = await seriesOf(s);
    const refs = Array.from({ length: 20 }, (_, index) => question(index + 1));
    const radio = await connectsSlowly(t, ann, says(...refs, '{"type":"UNSUBSCRIBE","talkgroup_ids":[]}'));
    await radio.hears('ERROR', ({ ref }) => ref === 16);
    await radio.settled();
    t.same(answersOf(radio).slice(0, -1), [...answers(1, 8, 'OK'), ...answers(9, 16, 'unavailable')]);
    const after = await seriesOf(s);
    const moved = (name: string) => after(name) - before(name);
    t.equal(moved('messages_dropped_total{reason="before_welcome"}'), 5);
    t.equal(moved('messages_refused_total{reason="unavailable"}'), 8);
    t.equal(moved('messages_received_total'), 8 + 8 + 1);
  },
);

t.test('beyond 16 KiB of a socket nothing more is kept, small messages included', async (t) => {
  const ann = await s.person('bytes');
  const radio = await connectsSlowly(
    t,
    ann,
    says(question(1, 8000), question(2, 8000), question(3, 1000), question(4)),
  );
  await radio.hears('ERROR', ({ ref }) => ref === 4);
  t.same(answersOf(radio), ['1 OK', '2 OK', '3 unavailable', '4 unavailable']);
});

t.test('a user has 64 KiB over all sockets, and a socket that closes gives its bytes back', async (t) => {
  const [ann, bob] = [await s.person('sixty-four'), await s.person('neighbour')];
  const dropped = 'messages_dropped_total{reason="before_welcome"}';
  const before = (await seriesOf(s))(dropped);
  const large = says(question(1, 8000), question(2, 8000));
  const opened = await withSlowReads(s, async () => {
    for (const { socket } of await Promise.all([1, 2, 3, 4].map(() => opens(t, ann, large)))) {
      await allIsRead();
      socket.terminate();
    }
    await eventually(async () => assert.equal((await seriesOf(s))(dropped) - before, 8));
    const others = await Promise.all([ann, ann, ann, ann, ann, bob].map((who) => opens(t, who, large)));
    await allIsRead();
    return others;
  });
  const outcomes = [];
  for (const { radio } of opened) {
    const one = await radio;
    await one.settled();
    outcomes.push(answersOf(one).slice(0, 2).join());
  }
  t.equal(outcomes.pop(), '1 OK,2 OK', 'another user has his own');
  t.same(outcomes.sort(), [...Array(4).fill('1 OK,2 OK'), '1 unavailable,2 unavailable']);
});

t.test('audio that is older than 500 ms at WELCOME is dropped, fresh audio is relayed', async (t) => {
  const [ann, bob] = [await s.person('old-ann'), await s.person('old-bob')];
  const { number } = await s.talkgroup('old', ann, bob);
  const listener = await bob.radio();
  const before = (await seriesOf(s))('frames_dropped_total{reason="too_old"}');
  const { radio } = await withSlowReads(s, async () => {
    const opened = await opens(t, ann, says(speech(number, 'old'), question(1)));
    await allIsRead();
    await pause(501);
    opened.socket.send(speech(number, 'fresh'));
    await allIsRead();
    return opened;
  });
  await listener.hearsText('fresh');
  t.same(
    listener.frames.map(({ text }) => text),
    ['fresh'],
  );
  t.equal((await seriesOf(s))('frames_dropped_total{reason="too_old"}') - before, 1);
  t.same(answersOf(await radio), ['1 OK'], 'a text does not grow old');
});

t.test('rates count from the arrival, not from WELCOME', async (t) => {
  const ann = await s.person('rates', { serial: 'rates' });
  const fixes = (from: number, to: number) =>
    Array.from({ length: to - from + 1 }, (_, index) => fix(1, from + index));
  const { radio } = await withSlowReads(s, async () => {
    const opened = await opens(t, ann, says(...fixes(1, 6)));
    await allIsRead();
    await pause(501); // 2 a second, 5 at once
    says(...fixes(7, 7))(opened.socket);
    await allIsRead();
    return opened;
  });
  const one = await radio;
  for (const ref of [1, 2, 3, 4, 5, 7]) await one.hears('OK', (message) => message.ref === ref);
  t.match(await one.hears('ERROR'), { ref: 6, code: 'rate_limited' });
});

t.test('a flood before WELCOME is closed like any other', async (t) => {
  const times = (count: number, act: (socket: WebSocket) => void) => (socket: WebSocket) => {
    for (let i = 0; i < count; i++) act(socket);
  };
  const floods: Record<string, [max: number, (socket: WebSocket) => void]> = {
    texts: [400, (socket) => socket.send('{}')],
    frames: [2200, (socket) => socket.send(Buffer.alloc(17))],
    pings: [100, (socket) => socket.ping()],
    pongs: [100, (socket) => socket.pong('x')],
  };
  const before = (await seriesOf(s))('handshakes_refused_total{reason="rate_limited"}');
  await withSlowReads(s, async () => {
    for (const [what, [max, act]] of Object.entries(floods)) {
      const ann = await s.person(`flood-${what}`);
      const within = await opens(t, ann, times(max, act));
      await allIsRead();
      t.equal(within.socket.readyState, within.socket.OPEN, `${max} ${what} are within the rule`);
      within.socket.terminate();
      const beyond = await opens(t, ann, times(max + 1, act));
      t.same(
        await (await beyond.radio).closes(),
        { code: 1013, reason: 'rate_limited' },
        `one more of ${what}`,
      );
    }
  });
  t.equal((await seriesOf(s))('handshakes_refused_total{reason="rate_limited"}') - before, 4);
});

t.test('a handshake that is refused carries out nothing', async (t) => {
  const [ann, bob] = [await s.person('refused', { serial: 'refused' }), await s.person('hopeful')];
  const { number } = await s.talkgroup('refused', ann, bob);
  const listener = await bob.radio();
  const everything = says(fix(1, 1), speech(number, 'let me in'));
  // Two seconds are too long.
  const late = await withSlowReads(s, async () => {
    const { radio } = await opens(t, ann, everything);
    return radio;
  });
  t.same(await late.closes(), { code: 1013, reason: 'overloaded' });
  await s.admin.patch(`/devices/${ann.device}/status`, { active: false });
  const disabled = await connects(t, ann, everything);
  t.same(await disabled.closes(), { code: 1008, reason: 'device disabled' });
  const forged = await connects(t, { token: `${ann.token}x` }, everything);
  t.same(await forged.closes(), { code: 1008, reason: 'invalid token' });
  for (const radio of [late, disabled, forged]) t.same(radio.arrivals, []);
  await listener.settled();
  t.same(listener.frames, []);
  t.equal((await bob.call('GET', `/devices/${ann.device}/gps`)).status, 404);
});

t.test('what a radio sends before it is resumed is said by the session it resumes', async (t) => {
  const [ann, bob] = [await s.person('resume-ann'), await s.person('resume-bob')];
  const { number } = await s.talkgroup('resume', ann, bob);
  const [first, listener] = [await ann.radio(), await bob.radio()];
  first.speaks(number, 'before', { start: true });
  await listener.hearsText('before');
  const second = await connects(t, ann, says(speech(number, 'after', END), question(1)), {
    resume: first.welcome?.resume_token,
  });
  t.match(second.welcome, { resumed: true, session: first.session });
  await listener.hearsText('after');
  t.same(
    listener.frames.map(({ sender, burst, text }) => [sender, burst, text]),
    [
      [first.session, 1, 'before'],
      [first.session, 1, 'after'],
    ],
  );
  await second.hears('OK');
});

t.test('a message that closes the session is the last that is carried out', async (t) => {
  const own = await service(t, { TEXT_BYTES: '512' });
  const ann = await own.person('too-big');
  const messages = says('no JSON', question(1), 'x'.repeat(513), question(2), Buffer.alloc(17));
  const radio = await connectsSlowly(t, ann, messages, { from: own });
  t.same(await radio.closes(), { code: 1009, reason: 'message too big' });
  t.same(
    radio.arrivals.map((one) => (one as Json).code ?? (one as Json).type),
    ['WELCOME', 'bad_message', 'OK'],
  );
  const series = await seriesOf(own);
  t.equal(series('messages_dropped_total{reason="before_welcome"}'), 1);
  t.equal(series('frames_dropped_total{reason="before_welcome"}'), 1);
  t.equal(series('messages_received_total'), 3);
});
