// An example of the protocol pages held as a conversation with the real service, line by line.
import { randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import type { Test } from 'tap';
import { WebSocket } from 'ws';
import type { UserId } from '../../../src/ids.js';
import {
  HEADER_BYTES,
  KIND_BUNDLE,
  KIND_MASK,
  readBurst,
  readEpoch,
  readFlags,
  readSender,
  readSequence,
  readTalkgroup,
  SEQUENCE_AT,
  START,
  TALKGROUP_AT,
} from '../../../src/protocol/frame.js';
import { messageIn } from '../relay/heard-message.js';
import type { Json, Service } from '../service/service.js';
import { heardEverywhere, isDealt } from '../service/two-nodes.js';
import type { Dealt } from '../service/two-threads.js';
import { createMadeUp, type MadeUp } from './made-up.js';
import { codesIn, type Example, table } from './protocol-page.js';

/** The longest wait in the page is that for a slow receiver to be closed, 10 s. */
const WAIT_MS = 13_000;

/** A user in the conversation, with at most one socket. */
interface Player {
  readonly name: string;
  socket: WebSocket | null;
  /** JSON, frames and closes in the order of their arrival, all as values to be compared. */
  readonly arrivals: Json[];
  /** So many of them were shown or passed over. */
  taken: number;
  /** After a bare `…`. */
  mayPassOver: boolean;
  answersPings: boolean;
  readonly unanswered: Buffer[];
  framesSaid: number;
  framesHeard: number;
  /** The answer to the last REST call. A GET is asked again each time. */
  answer: () => Promise<Json>;
}

interface Stage {
  readonly t: Test;
  readonly s: Service;
  /** All players are at the first node, also where there are two. */
  readonly isOfOneNode: boolean;
  readonly madeUp: MadeUp;
  readonly tokens: Map<string, string>;
  readonly players: Map<string, Player>;
  /** Sessions by their resume tokens. */
  readonly sessions: Map<string, number>;
  /** Says `arrived` when a player heard something. */
  readonly arriving: EventEmitter;
  /** What was heard and is not as the page's tables say. */
  readonly faults: string[];
  /** What the server was made to do, to be undone and waited for at the end. */
  readonly undo: (() => void)[];
  readonly ending: Promise<unknown>[];
}

/** Rejects at the first line that is not what happens. Answers what was heard beyond what the example shows. */
export async function hold(t: Test, s: Service, example: Example): Promise<readonly string[]> {
  const stage: Stage = {
    t,
    s,
    isOfOneNode: isOfOneNode(example),
    madeUp: createMadeUp(),
    tokens: new Map(),
    players: new Map(),
    sessions: new Map(),
    arriving: new EventEmitter().setMaxListeners(0),
    faults: [],
    undo: [],
    ending: [],
  };
  try {
    await cast(stage, example);
    await connectAll(stage, example);
    await follow(stage, example);
    return [...stage.faults, ...(await leftOver(stage))];
  } finally {
    for (const undo of stage.undo) undo();
    await Promise.all(stage.ending);
  }
}

/** Lines of examples that two nodes may show in another way. */
const OF_ONE_NODE: readonly RegExp[] = [
  /"type":"SYNC"/, // of a talkgroup that no session of the node receives
  /"type":"TALKGROUP_CHANGED"/, // another node hears of the floor mode first, and reads the name behind that
  /"type":"PRESENCE"/, // sessions of the other node come up to 1 s later, and when they were not known, without names
];

/**
 * With TALKERS_MAX only bursts of its own node give way, and the sockets of a user are counted on each node. A talk limit
 * runs out while both nodes are waited for.
 */
function isOfOneNode({ groups, lines, settings }: Example): boolean {
  const isLimited = 'TALKERS_MAX' in settings || 'SOCKETS_PER_USER' in settings;
  if (isLimited || groups.some(({ settings }) => settings.max_talk_ms)) return true;
  return lines.some(({ text }) => OF_ONE_NODE.some((line) => line.test(text)));
}

/** The accounts and talkgroups that the page introduces, by the names it has for them. */
async function cast({ s, madeUp, tokens }: Stage, { at, groups }: Example): Promise<void> {
  const people = new Map<string, { readonly id: UserId }>();
  for (const [name = '', who, id] of table('name | account').rows) {
    if (id === '') {
      const stranger = { sub: randomUUID() as UserId, username: name, role: 'user' } as const;
      tokens.set(name, s.sign({ ...stranger, iat: Math.floor(Date.now() / 1000) }));
      continue;
    }
    const [device] = codesIn(who);
    const username = `${name} of ${at}`;
    const role = who?.includes('administrator') ? 'admin' : 'user';
    const person = await s.person(username, { role, ...(device !== undefined && { serial: username }) });
    if (device !== undefined)
      await s.sql`update devices set name = ${`phone of ${name}`} where id = ${person.device}`;
    people.set(name, person);
    tokens.set(name, person.token);
    madeUp.bind('username', name, username);
    madeUp.bind('id', codesIn(id)[0] ?? '', person.id);
    if (device !== undefined) madeUp.bind('id', device, person.device);
  }
  for (const [name = '', id, number = ''] of table('talkgroup | `talkgroup_id`').rows) {
    const group = groups.find((one) => one.name === name);
    const members = group?.members.flatMap((member) => people.get(member) ?? []) ?? [];
    const made = await s.talkgroupWith({ name, ...group?.settings }, ...members);
    madeUp.bind('id', codesIn(id)[0] ?? '', made.id);
    madeUp.bind('number', number, made.number);
  }
}

/** All users whom the first line names and who do not connect in the example. */
async function connectAll(stage: Stage, { groups, lines }: Example): Promise<void> {
  for (const name of new Set(groups.flatMap(({ members }) => members))) {
    const first = lines.find(({ who, isHeard, text }) => !isHeard && who.includes(name) && text !== NO_PINGS);
    if (first?.text.startsWith('GET /ws')) continue;
    const player = playerOf(stage, name);
    await connect(stage, player, `token=${stage.tokens.get(name)}`);
    await heardEverywhere();
    player.taken = 1;
  }
}

async function follow(stage: Stage, { at, lines }: Example): Promise<void> {
  for (const { who, isHeard, text, times, apartMs } of lines) {
    for (const name of who.includes('all') ? connected(stage) : who) {
      for (let time = 0; time < times; time++) {
        const nextMs = performance.now() + apartMs;
        // A ping behind each of 50 frames per second is as many as the server allows.
        const wrong = isHeard
          ? await hear(stage, playerOf(stage, name), text)
          : await act(stage, name, text, { time, isInOneGo: time < times - 1 });
        if (wrong !== '') throw new Error(`${name}: ${wrong}\nbelow ${at}: ${text}`);
        if (!isHeard && time === times - 1) await heardEverywhere();
        if (apartMs > 0) await pause(Math.max(0, nextMs - performance.now()));
      }
    }
  }
}

const connected = ({ players }: Stage) =>
  [...players.values()].filter(({ socket }) => socket !== null).map(({ name }) => name);

async function leftOver({ players }: Stage): Promise<string[]> {
  for (const player of players.values()) await roundTrip(player);
  if (isDealt) {
    await heardEverywhere();
    for (const player of players.values()) await roundTrip(player);
  }
  return [...players.values()]
    .filter(({ mayPassOver }) => !mayPassOver)
    .flatMap(({ name, arrivals, taken }) =>
      arrivals.slice(taken).map((one) => `${name}: ${JSON.stringify(one)}`),
    );
}

function playerOf({ players }: Stage, name: string): Player {
  const known = players.get(name);
  if (known !== undefined) return known;
  const player: Player = {
    name,
    socket: null,
    arrivals: [],
    taken: 0,
    mayPassOver: false,
    answersPings: true,
    unanswered: [],
    framesSaid: 0,
    framesHeard: 0,
    answer: async () => ({}),
  };
  players.set(name, player);
  return player;
}

/** Resolves when the socket has heard something. */
async function connect(stage: Stage, player: Player, query: string): Promise<void> {
  const { t, s, isOfOneNode, sessions, arriving, faults } = stage;
  const resumed = sessions.get(/&resume=(.+)/.exec(query)?.[1] ?? '') ?? null;
  const { options, arrived } = await s.wayTo(resumed, isOfOneNode);
  const socket = new WebSocket(`${relayOf(stage, player)}/ws?${query}`, { autoPong: false, ...options });
  t.teardown(() => socket.terminate());
  player.socket = socket;
  const arrives = (what: Json) => {
    player.arrivals.push(what);
    arriving.emit('arrived');
  };
  socket.on('message', (data: Buffer, isBinary: boolean) => {
    if (isBinary) {
      player.framesHeard += isBundle(data) ? framesIn(data).length : 1;
      return arrives(frameOf(data));
    }
    const message = messageIn(data.toString(), (fault) => faults.push(fault));
    if (message.type === 'WELCOME') {
      sessions.set(String(message.resume_token), Number(message.session));
      if (message.resumed === false) introduce(stage, player, message);
    }
    if (!isOfReach(stage, message)) arrives(message);
  });
  socket.on('ping', (data: Buffer) => {
    if (player.answersPings) socket.pong(data);
    else player.unanswered.push(data);
  });
  socket.on('close', (code, reason) => {
    if (player.socket === socket) player.socket = null;
    arrives({ close: `${code} ${reason}`.trim() });
  });
  socket.on('error', () => {}); // a close follows
  const known = player.arrivals.length;
  await arrivalOf(stage, player);
  const welcome = player.arrivals.slice(known).find(({ type }) => type === 'WELCOME') as Dealt['welcome'];
  if (welcome) await arrived({ session: welcome.session, socket, welcome, arrivals: player.arrivals });
}

/** true: it is REACH. It and `reach` are for clients of several relays alone, and no example shows them. */
function isOfReach({ faults }: Stage, message: Json): boolean {
  if (!isDealt) return false;
  const { type, reach } = message;
  if (reach !== undefined && reach !== 'whole') faults.push(`${type} has reach ${reach}`);
  delete message.reach;
  return type === 'REACH';
}

/** Of two nodes, every second player has the second one, also when it comes back. */
function relayOf({ s, isOfOneNode, players }: Stage, { name }: Player): string {
  if (isOfOneNode) return s.ws;
  const at = [...players.keys()].indexOf(name);
  return s.relays[at % s.relays.length] ?? s.ws;
}

/** What the page calls the user's first session, and its token. */
function introduce({ madeUp }: Stage, { name }: Player, { session, resume_token }: Json): void {
  const row = table('name | account').rows.find(([first]) => first === name);
  if (row === undefined) return;
  madeUp.bind('session', row[3] ?? '', session);
  madeUp.bind('id', codesIn(row[4])[0] ?? '', resume_token);
}

const NO_PINGS = 'answers no pings';

/** Which of the repetitions of a line this is, and whether the next follows before anything is waited for. */
interface Turn {
  readonly time: number;
  readonly isInOneGo: boolean;
}

/** Does what the line says. '' or what is wrong with it. */
async function act(stage: Stage, name: string, text: string, turn: Turn): Promise<string> {
  if (name === 'server') return direct(stage, text);
  const player = playerOf(stage, name);
  const [, query] = /^GET \/ws\?(.+)$/.exec(text) ?? [];
  if (query !== undefined) {
    await connect(stage, player, stage.madeUp.replace(query.replace('eyJh…', tokenOf(stage, player))));
  } else if (/^(GET|POST|PATCH|DELETE) /.test(text)) {
    await call(stage, player, text);
  } else if (text === NO_PINGS || text === 'answers pings again') {
    player.answersPings = text !== NO_PINGS;
    for (const data of player.unanswered.splice(0)) player.socket?.pong(data);
  } else if (player.socket !== null) {
    await speak(stage, player, player.socket, text, turn);
  } else return 'is not connected';
  return '';
}

/** ann2 is ann with another socket. */
const tokenOf = ({ tokens }: Stage, { name }: Player) => tokens.get(name.replace(/\d$/, '')) ?? '';

async function direct({ s, undo, ending }: Stage, text: string): Promise<string> {
  if (text === 'shuts down') {
    ending.push(s.close());
    return '';
  }
  if (text !== 'loses its database') return 'no such direction';
  await new Promise<void>((locked) => {
    const held = s.sql.begin(async (sql) => {
      await sql`lock table memberships, gps_fixes in access exclusive mode`;
      const undone = new Promise<void>((resolve) => undo.push(resolve));
      locked();
      await undone;
    });
    ending.push(held);
  });
  return '';
}

async function call(stage: Stage, player: Player, text: string): Promise<void> {
  const [method = '', path = '', body] = stage.madeUp.replace(text).split(/ (?=[/{])/);
  const token = tokenOf(stage, player);
  const ask = () => stage.s.call(method, path, token, body === undefined ? undefined : JSON.parse(body));
  const first = await ask();
  // What the relay announced is stored behind that, so a client that only reads may have to read again.
  player.answer = method === 'GET' ? ask : async () => first;
}

async function speak(
  stage: Stage,
  player: Player,
  socket: WebSocket,
  text: string,
  { time, isInOneGo }: Turn,
): Promise<void> {
  const [, code] = /^close (\d+)$/.exec(text) ?? [];
  const [, bytes] = /^a text of (\d+) bytes$/.exec(text) ?? [];
  if (code !== undefined) return socket.close(Number(code));
  if (text === 'loses the network') {
    socket.terminate();
    await arrivalOf(stage, player);
    player.taken++; // its own end is no news to it
    return;
  }
  if (bytes !== undefined) socket.send('x'.repeat(Number(bytes)));
  else if (isHex(text)) {
    player.framesSaid++;
    socket.send(realFrame(stage, text, time));
  } else socket.send(stage.madeUp.replace(text));
  if (!isInOneGo) await roundTrip(player);
}

/** With the talkgroup's real number, and the sequence running when it is repeated within a burst. */
function realFrame({ madeUp }: Stage, hex: string, time: number): Buffer {
  const bytes = bytesOf(hex);
  if (bytes.length < HEADER_BYTES) return bytes;
  const view = viewOf(bytes);
  view.setUint32(TALKGROUP_AT, Number(madeUp.real('number', String(readTalkgroup(view)))));
  if ((readFlags(view) & START) === 0) view.setUint16(SEQUENCE_AT, readSequence(view) + time);
  return bytes;
}

/** What was said before has been read by then, and what came of it at once has been heard. */
async function roundTrip({ socket }: Player): Promise<void> {
  if (socket === null) return;
  const over = new AbortController();
  const { signal } = over;
  socket.ping();
  await Promise.race([once(socket, 'pong', { signal }), once(socket, 'close', { signal })]);
  over.abort();
}

/** Waits for what the line shows. '' or how the next that is heard differs from it. */
async function hear(stage: Stage, player: Player, text: string): Promise<string> {
  if (text === '…') {
    player.mayPassOver = true;
    return '';
  }
  const [, status, body] = /^(\d{3}) (\{.*)$/.exec(text) ?? [];
  if (body !== undefined)
    return hearAnswer(stage, player, { status: Number(status), body: JSON.parse(body) });
  for (;;) {
    if (!(await arrivalOf(stage, player))) return `nothing after ${JSON.stringify(player.arrivals.at(-1))}`;
    const heard = player.arrivals[player.taken++] ?? {};
    const wrong =
      stage.madeUp.difference(comparable(stage, shownBy(text)), comparable(stage, heard)) ||
      wrongLag(stage, player, heard);
    if (wrong !== '' && player.mayPassOver) continue;
    player.mayPassOver = false;
    return wrong && `${wrong}, in ${JSON.stringify(heard)}`;
  }
}

async function hearAnswer({ madeUp }: Stage, player: Player, shown: Json): Promise<string> {
  const untilMs = performance.now() + WAIT_MS;
  for (;;) {
    const heard = await player.answer();
    const wrong = madeUp.difference(shown, heard);
    if (wrong === '' || performance.now() > untilMs) return wrong && `${wrong}, in ${JSON.stringify(heard)}`;
    await pause(20);
  }
}

/** true: there is something that was not yet taken. */
async function arrivalOf({ arriving }: Stage, player: Player): Promise<boolean> {
  const signal = AbortSignal.timeout(WAIT_MS);
  while (player.arrivals.length === player.taken) {
    if (player.socket === null) return false;
    try {
      await once(arriving, 'arrived', { signal });
    } catch {
      return false; // expected: the time is up
    }
  }
  return true;
}

/** LAG counts what the others said and this one did not hear. */
function wrongLag({ players }: Stage, { name, framesHeard }: Player, { type, talkgroups }: Json): string {
  if (type !== 'LAG') return '';
  const others = [...players.values()].filter((player) => player.name !== name);
  const framesSaid = others.reduce((sum, other) => sum + other.framesSaid, 0);
  const [{ missed }] = talkgroups as [{ missed: number }]; // as was just compared
  return missed === framesSaid - framesHeard ? '' : `${framesSaid} frames said, ${framesHeard} heard`;
}

/** Over two nodes without `online`, which has the sessions of the other one up to 250 ms late. */
function comparable({ s, isOfOneNode }: Stage, message: Json): Json {
  if (isOfOneNode || s.relays.length === 1) return message;
  return JSON.parse(JSON.stringify(message, (key, value) => (key === 'online' ? undefined : value)));
}

/** A line of the page as what is compared. */
function shownBy(text: string): Json {
  if (text.startsWith('close ')) return { close: text.slice('close '.length) };
  return isHex(text) ? frameOf(bytesOf(text)) : JSON.parse(text);
}

const isHex = (text: string) => /^[\da-f]{2}( +[\da-f]{2})*$/.test(text);
const bytesOf = (hex: string) => Buffer.from(hex.replaceAll(' ', ''), 'hex');
const viewOf = (bytes: Buffer) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

const isBundle = (bytes: Buffer) => (readFlags(viewOf(bytes)) & KIND_MASK) === KIND_BUNDLE;

function framesIn(bundle: Buffer): Buffer[] {
  const frames: Buffer[] = [];
  for (let at = HEADER_BYTES; at < bundle.length; at += 2 + bundle.readUInt16BE(at))
    frames.push(bundle.subarray(at + 2, at + 2 + bundle.readUInt16BE(at)));
  return frames;
}

/** `number` and `session` as in JSON, so that the page's names hold in frames, too. */
function frameOf(bytes: Buffer): Json {
  const view = viewOf(bytes);
  return {
    flags: readFlags(view),
    epoch: readEpoch(view),
    sequence: readSequence(view),
    number: readTalkgroup(view),
    session: readSender(view),
    burst: readBurst(view),
    ...(isBundle(bytes)
      ? { frames: framesIn(bytes).map(frameOf) }
      : { payload: bytes.subarray(HEADER_BYTES).toString('hex') }),
  };
}
