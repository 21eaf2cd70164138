// MQTT 3.1.1 with QoS 0: one topic for a room. OASIS Standard, mqtt-v3.1.1-os. The section numbers are its.
import type { Dialect, Line } from './dialect.js';

/** Kinds of packet, in the upper half of the first byte (2.2.1). */
const CONNECT = 0x10;
const CONNACK = 0x20;
const PUBLISH = 0x30;
const SUBSCRIBE = 0x82; // with the flags that 3.8.1 demands
const SUBACK = 0x90;
const DISCONNECT = 0xe0;

const PROTOCOL_LEVEL = 4;
const CLEAN_SESSION = 0x02;
/** Off (3.1.2.10): a silent radio stays connected, as it does with the other servers for the length of a run. */
const KEEP_ALIVE_S = 0;
/** Any but zero (2.3.1). Each connection subscribes once. */
const PACKET_ID = 1;
const REFUSED = 0x80;

/**
 * A radio has joined when its subscription is granted. MQTT 3.1.1 gives a publisher that subscribes its own messages
 * back (only MQTT 5 has "no local"), so a talker does not subscribe: it has joined when it is connected.
 */
export function openMqtt(line: Line): Dialect {
  const topic = field(`room/${line.room}`);

  function connect(): Buffer {
    const client = field(''); // the server makes up a name (3.1.3.1)
    const options = Buffer.from([PROTOCOL_LEVEL, CLEAN_SESSION, 0, KEEP_ALIVE_S]);
    return packet(CONNECT, field('MQTT'), options, client);
  }

  function control(kind: number, body: Buffer): void {
    if (kind === CONNACK) {
      if (body[1] !== 0) line.lose(`the server refused a connection: return code ${body[1]}`);
      else if (line.isTalker) line.join();
      else line.write(packet(SUBSCRIBE, Buffer.from([0, PACKET_ID]), topic, Buffer.from([0])));
    } else if (kind === SUBACK) {
      if (body[2] === REFUSED) line.lose('the server refused a subscription');
      else line.join();
    }
  }

  return {
    begin: () => line.write(connect()),
    read(bytes) {
      let at = 0;
      while (at + 2 <= bytes.length) {
        const kind = (bytes[at] ?? 0) & 0xf0;
        let start = at + 1;
        let length = 0;
        let byte = 0x80;
        // Seven bits a byte, the lowest first, at most four bytes (2.2.3).
        for (let shift = 0; byte >= 0x80; shift += 7) {
          if (start >= bytes.length) return at;
          byte = bytes[start++] ?? 0;
          length |= (byte & 0x7f) << shift;
          if (shift === 21 && byte >= 0x80) {
            line.lose('the server sent a length of more than four bytes');
            return bytes.length;
          }
        }
        const end = start + length;
        if (end > bytes.length) break;
        // With QoS 0 there is nothing between topic and payload.
        if (kind === PUBLISH) line.hear(bytes, start + 2 + bytes.readUInt16BE(start), end);
        else control(kind, bytes.subarray(start, end));
        at = end;
      }
      return at;
    },
    speech: (frame) => packet(PUBLISH, topic, frame),
    goodbye: packet(DISCONNECT),
  };
}

/** A length of two bytes and a text (1.5.3). */
function field(text: string): Buffer {
  const bytes = Buffer.from(text);
  return Buffer.concat([Buffer.from([bytes.length >> 8, bytes.length & 0xff]), bytes]);
}

function packet(first: number, ...parts: readonly Uint8Array[]): Buffer {
  let left = parts.reduce((sum, { length }) => sum + length, 0);
  const head = [first];
  do {
    head.push((left & 0x7f) | (left > 0x7f ? 0x80 : 0));
    left >>= 7;
  } while (left > 0);
  return Buffer.concat([Buffer.from(head), ...parts]);
}
