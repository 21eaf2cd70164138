// A WebSocket by hand on a raw TCP socket: what one of many radios needs, at a fraction of a library's cost.
import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';

const TEXT = 1;
export const BINARY = 2;
const CLOSE = 8;
const PING = 9;
const PONG = 10;

/** Where a radio connects. */
export interface Target {
  /** `ws://host:port/path`; plain text only. */
  readonly url: string;
  /** true: a radio has joined with the server's first text message, else with the handshake. */
  readonly greets: boolean;
}

/** One message's payload lies in `bytes` from `start` to `end`, valid until the call returns. */
export type Receive = (bytes: Buffer, start: number, end: number) => void;

/** A text message of the server; what it holds is taken from PROTOCOL.md on trust. */
export type Said = Readonly<Record<string, unknown>>;

export interface RadioOptions {
  readonly target: Target;
  readonly token: string;
  /** Gets every binary message. */
  readonly receive: Receive;
  /** Gets every text message; without it none is read. */
  readonly told?: (said: Said) => void;
  /** Called at most once, when the connection ends without our doing. */
  readonly lost: (loss: ConnectionLost) => void;
  /** One read takes no more than this. */
  readonly readBytes?: number;
}

/** How a connection ended without our doing. */
export class ConnectionLost extends Error {
  override name = 'ConnectionLost';
  /** The server's close code; null: it dropped the connection, or never took it. */
  readonly code: number | null;

  constructor(message: string, code: number | null = null) {
    super(message);
    this.code = code;
  }
}

/** The sockets of this process read into the same memory: a read is taken apart before the next one begins. */
const READ_BUFFER = Buffer.allocUnsafeSlow(64 * 1024);
const NOTHING = Buffer.alloc(0);
const HANDSHAKE_END = '\r\n\r\n';
/** Close code 1000: the client will not come back, so nothing of its session is kept. */
const GOODBYE = Buffer.from([1000 >> 8, 1000 & 0xff]);

/** Thousands live at once, hence a class. */
export class RawRadio {
  /** Resolves when the server hears and serves this radio; rejects when the connection ends before. */
  readonly joined: Promise<void>;
  private readonly options: RadioOptions;
  private readonly socket: Socket;
  private readonly buffer: Buffer;
  /** false: each read is followed by a pause until `sip`. */
  private flows = true;
  /** The beginning of a message that is still to come in full. */
  private rest: Buffer = NOTHING;
  private upgraded = false;
  private closing = false;
  private join: () => void = () => {};
  private refuse: (error: Error) => void = () => {};

  constructor(options: RadioOptions) {
    this.options = options;
    this.buffer = READ_BUFFER.subarray(0, options.readBytes);
    this.joined = new Promise((resolve, reject) => {
      this.join = resolve;
      this.refuse = reject;
    });
    this.joined.catch(() => {}); // whoever does not wait for it hears of it from `lost`
    const { hostname, port, pathname } = new URL(options.target.url);
    this.socket = connect({
      host: hostname,
      port: Number(port),
      noDelay: true,
      onread: { buffer: this.buffer, callback: (length) => this.read(length) },
    });
    this.socket.on('connect', () =>
      this.socket.write(handshake({ hostname, pathname, token: options.token })),
    );
    this.socket.on('error', ({ message }) => this.lose(new ConnectionLost(message)));
    this.socket.on('close', () => this.lose(new ConnectionLost('the server dropped a connection')));
  }

  /** A message to the server, whole in one write; `bytes` is left alone. */
  send(opcode: number, bytes: Uint8Array): void {
    this.socket.write(masked(opcode, bytes));
  }

  /** Several binary messages in one write. */
  sendAll(messages: readonly Uint8Array[]): void {
    this.socket.write(Buffer.concat(messages.map((bytes) => masked(BINARY, bytes))));
  }

  /** A control message. */
  say(message: object): void {
    this.send(TEXT, Buffer.from(JSON.stringify(message)));
  }

  /** Reads no more, until `sip` or `flow`. */
  hold(): void {
    this.flows = false;
    this.socket.pause();
  }

  /** On hold: takes one read of what has arrived, or the next that does. */
  sip(): void {
    this.socket.resume();
  }

  /** Reads whatever arrives, as it does from the start. */
  flow(): void {
    this.flows = true;
    this.socket.resume();
  }

  /** Drops the connection without a word, as a radio out of reach does. */
  drop(): void {
    this.closing = true;
    this.socket.destroy();
  }

  /** Ends the connection and says that it will not come back. */
  leave(): void {
    if (this.closing) return;
    this.closing = true;
    this.flow();
    this.socket.end(masked(CLOSE, GOODBYE));
  }

  private read(length: number): boolean {
    const fresh = this.buffer.subarray(0, length);
    const bytes = this.rest.length === 0 ? fresh : Buffer.concat([this.rest, fresh]);
    const taken = this.upgraded ? this.readMessages(bytes, 0) : this.readHandshake(bytes);
    this.rest = taken === bytes.length ? NOTHING : Buffer.from(bytes.subarray(taken));
    return this.flows;
  }

  /** As all readers here: says how far it got. */
  private readHandshake(bytes: Buffer): number {
    const end = bytes.indexOf(HANDSHAKE_END);
    if (end === -1) return 0;
    const [status = ''] = bytes.toString('latin1', 0, end).split('\r\n');
    if (!status.startsWith('HTTP/1.1 101 ')) {
      this.lose(new ConnectionLost(`the server answered the handshake with ${status}`));
      return bytes.length;
    }
    this.upgraded = true;
    if (!this.options.target.greets) this.join();
    return this.readMessages(bytes, end + HANDSHAKE_END.length);
  }

  private readMessages(bytes: Buffer, from: number): number {
    let at = from;
    // A server's messages are neither masked nor, here, fragmented: opcode, length, payload.
    while (at + 2 <= bytes.length) {
      const opcode = (bytes[at] ?? 0) & 0x0f;
      let length = (bytes[at + 1] ?? 0) & 0x7f;
      let start = at + 2;
      if (length === 126) {
        if (start + 2 > bytes.length) break;
        length = bytes.readUInt16BE(start);
        start += 2;
      } else if (length === 127) {
        this.lose(new ConnectionLost('the server sent a message of more than 64 KiB'));
        return bytes.length;
      }
      const end = start + length;
      if (end > bytes.length) break;
      if (opcode === BINARY) this.options.receive(bytes, start, end);
      else this.readOther(opcode, bytes.subarray(start, end));
      at = end;
    }
    return at;
  }

  private readOther(opcode: number, payload: Buffer): void {
    if (opcode === TEXT) {
      this.join();
      this.options.told?.(JSON.parse(payload.toString()) as Said); // the server's JSON texts are all objects
    } else if (opcode === PING) {
      // The server times its pings: one that finds no answer within a second takes the radio out of the audio.
      if (!this.closing) this.send(PONG, payload);
    } else if (opcode === CLOSE) {
      const code = payload.length < 2 ? 1005 : payload.readUInt16BE(0);
      this.lose(
        new ConnectionLost(`the server closed a connection: ${code} ${payload.toString('utf8', 2)}`, code),
      );
    }
  }

  private lose(loss: ConnectionLost): void {
    if (this.closing) return;
    this.closing = true;
    this.socket.destroy();
    this.refuse(loss);
    this.options.lost(loss);
  }
}

interface Handshake {
  readonly hostname: string;
  readonly pathname: string;
  readonly token: string;
}

function handshake({ hostname, pathname, token }: Handshake): string {
  const lines = [
    `GET ${pathname}?token=${token} HTTP/1.1`,
    `Host: ${hostname}`,
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    `Sec-WebSocket-Key: ${randomBytes(16).toString('base64')}`,
  ];
  return lines.join('\r\n') + HANDSHAKE_END;
}

/** RFC 6455 section 5.2 with a mask of four zeros: the server undoes it at the same cost as any other. */
function masked(opcode: number, payload: Uint8Array): Buffer {
  if (payload.length > 125) throw new RangeError('messages of more than 125 bytes are not sent here');
  const message = Buffer.alloc(6 + payload.length);
  message[0] = 0x80 | opcode;
  message[1] = 0x80 | payload.length;
  message.set(payload, 6);
  return message;
}
