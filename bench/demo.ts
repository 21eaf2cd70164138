// `make demo`: starts a server of its own, speaks a recording from one radio to another, and proves what was heard. With
// NODES=2 the radios are on two nodes.
import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { createOpusWriter, readOpus } from '../src/client/audio/ogg.js';
import { type Spoken, speak } from '../src/client/audio/speak.js';
import {
  createRadio,
  createRecordings,
  createRest,
  type HeardFrame,
  type Radio,
  type Recording,
  type Recordings,
} from '../src/client/node.js';
import { createRecorder } from '../src/client/terminal/recorder.js';
import { type DemoServer, startServer } from './demo-server.js';
import { aborted } from './machine/clock.js';

// Made with: espeak-ng -v en-gb -s 160 -p 40 --stdout "Control, this is unit seven. North gate is clear, all well.
// Next call at fifteen thirty. Over." | opusenc --speech --bitrate 20 --framesize 20 --discard-comments --serial 1 - FILE
const SPEECH = 'bench/speech.ogg';
const HEARD_IN = '.data/demo';
const HEARD = join(HEARD_IN, 'heard.ogg');
const ADMIN = { username: 'admin', password: randomUUID() };
// The server ends a silent burst after 2 s itself. A radio that has not heard the end by then never will.
const END_MS_MAX = 5_000;
/** Nodes find each other within a second. */
const REACH_MS_MAX = 10_000;
const NODES_MAX = 9;
/** Of nodes that learn of each other, LOOK_MS apart. */
const SETTLED_TRIES = 500;
/** Between two looks for the recording (ms). */
const LOOK_MS = 10;

process.exitCode = (await demo()) ? 0 : 1;

async function demo(): Promise<boolean> {
  const interrupt = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.once(name, () => interrupt.abort(new Error(`interrupted by ${name}`)));
  }
  const nodes = Number(process.env.NODES || 1);
  if (!Number.isInteger(nodes) || nodes < 1 || nodes > NODES_MAX) {
    console.error(`NODES must be 1 to ${NODES_MAX}`);
    return false;
  }
  const dataDir = await mkdtemp(join(tmpdir(), 'radio-demo-'));
  const server = startServer({ dataDir, nodes, admin: ADMIN });
  try {
    return await Promise.race([play(server, interrupt.signal), aborted(interrupt.signal)]);
  } catch (error) {
    // Interrupted, or the server did not do its part: its log says why.
    console.error(server.log());
    console.error(`demo failed: ${error instanceof Error ? error.message : error}`);
    return false;
  } finally {
    await server.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
}

async function play(server: DemoServer, signal: AbortSignal): Promise<boolean> {
  const nodes = await server.nodes;
  for (const { rest, relay } of nodes) console.log(`server     ${rest}, ${relay}`);
  const [first, last] = [nodes.at(0), nodes.at(-1)];
  if (!first || !last) throw new Error('a server is needed');
  const { talkgroupId, tokens } = await setUp(first.rest);
  const [talker, listener] = tokens.map((token, at) => openRadio((at === 0 ? first : last).relay, token));
  if (!talker || !listener) throw new Error('two radios are needed');
  try {
    await Promise.all([talker.opened, listener.opened]);
    if (first !== last) {
      await knowsOf({ talker, talkgroupId, signal });
      console.log(
        `nodes      the talker is on node 1, the listener on node ${nodes.length}, a nats-server is between them`,
      );
    }
    const heard = await speakAndHear({ talker, listener, talkgroupId, signal });
    return heard !== null && (await replay(last.rest, { token: tokens.at(-1) ?? '', talkgroupId, heard }));
  } finally {
    talker.close();
    listener.close();
  }
}

/** A talkgroup with two registered radios in it, by REST as a fleet's administrator and its apps would. */
async function setUp(rest: string): Promise<{ talkgroupId: string; tokens: string[] }> {
  const admin = await call<{ jwt: string }>(rest, 'POST /auth/login', { body: ADMIN });
  const { talkgroup } = await call<{ talkgroup: { id: string } }>(rest, 'POST /talkgroups', {
    token: admin.jwt,
    body: { name: 'Alpha' },
  });
  const change = { token: admin.jwt, body: { recording_days: 1 } };
  for (let left = SETTLED_TRIES; left > 0; left--) {
    try {
      await call(rest, `PATCH /talkgroups/${talkgroup.id}`, change);
      break;
    } catch (error) {
      // Expected of nodes that have just begun: they do not know of each other yet.
      if (left === 1 || !(error instanceof Error) || !error.message.includes('answered 409')) throw error;
      await setTimeout(LOOK_MS);
    }
  }
  const tokens: string[] = [];
  for (const username of ['unit-7', 'control']) {
    const { jwt } = await call<{ jwt: string }>(rest, 'POST /auth/register', {
      body: { username, password: randomUUID(), deviceSerial: `demo-${username}`, site: 'demo' },
    });
    await call(rest, `POST /talkgroups/${talkgroup.id}/join`, { token: jwt });
    tokens.push(jwt);
  }
  return { talkgroupId: talkgroup.id, tokens };
}

/** null: it was not heard as it was spoken. */
async function speakAndHear({
  talker,
  listener,
  talkgroupId,
  signal,
}: {
  talker: Radio;
  listener: Radio;
  talkgroupId: string;
  signal: AbortSignal;
}): Promise<Heard | null> {
  const { packets, packetMs, channels, preSkip } = await readOpus(SPEECH);
  await mkdir(HEARD_IN, { recursive: true });
  const recorder = createRecorder({
    radio: listener,
    writer: await createOpusWriter(HEARD, { channels, preSkip }),
  });
  const frames: HeardFrame[] = [];
  listener.on('audio', (frame) => frames.push(frame));
  const heardEnd = new Promise((resolve) => listener.on('talk_ended', resolve));

  console.log(`speaking   ${SPEECH}, ${((packets.length * packetMs) / 1000).toFixed(1)} s`);
  const talk = talker.talk({ talkgroupId });
  const spoken = await speak({ talk, packets, packetMs, signal });
  const heard = Promise.race([heardEnd, setTimeout(END_MS_MAX, undefined, { ref: false })]);
  const [{ code }] = await Promise.race([Promise.all([talk.ended, heard]), aborted(signal)]);
  const endedAtMs = performance.now();
  await recorder.close();

  const written = recorder.recorded.packets > 0 ? (await readOpus(HEARD)).packets : [];
  const same = isDeepStrictEqual(written, packets);
  report({ spoken, frames, code, same });
  return same && code === 'released' && frames.length === packets.length ? { frames, endedAtMs } : null;
}

interface Heard {
  readonly frames: readonly HeardFrame[];
  /** When the listener heard the end (monotonic ms). */
  readonly endedAtMs: number;
}

/** The burst as the database has it. */
async function replay(
  url: string,
  { token, talkgroupId, heard }: { token: string; talkgroupId: string; heard: Heard },
): Promise<boolean> {
  const recordings = createRecordings({ rest: createRest({ url, token }) });
  const recording = await listed(recordings, talkgroupId);
  const tookMs = performance.now() - heard.endedAtMs;
  if (recording === null) {
    console.log('recorded   nothing');
    return false;
  }
  const { frames: count, stored_frames } = recording;
  console.log(`recorded   ${stored_frames} of ${count} frames, listed ${tookMs.toFixed(0)} ms after the end`);
  const { frames } = await recordings.open(recording);
  const payloadsOf = (all: readonly { payload: Uint8Array }[]) =>
    all.map(({ payload }) => Buffer.from(payload));
  const same = isDeepStrictEqual(payloadsOf(frames), payloadsOf(heard.frames));
  console.log(`replayed   ${same ? 'identical to what was heard' : 'NOT identical to what was heard'}`);
  return same;
}

/** The newest recording, once it has an end. null: it has none in time. */
async function listed(recordings: Recordings, talkgroupId: string): Promise<Recording | null> {
  const untilMs = performance.now() + END_MS_MAX;
  while (performance.now() < untilMs) {
    const {
      recordings: [newest],
    } = await recordings.list(talkgroupId, { limit: 1 });
    if (newest !== undefined && newest.code !== null) return newest;
    await setTimeout(LOOK_MS);
  }
  return null;
}

function report({
  spoken: { startedAtMs, packetMs, packetsDue },
  frames,
  code,
  same,
}: {
  spoken: Spoken;
  frames: HeardFrame[];
  code: string;
  same: boolean;
}): void {
  // Both radios live in this process, so one monotonic clock times both ends. Each packet counts from when it was due.
  const latencies = frames.map(
    ({ sequence, receivedAtMs }) => receivedAtMs - startedAtMs - sequence * packetMs,
  );
  const [access = Number.NaN] = latencies;
  const ordered = latencies.toSorted((a, b) => a - b);
  const percentile = (share: number) => ordered[Math.ceil(share * ordered.length) - 1] ?? Number.NaN;
  const ms = (value: number) => `${value.toFixed(2)} ms`;
  console.log(`heard      ${HEARD}, burst ended: ${code}`);
  console.log(`packets    ${same ? 'identical to those sent' : 'NOT identical to those sent'}`);
  console.log(`access     ${ms(access)} from the start of the talk to the first packet heard`);
  console.log(
    `latency    p50 ${ms(percentile(0.5))}, p99 ${ms(percentile(0.99))}, one way, ${frames.length} packets`,
  );
  console.log(`loss       ${packetsDue - frames.length} of ${packetsDue}`);
}

function openRadio(url: string, token: string): Radio {
  const radio = createRadio({ url, token });
  radio.on('waiting', ({ code, reason }) => console.log(`connection lost: ${code} ${reason}`));
  return radio;
}

/** Resolves when the node of the talker counts both radios: it then knows where its frames are heard. */
async function knowsOf({
  talker,
  talkgroupId,
  signal,
}: {
  talker: Radio;
  talkgroupId: string;
  signal: AbortSignal;
}): Promise<void> {
  const isKnown = () => talker.talkgroups.get(talkgroupId)?.online === 2;
  const told = new Promise<void>((resolve) => talker.on('presence', () => isKnown() && resolve()));
  await talker.subscribe({ talkgroupIds: [talkgroupId], presence: true });
  if (isKnown()) return;
  const late = setTimeout(REACH_MS_MAX, undefined, { ref: false }).then(() => {
    throw new Error('the two nodes do not reach each other');
  });
  await Promise.race([told, late, aborted(signal)]);
}

/** One REST call, `METHOD /path`. Throws unless it is answered 200. The body's shape is taken from seed.md on trust. */
async function call<Body>(
  rest: string,
  route: string,
  { token, body }: { token?: string; body?: object },
): Promise<Body> {
  const [method = '', path] = route.split(' ');
  const response = await fetch(`${rest}${path}`, {
    method,
    headers: {
      ...(token && { authorization: `Bearer ${token}` }),
      ...(body && { 'content-type': 'application/json' }),
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${route} answered ${response.status}: ${text}`);
  return JSON.parse(text) as Body;
}
