// The radios of docs/examples as processes, and the links, people and relays that they talk with.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';
import { type WebSocket, WebSocketServer } from 'ws';
import { readOpus, writeOpus } from '../../src/client/audio/ogg.js';
import { eventually } from './eventually.js';
import { startChaosProxy } from './network/chaos-proxy.js';
import type { Service } from './service/service.js';

/** Each radio of the guide, as the start of its command. */
export type Program = readonly [command: string, ...args: string[]];

export const library: Program = [process.execPath, 'docs/examples/radio.mjs'];
const hasWebSocket = 'WebSocket' in globalThis; // Node 20 has it behind an option
export const raw: Program = [
  process.execPath,
  ...(hasWebSocket ? [] : ['--experimental-websocket']),
  'docs/examples/raw-radio.mjs',
];

type Teardown = Pick<Test, 'teardown'>;

/** A process with its lines so far, of both streams. */
export function start(t: Teardown, [command, ...args]: Program, env: Record<string, string> = {}) {
  const child = spawn(command, args, { env: { ...process.env, ...env }, stdio: 'pipe' });
  t.teardown(() => child.kill('SIGKILL'));
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const exited = once(child, 'close') as Promise<[code: number | null]>;
  return {
    output: () => output,
    /** Waits for a line. */
    says: (line: RegExp) =>
      eventually(
        () => line.exec(output) ?? fail(`never came: ${line}, only ${JSON.stringify(output)}`),
        30_000,
      ),
    exit: async () => (await exited)[0],
  };
}

function fail(why: string): never {
  throw new Error(why);
}

/** A folder that is removed at the end, and what writes speech to it. */
export async function speechFolder(t: Teardown) {
  const folder = await mkdtemp(join(tmpdir(), 'example-radios-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  let speechFiles = 0;

  /** A file of its own with some of the recording: of a shared one, a test would read what another one writes. */
  async function speechFile(packets: number): Promise<string> {
    const spoken = (await readOpus('bench/speech.ogg')).packets.slice(100, 100 + packets);
    const file = join(folder, `speech-${++speechFiles}.ogg`);
    await writeFile(file, await writeOpus({ packets: spoken, channels: 1, preSkip: 312 }));
    return file;
  }

  return { folder, speechFile };
}

let talkgroups = 0;

/** Two people in a talkgroup of their own, where one talks at a time. */
export async function twoPeople(s: Service) {
  talkgroups += 1;
  const number = talkgroups; // others count on while we wait
  const [ann, bob] = [await s.person(`ann-${number}`), await s.person(`bob-${number}`)];
  const { id } = await s.talkgroupWith({ name: 'Guide', floor_mode: 'single' }, ann, bob);
  return { ann, bob, id };
}

async function startLink(t: Teardown, s: Service) {
  const { hostname: host, port } = new URL(s.ws);
  const proxy = await startChaosProxy({ host, port: Number(port) });
  t.teardown(() => proxy.stop());
  return { url: `ws://127.0.0.1:${proxy.port}`, reset: proxy.reset };
}

/** A relay without a service, with a session and a talkgroup. `follow` gets each audio frame. */
export async function madeUpRelay(t: Teardown, follow: (frame: Buffer, relay: MadeUpRelay) => void) {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
  t.teardown(() => {
    for (const socket of server.clients) socket.terminate();
    server.close();
  });
  await once(server, 'listening');
  server.on('connection', (socket) => {
    const say = (message: object) => socket.send(JSON.stringify(message));
    const talkgroups = [{ talkgroup_id: 'made up', number: 7, name: 'made up', event: 0, talkers: [] }];
    say({ type: 'WELCOME', session: 5, resume_token: 'x', resumed: false, talkgroups, talkgroups_total: 1 });
    socket.on('message', (data: Buffer, isBinary) => isBinary && follow(data, { say, socket }));
  });
  return { url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`, server };
}

export interface MadeUpRelay {
  readonly say: (message: object) => void;
  readonly socket: WebSocket;
}

export const isFirst = (frame: Buffer) => ((frame[0] ?? 0) & 0x08) !== 0;
const isLast = (frame: Buffer) => ((frame[0] ?? 0) & 0x04) !== 0;

/** Answers a frame as a relay that grants the floor. */
export function grant(frame: Buffer, { say }: MadeUpRelay): void {
  const burst = { talkgroup_id: 'made up', session: 5, burst: 1, username: 'ann' };
  if (isFirst(frame)) say({ ...burst, type: 'TALK_STARTED', event: 1 });
  if (isLast(frame)) say({ ...burst, type: 'TALK_ENDED', event: 2, code: 'released' });
}

/**
 * A relay whose nodes decide no floor for the first `denials` requests. At the one with the number `leftAt` the talkgroup is
 * left. Returns the times of the requests that came.
 */
async function undecided(t: Teardown, denials: number, leftAt = Number.POSITIVE_INFINITY) {
  const askedAtMs: number[] = [];
  const relay = await madeUpRelay(t, (frame, relay) => {
    if (isFirst(frame)) askedAtMs.push(performance.now());
    const asked = askedAtMs.length;
    if (isFirst(frame) && asked === leftAt)
      return relay.say({ type: 'TALKGROUP_LEFT', talkgroup_id: 'made up', code: 'left' });
    const denial = { type: 'FLOOR_DENIED', talkgroup_id: 'made up', code: 'retry_later', retry_ms: 200 };
    if (isFirst(frame) && asked <= denials) return relay.say(denial);
    grant(frame, relay);
  });
  return { url: relay.url, askedAtMs };
}

// ---- What each of them does.

interface Pair {
  readonly talker: Program;
  readonly listener: Program;
  readonly file: string;
}

export async function hearsEachPacket(t: Test, s: Service, { talker, listener, file }: Pair): Promise<void> {
  const { ann, bob, id } = await twoPeople(s);
  const hears = start(t, [...listener, 'listen', s.ws, bob.token, '1']);
  await hears.says(/^connected$/m);
  const talks = start(t, [...talker, 'talk', s.ws, ann.token, id, file]);
  t.strictSame([await talks.exit(), await hears.exit()], [0, 0], talks.output() + hears.output());
  const [, said] = /^sent 50 packets, checksum (\w+): released$/m.exec(talks.output()) ?? [];
  t.match(hears.output(), new RegExp(`^${ann.name} talks in Guide$`, 'm'));
  t.match(hears.output(), new RegExp(`^heard 50 packets, checksum ${said}: released$`, 'm'));
}

/** Both lose the network once while the talker speaks the 200 packets of `file`. */
export async function talksOverLostLinks(t: Test, s: Service, pair: Pair): Promise<void> {
  // The floor is kept for 1.5 s: on a busy machine a program may need more than that to come back.
  await eventually(() => conversation(t, s, pair), 60_000);
}

async function conversation(t: Test, s: Service, { talker, listener, file }: Pair): Promise<void> {
  const { ann, bob, id } = await twoPeople(s);
  const links = await Promise.all([startLink(t, s), startLink(t, s)]);
  const [annsLink, bobsLink] = links;
  const hears = start(t, [...listener, 'listen', bobsLink.url, bob.token, '1']);
  await hears.says(/^connected$/m);
  const talks = start(t, [...talker, 'talk', annsLink.url, ann.token, id, file]);
  await hears.says(/ talks in Guide$/m);
  annsLink.reset();
  await talks.says(/^connection lost: 1006.*\n(?:.*\n)*resumed$/m);
  if (/: disconnected$/m.test(hears.output())) fail('the floor was lost meanwhile');
  bobsLink.reset();
  await hears.says(/^connection lost: 1006.*\n(?:.*\n)*resumed$/m);

  t.strictSame([await talks.exit(), await hears.exit()], [0, 0], talks.output() + hears.output());
  t.match(talks.output(), /^sent 200 packets, checksum \w+: released$/m);
  const [, packets] = /^heard (\d+) packets, checksum \w+: released$/m.exec(hears.output()) ?? [];
  t.ok(
    Number(packets) > 0 && Number(packets) < 200,
    `${packets} packets of one burst, over two lost connections`,
  );
}

/** `file` has speech for 2 s. */
export async function asksAgain(t: Test, program: Program, file: string): Promise<void> {
  const { url, askedAtMs } = await undecided(t, 2);
  const talk = start(t, [...program, 'talk', url, 'token', 'made up', file]);
  t.equal(await talk.exit(), 0, talk.output());
  t.match(talk.output(), /released/);
  t.equal(askedAtMs.length, 3);
  for (const [at, atMs] of askedAtMs.slice(1).entries()) {
    const waitedMs = atMs - (askedAtMs[at] ?? 0);
    // Of 200 ms, less what the first of two requests waited to be read here.
    t.ok(waitedMs >= 100, `asks again after ${Math.round(waitedMs)} ms`);
  }
}

export async function stopsWhenLeft(t: Test, program: Program): Promise<void> {
  const { url, askedAtMs } = await undecided(t, Number.POSITIVE_INFINITY, 2);
  const talk = start(t, [...program, 'talk', url, 'token', 'made up', 'bench/speech.ogg']);
  t.equal(await talk.exit(), 1, talk.output());
  t.match(talk.output(), /: not_member$/m);
  t.equal(askedAtMs.length, 2);
}

export async function stopsAfterTenRequests(t: Test, program: Program): Promise<void> {
  const { url, askedAtMs } = await undecided(t, Number.POSITIVE_INFINITY);
  const talk = start(t, [...program, 'talk', url, 'token', 'made up', 'bench/speech.ogg']);
  t.equal(await talk.exit(), 1, talk.output());
  t.match(talk.output(), /: retry_later$/m);
  t.equal(askedAtMs.length, 10);
}

export async function stopsForAWorthlessToken(t: Test, s: Service, program: Program): Promise<void> {
  const stranger = start(t, [...program, 'listen', s.ws, 'worthless', '1']);
  t.equal(await stranger.exit(), 1);
  t.match(stranger.output(), /^stopped: 1008 invalid token$/m);
}
