// Connects a radio on a raw TCP or TLS socket in the dialect of its server, at a fraction of the cost of a client library.
import { connect, isIP, type Socket, type TcpNetConnectOpts } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Dialect, Line, OpenDialect, Receive } from './dialects/dialect.js';
import { openMqtt } from './dialects/mqtt.js';
import { openNats } from './dialects/nats.js';
import { openSocketIo } from './dialects/socket-io.js';
import { openPlain, openRelay } from './dialects/websocket.js';

/** What servers speak: ours, then its peers. */
const DIALECTS = {
  relay: openRelay,
  websocket: openPlain,
  'socket.io': openSocketIo,
  mqtt: openMqtt,
  nats: openNats,
} satisfies Record<string, OpenDialect>;

export type DialectName = keyof typeof DIALECTS;

/** Where a radio connects. Plain data. */
export interface Target {
  /** `ws://host:port/path`, `wss://host:port/path`, `mqtt://host:port` or `nats://host:port`. */
  readonly url: string;
  readonly dialect: DialectName;
  /** Who hears whom. 0 when left out. The relay does not ask for it: it has the user's talkgroups, and the frame's. */
  readonly room?: number;
  /** Where it comes from. Of several threads behind one port Linux chooses by it. Without it the system picks one. */
  readonly localPort?: number;
}

/** A text message of the server. What it holds is taken from docs/protocol.md on trust. */
export type Said = Readonly<Record<string, unknown>>;

export interface RadioOptions {
  readonly target: Target;
  readonly token: string;
  /** Gets every audio frame. */
  readonly receive: Receive;
  /** Gets every text message of the relay. Without it none is read. */
  readonly told?: (said: Said) => void;
  /** Called at most once, when the connection ends without our doing. */
  readonly lost: (loss: ConnectionLost) => void;
  /** It will not be asked what it heard: where a server sends a talker its own frames, it hears nothing at all. */
  readonly isTalker?: boolean;
  /** One read takes no more than this. */
  readonly readBytes?: number;
  /** Where it connects from, one of 127.0.0.0/8 for a server on loopback: an address has some 28,000 ports to go out by. */
  readonly localAddress?: string;
}

/** How a connection ended without our doing. */
export class ConnectionLost extends Error {
  override name = 'ConnectionLost';
  /** The server's close code. null: it dropped the connection, or never took it. */
  readonly code: number | null;
  /** The server's reason beside that code, or its status line. Empty: it gave none. */
  readonly reason: string;

  constructor(message: string, code: number | null = null, reason = '') {
    super(message);
    this.code = code;
    this.reason = reason;
  }
}

/** The sockets of this process read into the same memory: a read is taken apart before the next one begins. */
const READ_BUFFER = Buffer.allocUnsafeSlow(64 * 1024);
const NOTHING = Buffer.alloc(0);

/** Thousands live at once, hence a class. */
export class RawRadio {
  /** Resolves when the server hears and serves this radio. Rejects when the connection ends before. */
  readonly joined: Promise<void>;
  /** Resolves when the socket is closed, by the server or by us. */
  readonly closed: Promise<void>;
  private readonly options: RadioOptions;
  private readonly socket: Socket;
  private readonly dialect: Dialect;
  private readonly buffer: Buffer;
  /** false: each read is followed by a pause until `sip`. */
  private flows = true;
  /** The beginning of a message that is still to come in full. */
  private rest: Buffer = NOTHING;
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
    this.joined.catch(() => {}); // code that does not wait for it hears of it from `lost`
    const url = new URL(options.target.url);
    this.dialect = DIALECTS[options.target.dialect](this.line(url));
    this.socket = this.open(url);
    this.socket.on('error', ({ message }) => this.lose(new ConnectionLost(message)));
    this.socket.on('close', () => this.lose(new ConnectionLost('the server dropped a connection')));
    this.closed = new Promise((resolve) => this.socket.once('close', () => resolve()));
  }

  /** An audio frame, whole in one write. `frame` is left alone. */
  send(frame: Uint8Array): void {
    this.socket.write(this.dialect.speech(frame));
  }

  /** Several audio frames in one write. */
  sendAll(frames: readonly Uint8Array[]): void {
    this.socket.write(Buffer.concat(frames.map((frame) => this.dialect.speech(frame))));
  }

  /** A control message, to the relay. */
  say(message: object): void {
    const { text } = this.dialect;
    if (text === undefined) throw new TypeError(`nobody is told anything in ${this.options.target.dialect}`);
    this.socket.write(text(JSON.stringify(message)));
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

  /** Drops the connection so that its local port is free at once. */
  reset(): void {
    this.closing = true;
    this.socket.resetAndDestroy();
  }

  /** Ends the connection and says that it will not come back. */
  leave(): void {
    if (this.closing) return;
    this.closing = true;
    this.flow();
    this.socket.end(this.dialect.goodbye);
  }

  /** The dialect begins when the connection stands. */
  private open({ protocol, hostname, port }: URL): Socket {
    const { target, localAddress } = this.options;
    const isSecure = protocol === 'wss:';
    const host = hostname.replace(/^\[|\]$/g, '');
    const options: TcpNetConnectOpts = {
      host,
      port: Number(port || (isSecure ? 443 : 80)),
      noDelay: true,
      ...(localAddress !== undefined && { localAddress }),
      ...(target.localPort !== undefined && { localPort: target.localPort }),
      onread: { buffer: this.buffer, callback: (length) => this.read(length) },
    };
    if (!isSecure) return connect(options, () => this.dialect.begin());
    // RFC 6066 section 3: an address is no server name.
    const servername = isIP(host) === 0 ? host : '';
    const socket = connectTls({ ...options, servername, rejectUnauthorized: true }, () =>
      this.dialect.begin(),
    );
    return socket.setNoDelay(true); // the option reaches plain sockets alone
  }

  private read(length: number): boolean {
    const fresh = this.buffer.subarray(0, length);
    const bytes = this.rest.length === 0 ? fresh : Buffer.concat([this.rest, fresh]);
    const taken = this.dialect.read(bytes);
    this.rest = taken === bytes.length ? NOTHING : Buffer.from(bytes.subarray(taken));
    return this.flows;
  }

  /** This connection, for its dialect. */
  private line(url: URL): Line {
    const { target, token, isTalker = false, receive, told } = this.options;
    return {
      url,
      token,
      room: target.room ?? 0,
      isTalker,
      write: (bytes) => {
        if (!this.closing) this.socket.write(bytes);
      },
      join: () => this.join(),
      hear: receive,
      tell: (text) => told?.(JSON.parse(text.toString()) as Said), // the relay's JSON texts are all objects
      lose: (message, code, reason) => this.lose(new ConnectionLost(message, code, reason)),
    };
  }

  private lose(loss: ConnectionLost): void {
    if (this.closing) return;
    this.closing = true;
    this.socket.destroy();
    this.refuse(loss);
    this.options.lost(loss);
  }
}
