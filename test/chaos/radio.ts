// A radio of the crew: the client library holds its connection, and everything that goes over each of its sockets is
// written down beside it. Its frames are numbered, so that a radio that hears one can say which it was.
import { setTimeout as pause } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import { WebSocket } from 'ws';
import { parseMessage } from '../../src/client/connection/parse.js';
import { createRadio } from '../../src/client/radio.js';
import { decodeFrames } from '../../src/protocol/bundle.js';
import { END, encodeFrame, START } from '../../src/protocol/frame.js';
import type { ServerMessage, Snapshot } from '../../src/protocol/types.js';
import { faultIn } from '../helpers/relay/heard-message.js';
import { type Arrival, type Content, FRAME_MS, follow, type Line } from './history.js';

/** A person with an account, a device, and the right to be in some talkgroups. */
export interface Person {
  readonly index: number;
  readonly name: string;
  readonly password: string;
  readonly id: string;
  readonly token: string;
  readonly deviceId: string;
  readonly isAdmin: boolean;
  /** In this order it was joined. */
  readonly talkgroups: readonly Talkgroup[];
}

export interface Talkgroup {
  readonly id: string;
  readonly name: string;
  readonly number: number;
  readonly mode: FloorMode;
}

export type FloorMode = 'open' | 'single' | 'broadcast';

/** Whether this person may talk there. */
export const mayTalk = ({ isAdmin }: Person, { mode }: Talkgroup) => mode !== 'broadcast' || isAdmin;

export interface CrewRadio extends Person {
  readonly isOpen: boolean;
  /** It misbehaves: what it is told is no measure. */
  isAbusive: boolean;
  /** Hands one frame to the socket. false when there is no open one. */
  say(talkgroup: Talkgroup, sequence: number, flags: number): boolean;
  /** A burst of so many frames, in real time. Ends early when the floor is refused or the connection lost. */
  talk(talkgroup: Talkgroup, frames: number): Promise<void>;
  /** Sends text as it is. */
  sayText(text: string): void;
  /** The number of the last frame handed over. */
  readonly lastNumber: number;
  /** The highest number heard of that talker in that talkgroup. */
  heard(talker: number, talkgroup: Talkgroup): number;
  /** No radio talks, as far as it was told. */
  readonly hearsNobody: boolean;
  /** The socket is not read from (true) or read again. */
  deaf(isDeaf: boolean): void;
  /** Connects at once instead of waiting out a back-off, as an app does that learns of a network. */
  reconnect(): void;
  /** Takes the lines so far. Those still open begin anew. */
  takeLines(): Line[];
  close(): void;
}

/** A radio that is already connecting to `url`. `onSession` hears every session number it gets. */
export function createCrewRadio(options: {
  readonly person: Person;
  readonly url: string;
  readonly onSession: (session: number, radio: number) => void;
}): CrewRadio {
  const { person, url, onSession } = options;
  const book = openLineBook(person, (session) => onSession(session, person.index));
  const radio = createRadio({ url, token: person.token, WebSocket: book.Socket });
  let lastNumber = 0;
  let isAbusive = false;

  /** The line the library uses now. */
  function current(): OpenLine | null {
    const line = book.lines.at(-1);
    return radio.state === 'open' && line?.socket.readyState === WebSocket.OPEN ? line : null;
  }

  function say({ number: talkgroup }: Talkgroup, sequence: number, flags: number): boolean {
    const line = current();
    if (line === null) return false;
    lastNumber++;
    const said = { talker: person.index, number: lastNumber, sentAtMs: performance.now() };
    line.socket.send(encodeFrame({ sequence, talkgroup, flags, payload: writePayload(said) }));
    line.sent.set(talkgroup, (line.sent.get(talkgroup) ?? 0) + 1);
    return true;
  }

  async function talk(talkgroup: Talkgroup, frames: number): Promise<void> {
    const line = current();
    const firstAtMs = performance.now();
    const refusedBefore = refusalsOn(line, talkgroup);
    for (let sequence = 0; sequence < frames; sequence++) {
      const isLast = sequence === frames - 1;
      if (current() !== line) return;
      if (!say(talkgroup, sequence, (sequence === 0 ? START : 0) | (isLast ? END : 0))) return;
      // A refused radio stops talking. END closes the stream for both sides.
      if (!isLast && refusalsOn(line, talkgroup) > refusedBefore)
        return void say(talkgroup, sequence + 1, END);
      await pause(Math.max(0, firstAtMs + (sequence + 1) * FRAME_MS - performance.now()));
    }
  }

  return {
    ...person,
    ...{ say, talk },
    get isOpen() {
      return current() !== null;
    },
    get isAbusive() {
      return isAbusive;
    },
    set isAbusive(is) {
      isAbusive = is;
    },
    get lastNumber() {
      return lastNumber;
    },
    sayText(text) {
      current()?.socket.send(text);
    },
    heard: book.heard,
    get hearsNobody() {
      return (book.lines.at(-1)?.running.size ?? 0) === 0;
    },
    deaf(isDeaf) {
      if (isDeaf) book.lines.at(-1)?.socket.pause();
      else for (const { socket } of book.lines) if (socket.isPaused) socket.resume();
    },
    reconnect: radio.reconnect,
    takeLines() {
      const lines = book.take();
      // A radio that misbehaved is told less than it did. What it hears still counts.
      const taken = isAbusive ? lines.map((line) => ({ ...line, sent: new Map() })) : lines;
      isAbusive = false;
      return taken;
    },
    close: radio.close,
  };
}

/** Writes down what comes over each socket of one radio. */
function openLineBook(person: Person, onSession: (session: number) => void) {
  let lines: OpenLine[] = [];
  const highest = new Map<string, number>();
  const numberOf = (id: string) => person.talkgroups.find((one) => one.id === id)?.number ?? null;

  class NotedSocket extends WebSocket {
    constructor(address: string) {
      super(address, { perMessageDeflate: false });
      note(this);
    }

    /** The library knows nothing of the bursts here, and would release each floor that it did not ask for. */
    override send(data: string | Uint8Array): void {
      if (typeof data !== 'string' || !data.includes('"FLOOR_RELEASE"')) super.send(data);
    }
  }

  function note(socket: WebSocket): void {
    let line: OpenLine | null = null;
    // The library asks for ArrayBuffers. Texts are Buffers all the same.
    socket.on('message', (data: Buffer | ArrayBuffer, isBinary) => {
      if (isBinary) {
        if (line !== null) noteFrames(line, new Uint8Array(data));
        return;
      }
      const message = parseMessage(data.toString());
      const fault = faultIn(message);
      if (fault !== null) throw new Error(`the relay said what is ${fault}`);
      if (message?.type === 'WELCOME') {
        line = newLine(socket, message.session);
        lines.push(line);
        onSession(message.session);
      }
      if (message !== null && line !== null) noteMessage(line, message);
    });
    socket.on('close', (code, reason) => {
      if (line !== null) line.closed = { code, reason: reason.toString() };
    });
    socket.on('error', () => {}); // a close follows
  }

  function noteMessage(line: OpenLine, message: ServerMessage): void {
    const heardAtMs = performance.now();
    for (const content of arrivalsOf(message, numberOf)) {
      const one = { ...content, heardAtMs };
      line.arrivals.push(one);
      follow(line.running, one);
      if (one.kind !== 'refused' && one.kind !== 'left') continue;
      line.refusals.set(one.talkgroup, (line.refusals.get(one.talkgroup) ?? 0) + 1);
    }
  }

  function noteFrames({ arrivals }: OpenLine, bytes: Uint8Array): void {
    const frames = decodeFrames(bytes);
    if (typeof frames === 'string') throw new Error(`the relay sent a bad frame: ${frames}`);
    for (const { talkgroup, sender, burst, sequence, payload } of frames) {
      const said = readPayload(payload);
      const heardAtMs = performance.now();
      arrivals.push({ kind: 'frame', talkgroup, sender, burst, sequence, ...said, heardAtMs });
      const from = `${said.talker}/${talkgroup}`;
      highest.set(from, Math.max(said.number, highest.get(from) ?? 0));
    }
  }

  return {
    Socket: NotedSocket,
    get lines(): readonly OpenLine[] {
      return lines;
    },
    heard: (talker: number, { number }: Talkgroup) => highest.get(`${talker}/${number}`) ?? 0,
    take(): Line[] {
      const { index: radio } = person;
      const isOpen = ({ socket }: OpenLine) => socket.readyState === WebSocket.OPEN;
      const taken = lines.map((line) => {
        const { session, arrivals, sent } = line;
        // One that the library has left is over, whenever its close comes.
        const closed = line.closed ?? (isOpen(line) ? null : { code: 1006, reason: 'left' });
        return { radio, session, arrivals, sent, closed };
      });
      lines = lines.filter(isOpen);
      for (const line of lines) Object.assign(line, { arrivals: [], sent: new Map() });
      return taken;
    },
  };
}

const newLine = (socket: WebSocket, session: number): OpenLine => ({
  ...{ socket, session, arrivals: [], sent: new Map() },
  ...{ refusals: new Map(), running: new Set(), closed: null },
});

interface OpenLine {
  readonly socket: WebSocket;
  readonly session: number;
  arrivals: Arrival[];
  sent: Map<number, number>;
  /** By number of talkgroup. null: of none in particular. */
  readonly refusals: Map<number | null, number>;
  /** Names of the bursts that have been announced and have not ended. */
  readonly running: Set<string>;
  closed: Line['closed'];
}

const refusalsOn = (line: OpenLine | null, { number }: Talkgroup) =>
  (line?.refusals.get(number) ?? 0) + (line?.refusals.get(null) ?? 0);

/** What of a message an invariant looks at. Talkgroups of which this radio is no member by plan are left out. */
function arrivalsOf(message: ServerMessage, numberOf: (id: string) => number | null): Content[] {
  switch (message.type) {
    case 'TALK_STARTED':
    case 'MISSED':
    case 'TALK_ENDED': {
      const talkgroup = numberOf(message.talkgroup_id);
      if (talkgroup === null) return [];
      const name = { talkgroup, sender: message.session, burst: message.burst };
      if (message.type === 'TALK_STARTED') return [{ kind: 'started', ...name }];
      if (message.type === 'MISSED') return [{ kind: 'missed', ...name, missed: message.missed }];
      return [{ kind: 'ended', ...name, frames: message.frames, code: message.code }];
    }
    case 'WELCOME':
    case 'SUBSCRIBED': {
      const isUnasked = message.type === 'SUBSCRIBED' && message.ref === undefined;
      return message.talkgroups.flatMap((snapshot) => snapshotOf(snapshot, isUnasked));
    }
    case 'SYNCED':
    case 'TALKGROUP_JOINED':
      return snapshotOf(message, false);
    case 'LAG':
      return message.talkgroups.flatMap(({ talkgroup_id, missed }): Content[] => {
        const talkgroup = numberOf(talkgroup_id);
        return talkgroup === null ? [] : [{ kind: 'lag', talkgroup, missed }];
      });
    case 'TALKGROUP_LEFT': {
      const talkgroup = numberOf(message.talkgroup_id);
      return talkgroup === null ? [] : [{ kind: 'left', talkgroup }];
    }
    case 'ERROR':
    case 'FLOOR_DENIED':
    case 'FLOOR_REVOKED': {
      const talkgroup = message.talkgroup_id === undefined ? null : numberOf(message.talkgroup_id);
      return [{ kind: 'refused', talkgroup, code: message.code }];
    }
    default:
      return [];
  }
}

function snapshotOf({ number: talkgroup, talkers }: Snapshot, isUnasked: boolean): Content[] {
  const bursts = talkers.map(({ session: sender, burst, frames = 0 }) => ({
    talkgroup,
    sender,
    burst,
    frames,
  }));
  return [{ kind: 'snapshot', talkgroup, bursts, isUnasked }];
}

interface Said {
  readonly talker: number;
  readonly number: number;
  readonly sentAtMs: number;
}

const TALKER_AT = 4;
const NUMBER_AT = 8;
const SENT_AT = 12;
const FILL_AT = 20;

/** What is said, with a checksum before it. 40 to 100 bytes, as those of an Opus packet. */
function writePayload({ talker, number, sentAtMs }: Said): Buffer {
  const bytes = Buffer.alloc(40 + (number % 61), number & 0xff);
  bytes.writeUInt32BE(talker, TALKER_AT);
  bytes.writeUInt32BE(number, NUMBER_AT);
  bytes.writeDoubleBE(sentAtMs, SENT_AT);
  bytes.writeUInt32BE(crc32(bytes.subarray(TALKER_AT)), 0);
  return bytes;
}

/** What a frame says of itself. `talker` is null when the payload is not what any talker wrote. */
export function readPayload(payload: Uint8Array): Said | { talker: null; number: number; sentAtMs: number } {
  const bytes = Buffer.from(payload);
  const isWhole = bytes.length >= FILL_AT && bytes.readUInt32BE(0) === crc32(bytes.subarray(TALKER_AT));
  if (!isWhole) return { talker: null, number: 0, sentAtMs: 0 };
  return {
    talker: bytes.readUInt32BE(TALKER_AT),
    number: bytes.readUInt32BE(NUMBER_AT),
    sentAtMs: bytes.readDoubleBE(SENT_AT),
  };
}
