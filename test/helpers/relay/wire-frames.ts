// WebSocket as bytes: what a client writes, its handshake and frames, right or wrong, and what a server says.
import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';

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
  /** Four bytes, random when not given. null leaves masking out. */
  readonly mask?: readonly number[] | null;
  /** What the header says, when it does not say the truth. */
  readonly declared?: bigint;
  /** Of the length, beyond the first: more than it needs, when given. */
  readonly lengthBytes?: 2 | 8;
}

/** One WebSocket frame as a client sends it. */
export function wireFrame({
  opcode,
  payload = '',
  fin = true,
  reserved = 0,
  mask = [...randomBytes(4)],
  declared,
  lengthBytes,
}: WireFrame): Buffer {
  const body = Buffer.from(payload);
  const first = (fin ? 0x80 : 0) | (reserved << 4) | opcode;
  const length = lengthField(declared ?? BigInt(body.length), lengthBytes);
  length.writeUInt8(length.readUInt8() | (mask === null ? 0 : 0x80));
  const sent = mask === null ? body : body.map((byte, at) => byte ^ (mask[at % 4] ?? 0));
  return Buffer.concat([Buffer.from([first]), length, Buffer.from(mask ?? []), sent]);
}

function lengthField(length: bigint, bytes = length < 126n ? 0 : length < 65_536n ? 2 : 8): Buffer {
  const field = Buffer.alloc(1 + bytes);
  field.writeUInt8(bytes === 0 ? Number(length) : bytes === 2 ? 126 : 127);
  if (bytes === 2) field.writeUInt16BE(Number(length), 1);
  if (bytes === 8) field.writeBigUInt64BE(length, 1);
  return field;
}

/** The request that opens a WebSocket. `lines` replace or add headers, '' takes one away. */
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

/** A frame from the server. */
export interface Received {
  readonly opcode: number;
  readonly payload: Buffer;
}

/** The answer to the handshake. */
export interface Head {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
}

/** Takes apart what a server sends: unmasked, and ours never fragments. `answered` is so with the first frame, a refusal in HTTP, or the end. */
export function createReader(socket: Socket, onText: (text: string) => void = () => {}) {
  const received: Received[] = [];
  let bytes = Buffer.alloc(0);
  let head: Head | null = null;
  const answered = new Promise<void>((resolve) => {
    socket.on('data', (chunk) => {
      bytes = Buffer.concat([bytes, chunk]);
      if (head === null) takeHead();
      if (head?.status === 101) while (takeFrame());
      if (received.length > 0 || (head !== null && head.status !== 101)) resolve();
    });
    socket.on('close', () => resolve());
  });

  function takeHead(): void {
    const end = bytes.indexOf('\r\n\r\n');
    if (end < 0) return;
    const [first = '', ...lines] = bytes.subarray(0, end).toString().split('\r\n');
    const pairs = lines.map((line) => [
      line.slice(0, line.indexOf(':')).toLowerCase(),
      line.slice(line.indexOf(':') + 1).trim(),
    ]);
    head = { status: Number(first.split(' ')[1]), headers: Object.fromEntries(pairs) };
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
    const frame = {
      opcode: bytes.readUInt8(0) & 0xf,
      payload: Buffer.from(bytes.subarray(at, at + length)),
    };
    received.push(frame);
    if (frame.opcode === TEXT) onText(frame.payload.toString());
    bytes = bytes.subarray(at + length);
    return true;
  }

  return { received, answered, head: () => head };
}
