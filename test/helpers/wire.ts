// A radio at the level of bytes: for what no WebSocket library would send.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { Test } from 'tap';

/** RFC 6455, section 5.2. */
export const TEXT = 0x1;
export const BINARY = 0x2;
export const CONTINUATION = 0x0;
export const CLOSE = 0x8;
export const PING = 0x9;
export const PONG = 0xa;

export interface WireFrame {
  readonly opcode: number;
  readonly payload?: Uint8Array | string;
  readonly fin?: boolean;
  /** The three reserved bits, 0 to 7. */
  readonly reserved?: number;
  readonly masked?: boolean;
  /** What the header says, when it does not say the truth. */
  readonly declared?: bigint;
}

/** One WebSocket frame as a client sends it. */
export function wireFrame({
  opcode,
  payload = '',
  fin = true,
  reserved = 0,
  masked = true,
  declared,
}: WireFrame): Buffer {
  const body = Buffer.from(payload);
  const first = (fin ? 0x80 : 0) | (reserved << 4) | opcode;
  const mask = masked ? randomBytes(4) : Buffer.alloc(0);
  const sent = masked ? body.map((byte, at) => byte ^ (mask[at % 4] ?? 0)) : body;
  return Buffer.concat([Buffer.from([first]), lengthField(body.length, declared, masked), mask, sent]);
}

function lengthField(bytes: number, declared: bigint | undefined, masked: boolean): Buffer {
  const bit = masked ? 0x80 : 0;
  if (declared === undefined && bytes < 126) return Buffer.from([bit | bytes]);
  if (declared === undefined && bytes < 65_536) return Buffer.from([bit | 126, bytes >> 8, bytes & 0xff]);
  const field = Buffer.alloc(9);
  field.writeUInt8(bit | 127);
  field.writeBigUInt64BE(declared ?? BigInt(bytes), 1);
  return field;
}

/** How a connection ended: with a close frame, or without a word. */
export type Ending = { readonly code: number; readonly reason: string } | 'dropped';

export type Wire = Awaited<ReturnType<typeof wire>>;

/** The request that opens a WebSocket; `lines` replace or add headers, '' takes one away. */
export function handshake(address: string, lines: Readonly<Record<string, string>> = {}): string {
  const { host, pathname, search } = new URL(address);
  const headers = {
    Host: host,
    Upgrade: 'websocket',
    Connection: 'Upgrade',
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': randomBytes(16).toString('base64'),
    ...lines,
  };
  const given = Object.entries(headers).filter(([, value]) => value !== '');
  return [
    `GET ${pathname}${search} HTTP/1.1`,
    ...given.map(([name, value]) => `${name}: ${value}`),
    '\r\n',
  ].join('\r\n');
}

/** Connects and writes `first` right behind the handshake, in the same TCP write. Resolves with the first frame or the end. */
export async function wire(t: Test, address: string, first: readonly Uint8Array[] = []) {
  const { hostname, port } = new URL(address);
  const socket = connect(Number(port), hostname).setNoDelay(true);
  t.teardown(() => socket.destroy());
  socket.on('error', () => {}); // a reset is an end; 'close' follows
  const reader = createReader(socket);
  socket.write(Buffer.concat([Buffer.from(handshake(address)), ...first]));
  await reader.someFrame;
  const messages = () =>
    reader.received
      .filter(({ opcode }) => opcode === TEXT)
      .map(({ payload }) => JSON.parse(payload.toString()) as Record<string, unknown>);
  return {
    socket,
    /** Everything the relay sent, control frames included. */
    received: reader.received,
    /** The text messages so far. */
    messages,
    /** The first text message that matches; a connection that ends first, or 5 s, fails the test. */
    async hears(matches: (message: Record<string, unknown>) => boolean): Promise<Record<string, unknown>> {
      const signal = AbortSignal.timeout(5000);
      for (;;) {
        const found = messages().find(matches);
        if (found !== undefined) return found;
        if (socket.closed) throw new Error('the connection ended instead');
        await Promise.race([once(socket, 'data', { signal }), once(socket, 'close', { signal })]);
      }
    },
    write: (...pieces: readonly Uint8Array[]) => socket.write(Buffer.concat(pieces)),
    /** Resolves when the relay has closed or dropped the connection; 5 s without either fails the test. */
    async ends(): Promise<Ending> {
      if (!socket.closed) await once(socket, 'close', { signal: AbortSignal.timeout(5000) });
      const close = reader.received.find(({ opcode }) => opcode === CLOSE);
      if (close === undefined || close.payload.length < 2) return 'dropped';
      return { code: close.payload.readUInt16BE(), reason: close.payload.subarray(2).toString() };
    },
  };
}

interface Received {
  readonly opcode: number;
  readonly payload: Buffer;
}

/** Takes apart what a server sends: unmasked, and ours never fragments. */
function createReader(socket: Socket) {
  const received: Received[] = [];
  let bytes = Buffer.alloc(0);
  let upgraded = false;
  const someFrame = new Promise<void>((resolve) => {
    socket.on('data', (chunk) => {
      bytes = Buffer.concat([bytes, chunk]);
      if (!upgraded) takeHead();
      if (upgraded) while (takeFrame());
      if (received.length > 0) resolve();
    });
    socket.on('close', () => resolve());
  });

  function takeHead(): void {
    const end = bytes.indexOf('\r\n\r\n');
    if (end < 0) return;
    upgraded = true;
    bytes = bytes.subarray(end + 4);
  }

  function takeFrame(): boolean {
    if (bytes.length < 2) return false;
    const short = bytes.readUInt8(1);
    const at = short < 126 ? 2 : short === 126 ? 4 : 10;
    if (bytes.length < at) return false;
    const length =
      short < 126 ? short : short === 126 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2));
    if (bytes.length < at + length) return false;
    received.push({
      opcode: bytes.readUInt8(0) & 0xf,
      payload: Buffer.from(bytes.subarray(at, at + length)),
    });
    bytes = bytes.subarray(at + length);
    return true;
  }

  return { received, someFrame };
}
