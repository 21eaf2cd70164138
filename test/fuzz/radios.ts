// The WebSocket side of a run: holds the conversations that were generated and judges what the relay makes of them.
import { connect, type Socket } from 'node:net';
import fc from 'fast-check';
import { decodeFrames } from '../../src/protocol/bundle.js';
import { closes } from '../../src/protocol/closes.js';
import { faultIn } from '../helpers/relay/heard-message.js';
import {
  BINARY,
  CLOSE,
  createReader,
  handshake,
  type Received,
  TEXT,
  wireFrame,
} from '../helpers/relay/wire-frames.js';
import { type Conversation, conversations, type Packets, SLICED_BYTES_MAX } from './conversations.js';
import { writeEach } from './http-wire.js';
import { NEVER_RELAYED, SENDER_FORGED_MIN } from './innocents.js';
import { type Failure, type LanesOptions, replayLane, runLanes } from './lanes.js';
import type { Person, Scene } from './scene.js';
import { MASK, type Placeholders, TALKGROUPS } from './steps.js';
import { createTally, type Tally } from './tally.js';

export interface RadiosOptions {
  /** `ws://host:port/ws` */
  readonly url: string;
  readonly scene: Scene;
  readonly seed: number;
  readonly inputs: number;
  readonly replay?: string | undefined;
}

/** Each a user with one conversation after the other. */
export const RADIO_LANES = 12;
/** The relay answers or ends within so long, whatever was said. */
const OUTCOME_MS_MAX = 5000;
/** A handshake that is none may be waited for longer than we have. */
const QUIET_MS = 60;

export async function fuzzRadios(options: RadiosOptions): Promise<{ tally: Tally; failures: Failure[] }> {
  const { url, scene, seed, inputs, replay } = options;
  const tally = createTally();
  const abusers = scene.abusers.map((person) => createAbuser(person, scene));
  const lanes: LanesOptions<Conversation> = {
    name: 'radio',
    seed,
    lanes: RADIO_LANES,
    inputs,
    generated: conversations(),
    async tries(conversation, lane) {
      const abuser = abusers[lane];
      if (abuser === undefined) throw new Error('there is an abuser for every lane');
      tally.count('kind', `handshake: ${conversation.opening.kind}`);
      for (const { kind } of conversation.steps) tally.count('kind', kind);
      const startedAt = performance.now();
      const outcome = await hold(conversation, { url, abuser });
      const kinds = conversation.steps.map(({ kind }) => kind);
      tally.took(
        performance.now() - startedAt,
        () => `${outcome}; ${conversation.opening.kind}, ${kinds.slice(-3)}, then ${conversation.ending}`,
      );
      tally.count('outcome', outcome);
      const inputs = 1 + conversation.steps.length;
      tally.input(inputs);
      return inputs;
    },
    shows: (conversation) => fc.stringify(conversation),
  };
  const failures = replay === undefined ? await runLanes(lanes) : await replayLane(lanes, replay);
  return { tally: tally.sum(), failures };
}

/** What one user has at hand from one conversation to the next. */
interface Abuser extends Placeholders {
  resume: string;
  emergency: string;
  readonly numbers: ReadonlySet<number>;
}

function createAbuser({ token, device }: Person, scene: Scene): Abuser {
  const [open, single, broadcast] = scene.abused;
  const none = { id: '00000000-0000-4000-8000-000000000000', number: 0xfffffff0 };
  const talkgroups = { open, single, broadcast, quiet: scene.quiet, none };
  const abuser: Abuser = {
    resume: '',
    emergency: none.id,
    numbers: new Set(scene.abused.map(({ number }) => number)),
    number: (name) => talkgroups[name].number,
    text: (text) =>
      text.replaceAll(/<(\w+)(?: (\d+))?>/g, (whole, name: string, index = '0') => {
        const talkgroup = TALKGROUPS.find((one) => one === name.toLowerCase());
        if (talkgroup !== undefined) {
          const { id } = talkgroups[talkgroup];
          return name === talkgroup ? id : id.toUpperCase();
        }
        switch (name) {
          case 'token':
            return token;
          case 'resume':
          case 'emergency':
            return abuser[name];
          case 'device':
            return device ?? '';
          case 'forged':
            return encodeURIComponent(scene.forged[Number(index) % scene.forged.length] ?? '');
          default:
            return whole;
        }
      }),
  };
  return abuser;
}

/** What became of it, in a word or two. Throws when the relay did what it must not. */
async function hold(
  conversation: Conversation,
  { url, abuser }: { url: string; abuser: Abuser },
): Promise<string> {
  const { opening } = conversation;
  const address = `${url}?${abuser.text(opening.query)}`;
  const socket = connect(Number(new URL(url).port), '127.0.0.1').setNoDelay(true);
  socket.on('error', () => {}); // a reset is an end. 'close' follows
  const reader = createReader(socket);
  try {
    const hello = Buffer.from(handshakeTo(address, opening.headers), 'latin1');
    const opened = opening.surgery === null ? hello : opening.surgery(hello);
    if (!opening.isRight)
      return await knock(socket, reader, piecesOf([opened], conversation.packets), abuser);
    if (!opening.isHasty) {
      socket.write(opened);
      await within(reader.answered, 'no WELCOME');
    }
    const sent = conversation.steps.map((step) => step.bytes(abuser));
    const pieces = piecesOf(opening.isHasty ? [opened, ...sent] : sent, conversation.packets);
    await writeEach(socket, pieces.length === 0 ? [Buffer.alloc(0)] : pieces);
    if (opening.isHasty) await within(reader.answered, 'no WELCOME');
    return await outcome(socket, reader, conversation, abuser);
  } finally {
    socket.destroy();
    judge(reader.received, abuser);
  }
}

/** A fixed key: the same input is the same bytes. */
const handshakeTo = (address: string, headers: Readonly<Record<string, string>>) =>
  handshake(address, { 'Sec-WebSocket-Key': 'ZnV6emZ1enpmdXp6ZnV6eg==', ...headers });

type Reader = ReturnType<typeof createReader>;

/** Nothing need come of it. What comes is a refusal, a close, or silence. */
async function knock(
  socket: Socket,
  reader: Reader,
  pieces: readonly Buffer[],
  abuser: Abuser,
): Promise<string> {
  await writeEach(socket, pieces);
  await Promise.race([reader.answered, new Promise((resolve) => setTimeout(resolve, QUIET_MS))]);
  const head = reader.head();
  if (head === null) return socket.closed ? 'refused: dropped' : 'refused: waits for more';
  if (!REFUSALS.has(head.status)) throw new Error(`a handshake was answered ${head.status}`);
  judge(reader.received, abuser);
  return `refused: ${head.status}${head.status === 101 ? ` ${endOf(reader.received)}` : ''}`;
}

/** 101 is one as well: 1008 follows. 400, 413 and 505 also come as the engine's own pages. */
const REFUSALS = new Set([101, 400, 403, 404, 405, 413, 426, 431, 505]);

async function outcome(
  socket: Socket,
  reader: Reader,
  conversation: Conversation,
  abuser: Abuser,
): Promise<string> {
  const { opening, steps, packets, ending } = conversation;
  if (!reader.received.some(isWelcome)) return `not let in: ${endOf(reader.received)}`;
  const question = wireFrame({
    opcode: TEXT,
    payload: JSON.stringify({ type: 'PING', t: 1, ref: PROBE }),
    mask: MASK,
  });
  // What comes before the answer to a handshake may be lost when that came in pieces: none may send it then.
  // Single bytes are joined on a busy machine.
  const isCut = opening.isHasty && (packets === 'bytes' || Array.isArray(packets));
  const isSound = !isCut && steps.every((step) => step.isSound(abuser));
  socket.write(isSound ? question : Buffer.concat([question, POISON]));
  const isAnswered = () => reader.received.some(answersProbe);
  const isOver = () => socket.closed || (isSound && isAnswered());
  await within(until(socket, isOver), isSound ? 'neither an answer nor an end' : 'no end');
  if (!socket.closed) await end(socket, ending);
  else if (isSound && reader.received.every(({ opcode }) => opcode !== CLOSE))
    throw new Error('dropped without a reason');
  return isAnswered() ? 'goes on' : endOf(reader.received);
}

/** No reader of frames goes on behind it: whatever it still waits for is in it, and then it makes no sense. */
const POISON = Buffer.alloc(20_000, 0xff);
const PROBE = 'how are you';

async function end(socket: Socket, ending: Conversation['ending']): Promise<void> {
  if (ending === 'resets') return void socket.resetAndDestroy();
  if (ending === 'closes')
    socket.write(wireFrame({ opcode: CLOSE, payload: Buffer.of(0x03, 0xe8), mask: MASK }));
  else socket.end();
  await within(
    until(socket, () => socket.closed),
    `no end after it ${ending}`,
  );
}

function until(socket: Socket, isSo: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    const check = () => {
      if (!isSo()) return;
      socket.off('data', check).off('close', check);
      resolve();
    };
    socket.on('data', check).on('close', check);
    check();
  });
}

async function within<T>(waited: Promise<T>, otherwise: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${otherwise} within ${OUTCOME_MS_MAX} ms`)), OUTCOME_MS_MAX);
  });
  try {
    return await Promise.race([waited, late]);
  } finally {
    clearTimeout(timer);
  }
}

function piecesOf(steps: readonly Buffer[], packets: Packets): Buffer[] {
  if (packets === 'steps') return [...steps];
  const bytes = Buffer.concat(steps);
  if (packets === 'one' || bytes.length === 0) return [bytes];
  if (packets === 'bytes') {
    const sliced = bytes.subarray(0, SLICED_BYTES_MAX);
    return [...[...sliced].map((byte) => Buffer.of(byte)), bytes.subarray(SLICED_BYTES_MAX)];
  }
  const cuts = [0, ...packets.map((at) => at % bytes.length).sort((one, other) => one - other), bytes.length];
  return cuts.slice(1).map((to, index) => bytes.subarray(cuts[index], to));
}

// What the relay says

const messageOf = ({ payload }: Received) => JSON.parse(payload.toString()) as Record<string, unknown>;
const isWelcome = (one: Received) => one.opcode === TEXT && messageOf(one).type === 'WELCOME';
const answersProbe = (one: Received) =>
  one.opcode === TEXT && one.payload.includes(PROBE) && messageOf(one).ref === PROBE;

function endOf(received: readonly Received[]): string {
  const close = received.find(({ opcode }) => opcode === CLOSE);
  if (close === undefined) return 'dropped';
  if (close.payload.length < 2) return 'close';
  const code = close.payload.readUInt16BE();
  const reason = close.payload.subarray(2).toString();
  return REASONS.has(reason) ? `close ${code} ${reason}` : 'close as asked';
}

/** Every other reason is an echo of the client's. */
const REASONS = new Set<string>(
  Object.values(closes)
    .map(({ reason }) => reason)
    .filter((reason) => reason !== ''),
);
/** None of them may be needed here: 'overloaded' alone tells of the machine. */
const BAD_REASONS = new Set<string>(
  [closes.internal, closes.restart, closes.slow_consumer].map(({ reason }) => reason),
);

function judge(received: readonly Received[], abuser: Abuser): void {
  for (const one of received) {
    if (one.opcode === TEXT) judgeMessage(messageOf(one), abuser);
    if (one.opcode === BINARY) judgeAudio(one.payload, abuser);
    if (one.opcode === CLOSE && BAD_REASONS.has(one.payload.subarray(2).toString()))
      throw new Error(endOf([one]));
  }
}

function judgeMessage(message: Record<string, unknown>, abuser: Abuser): void {
  const { type, resume_token, emergency_id } = message;
  const fault = faultIn(message);
  if (fault !== null) throw new Error(fault);
  if (type === 'WELCOME') abuser.resume = String(resume_token);
  if (typeof emergency_id === 'string') abuser.emergency = emergency_id;
}

function judgeAudio(bytes: Buffer, { numbers }: Abuser): void {
  const frames = decodeFrames(bytes);
  if (typeof frames === 'string') throw new Error(`the relay sent what is no frame: ${frames}`);
  for (const { talkgroup, sender, payload } of frames) {
    if (!numbers.has(talkgroup)) throw new Error(`heard in talkgroup ${talkgroup}`);
    if (sender >= SENDER_FORGED_MIN) throw new Error('heard from a forged sender');
    if (Buffer.from(payload).toString('latin1').startsWith(NEVER_RELAYED))
      throw new Error('heard what no rule lets through');
  }
}
