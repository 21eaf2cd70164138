// A radio at the level of bytes: for what no WebSocket library would send.
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import type { Test } from 'tap';
import { END, encodeFrame, START } from '../../../src/protocol/frame.js';
import { eventually, HANGS_MS } from '../eventually.js';
import { service } from '../service/service.js';
import { messageIn } from './heard-message.js';
import {
  BINARY,
  CLOSE,
  createReader,
  handshake,
  PING,
  PONG,
  type Received,
  TEXT,
  wireFrame,
} from './wire-frames.js';

export * from './wire-frames.js';

/** How a connection ended: with a close frame, or without a word. */
export type Ending = { readonly code: number; readonly reason: string } | 'dropped';

export type Wire = Awaited<ReturnType<typeof wire>>;

/** Connects and writes `first` right behind the handshake, in the same TCP write. Resolves with the first frame or the end. */
export function wire(t: Test, address: string, first: readonly Uint8Array[] = []) {
  return open(t, address, [Buffer.concat([Buffer.from(handshake(address)), ...first])]);
}

/** Connects and writes each piece by itself. Resolves with the first frame, a refusal in HTTP, or the end. */
export async function open(t: Test, address: string, pieces: readonly Uint8Array[]) {
  const { hostname, port } = new URL(address);
  const socket = connect(Number(port), hostname).setNoDelay(true);
  t.teardown(() => socket.destroy());
  socket.on('error', () => {}); // a reset is an end. 'close' follows
  const reader = createReader(socket, (text) => messageIn(text, (fault) => t.fail(fault)));
  await once(socket, 'connect'); // what is written before goes out as one
  await writeEach(socket, pieces);
  await reader.answered;
  const messages = () => reader.received.filter(({ opcode }) => opcode === TEXT).map(readText);
  return {
    socket,
    /** The status and headers of the answer to the handshake. null when there was none. */
    head: reader.head(),
    /** Everything the relay sent, control frames included. */
    received: reader.received,
    /** The text messages so far. */
    messages,
    /** The first text message that matches. A connection that ends first, or 5 s, fails the test. */
    async hears(matches: (message: Record<string, unknown>) => boolean): Promise<Record<string, unknown>> {
      await until(socket, () => messages().some(matches));
      const found = messages().find(matches);
      if (found === undefined) throw new Error('it never came');
      return found;
    },
    write: (...pieces: readonly Uint8Array[]) => socket.write(Buffer.concat(pieces)),
    /** Resolves when the relay has closed or dropped the connection. Neither in `HANGS_MS` fails the test. */
    async ends(): Promise<Ending> {
      if (!socket.closed) await once(socket, 'close', { signal: AbortSignal.timeout(HANGS_MS) });
      const close = reader.received.find(({ opcode }) => opcode === CLOSE);
      if (close === undefined || close.payload.length < 2) return 'dropped';
      return { code: close.payload.readUInt16BE(), reason: close.payload.subarray(2).toString() };
    },
  };
}

async function writeEach(socket: Socket, pieces: readonly Uint8Array[]): Promise<void> {
  for (const piece of pieces) {
    socket.write(piece);
    await turn(); // else the loop may hand several to the system as one
  }
}

/** Resolves once it is so, at the latest when the connection is closed or after `HANGS_MS`. Whether it is so then. */
function until(socket: Socket, isSo: () => boolean): Promise<boolean> {
  return new Promise((resolve) => {
    const settle = () => {
      clearTimeout(timer);
      socket.off('data', check).off('close', settle);
      resolve(isSo());
    };
    const check = () => {
      if (isSo() || socket.closed) settle();
    };
    const timer = setTimeout(settle, HANGS_MS);
    socket.on('data', check).on('close', settle);
    check();
  });
}

const readText = ({ payload }: Received) => JSON.parse(payload.toString()) as Record<string, unknown>;

/** A service whose talker, ann, is a connection of raw bytes, with a listener in ann's talkgroup. */
export async function serviceOnTheWire(t: Test) {
  // One user sends large payloads over many connections, one after the other, which is not what is meant here.
  const s = await service(t, {
    ...{ USER_BYTES_PER_SECOND: '1000000', FRAMES_PER_SECOND: '1000', SOCKETS_PER_USER: '1000' },
  });
  const [ann, bob] = [await s.person('ann'), await s.person('bob')];
  const { number } = await s.talkgroup('fire', ann, bob);
  const listener = await bob.radio();

  const speech = (payload: Uint8Array | string, flags = START | END) =>
    encodeFrame({ sequence: 0, talkgroup: number, payload: Buffer.from(payload), flags });
  // A fixed mask: who lost the boundary between two frames ends the same way every time.
  const mask = [0xa1, 0xb2, 0xc3, 0xd4];
  const probe = Buffer.concat([
    wireFrame({ opcode: BINARY, payload: speech('after'), mask }),
    wireFrame({ opcode: TEXT, payload: ask(0), mask }),
  ]);

  /**
   * What becomes of a connection that sends these pieces, each a TCP write of its own. In words: first what the relay
   * says (`answer 5` to ask(5), `error bad_frame`, `pong x`, `close 1000 bye`), then what the listener hears
   * (`heard x`), last `goes on` if a further frame is heard and a further question answered. Without that the relay
   * has ended the connection, behind its close or, without one, as `dropped`. `stuck` if it did neither for 5 s.
   */
  async function outcome({ socket, received }: Wire, pieces: readonly Uint8Array[]): Promise<string> {
    const said = () => received.flatMap(inWords);
    await writeEach(socket, [...pieces.slice(0, -1), Buffer.concat([...pieces.slice(-1), probe])]);
    const answered = await until(socket, () => said().includes(PROBE_ANSWERED));
    const isOpen = !socket.closed;
    socket.destroy();
    await listener.settled();
    const words = [...said(), ...listener.frames.splice(0).map(({ payload }) => `heard ${brief(payload)}`)];
    if (answered && words.includes(PROBE_HEARD))
      return inOrder(...words.filter((word) => word !== PROBE_ANSWERED && word !== PROBE_HEARD), 'goes on');
    const closed = words.some((word) => word.startsWith('close'));
    return inOrder(...words, ...(isOpen ? ['stuck'] : closed ? [] : ['dropped']));
  }

  /** After anything that was sent before: a well-behaved radio finds no session and no burst left, and is heard. */
  async function isWell(): Promise<boolean> {
    const radio = await eventually(async () => {
      const newcomer = await ann.radio();
      const [snapshot] = newcomer.welcome?.talkgroups ?? [];
      if (snapshot?.online === 2 && snapshot.talkers_total === 0) return newcomer;
      newcomer.socket.terminate();
      throw new Error(`${snapshot?.online} sessions, ${snapshot?.talkers_total} talkers are left`);
    });
    radio.speaks(number, 'all is well', { start: true, end: true });
    const { text } = await listener.hearsFrame();
    radio.socket.terminate();
    return text === 'all is well';
  }

  return { address: `${s.ws}/ws?token=${ann.token}`, speech, outcome, isWell };
}

const PROBE_ANSWERED = 'answer 0';
const PROBE_HEARD = 'heard after';

/** A question whose answer is `answer <n>`, from 1. */
export const ask = (n: number) => JSON.stringify({ type: 'PING', t: n });

/** Several words of an outcome as one. */
export const inOrder = (...words: readonly string[]) => words.join('; ');

/** A payload in an outcome: itself, or, when it is long, its length and a hash. */
export function brief(payload: Uint8Array | string): string {
  const bytes = Buffer.from(payload);
  if (bytes.length <= 30) return bytes.toString('latin1');
  return `${bytes.length} bytes ${createHash('sha256').update(bytes).digest('hex').slice(0, 8)}`;
}

/** The events of the talkgroup and the relay's pings come when they come: they answer nothing. */
function inWords(frame: Received): string[] {
  const { opcode, payload } = frame;
  if (opcode === PING) return [];
  if (opcode === PONG) return [`pong ${brief(payload)}`.trimEnd()];
  if (opcode === CLOSE && payload.length < 2) return ['close'];
  if (opcode === CLOSE) return [`close ${payload.readUInt16BE()} ${payload.subarray(2)}`.trimEnd()];
  if (opcode !== TEXT) return [`opcode ${opcode}`];
  const { type, t, ref, code } = readText(frame);
  if (type === 'WELCOME' || type === 'TALK_STARTED' || type === 'TALK_ENDED') return [];
  if (type === 'PONG') return [ref === undefined ? `answer ${t}` : `answer ${t} ${ref}`];
  return [type === 'ERROR' ? `error ${code}` : `${type}`];
}
