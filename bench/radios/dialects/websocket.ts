// RFC 6455 by hand, as far as a server's short messages need it: as plain servers speak it, and our relay.
import { randomBytes } from 'node:crypto';
import type { Dialect, Line, Receive } from './dialect.js';

export const TEXT = 1;
export const BINARY = 2;
const CLOSE = 8;
const PING = 9;
const PONG = 10;
const HANDSHAKE_END = '\r\n\r\n';
/** Close code 1000: the client will not come back, so nothing of its session is kept. */
const GOODBYE = masked(CLOSE, Buffer.from([1000 >> 8, 1000 & 0xff]));

export interface WebSocketOptions {
  /** `name=value` pairs for the request. */
  readonly query: string;
  /** The handshake is done. */
  readonly opened: () => void;
  /** A text message, valid until the call returns. */
  readonly said: Receive;
}

/** A server with rooms, chosen in the request. A radio has joined with the handshake. */
export function openPlain(line: Line): Dialect {
  return openWebSocket(line, { query: `room=${line.room}`, opened: line.join, said: () => {} });
}

/** Our relay: a radio has joined with the first text message, WELCOME. */
export function openRelay(line: Line): Dialect {
  return openWebSocket(line, {
    query: `token=${line.token}`,
    opened: () => {},
    said(bytes, start, end) {
      line.join();
      line.tell(bytes.subarray(start, end));
    },
  });
}

/** What all servers on WebSocket have in common: every binary message is an audio frame. */
export function openWebSocket(
  { url, write, hear, lose }: Line,
  { query, opened, said }: WebSocketOptions,
): Dialect & { text(text: string): Buffer } {
  let isOpen = false;

  function readHandshake(bytes: Buffer): number {
    const end = bytes.indexOf(HANDSHAKE_END);
    if (end === -1) return 0;
    const [status = ''] = bytes.toString('latin1', 0, end).split('\r\n');
    if (!status.startsWith('HTTP/1.1 101 ')) {
      lose(`the server answered the handshake with ${status}`, undefined, status);
      return bytes.length;
    }
    isOpen = true;
    opened();
    return readMessages(bytes, end + HANDSHAKE_END.length);
  }

  function readMessages(bytes: Buffer, from: number): number {
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
        lose('the server sent a message of more than 64 KiB');
        return bytes.length;
      }
      const end = start + length;
      if (end > bytes.length) break;
      if (opcode === BINARY) hear(bytes, start, end);
      else if (opcode === TEXT) said(bytes, start, end);
      else control(opcode, bytes.subarray(start, end));
      at = end;
    }
    return at;
  }

  function control(opcode: number, payload: Buffer): void {
    // The relay times its pings: one that finds no answer within a second takes the radio out of the audio.
    if (opcode === PING) write(masked(PONG, payload));
    if (opcode === CLOSE) {
      const code = payload.length < 2 ? 1005 : payload.readUInt16BE(0);
      const reason = payload.toString('utf8', 2);
      lose(`the server closed a connection: ${code} ${reason}`, code, reason);
    }
  }

  return {
    begin: () => write(handshake(url, query)),
    read: (bytes) => (isOpen ? readMessages(bytes, 0) : readHandshake(bytes)),
    speech: (frame) => masked(BINARY, frame),
    text: (text) => masked(TEXT, Buffer.from(text)),
    goodbye: GOODBYE,
  };
}

function handshake({ host, pathname }: URL, query: string): string {
  const lines = [
    `GET ${pathname}?${query} HTTP/1.1`,
    `Host: ${host}`,
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    `Sec-WebSocket-Key: ${randomBytes(16).toString('base64')}`,
  ];
  return lines.join('\r\n') + HANDSHAKE_END;
}

/** RFC 6455 section 5.2 with a mask of four zeros: the server undoes it at the same cost as any other. */
function masked(opcode: number, payload: Uint8Array): Buffer {
  const { length } = payload;
  if (length > 0xffff) throw new RangeError('messages of more than 64 KiB are not sent here');
  const isShort = length <= 125;
  const message = Buffer.alloc((isShort ? 6 : 8) + length);
  message[0] = 0x80 | opcode;
  message[1] = 0x80 | (isShort ? length : 126);
  if (!isShort) message.writeUInt16BE(length, 2);
  message.set(payload, message.length - length);
  return message;
}
