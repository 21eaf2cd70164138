// Reads and writes the 32 bytes before every message between relays. Behind them is a frame as clients get it, or JSON.
//
//  0 u8   kind              12 u32  at, the sender's monotonic clock in ms
//  1 u8   version, flags    16 u32  count of the burst's turn, at most 2^30, 0: none, as in `open`
//  2 u16  way, see below    20 u32  index of a frame in its burst, from 1. Of `ended` the number of frames
//  4 u32  the sender's id   24 u32  home of the turn
//  8 u32  seq, number of the message among the sender's about the talkgroup, from 1, modulo 2^32. Else 0
//                           28 u32  tag of the sender's database: ids of relays are unique in one database only
//
// The way is the number of the sender's connection to the bus, modulo 2^16. Messages of an earlier one may come later.
import { NO_TURN, TURN_COUNT_MAX, type Turn } from '../../protocol/turn.js';

export const HEADER_BYTES = 32;
const VERSION = 0x10;
const VERSION_MASK = 0xf0;

/** Kinds of messages. A kind that a relay does not know is counted, and ignored. */
export const kinds = {
  // About a talkgroup, to the relays with receivers of it.
  frame: 1,
  started: 2,
  ended: 3,
  count: 5,
  bye: 6,
  emergencies: 7,
  roster: 8,
  // To one relay.
  here: 16,
  hold: 17,
  membersAsked: 18,
  membersTold: 19,
  part: 20,
  verdicts: 21,
  want: 22,
  find: 23,
  found: 24,
  take: 25,
  taken: 26,
  // To every relay.
  beacon: 32,
  leave: 33,
  notice: 34,
  listing: 35,
  // To every relay that wants them.
  fixes: 36,
} as const;
export type Kind = (typeof kinds)[keyof typeof kinds];

export interface Header {
  kind: number;
  way: number;
  relay: number;
  seq: number;
  at: number;
  index: number;
  /** Of the turn. */
  count: number;
  home: number;
  database: number;
}

export const newHeader = (): Header => ({
  ...{ kind: 0, way: 0, relay: 0, seq: 0, at: 0, index: 0 },
  ...{ count: 0, home: 0, database: 0 },
});

/** A buffer for the headers of one sender, written over and over: the bus copies it. */
export class HeaderWriter {
  readonly bytes = new Uint8Array(HEADER_BYTES);
  private readonly view = new DataView(this.bytes.buffer);

  constructor(relay: number, database: number) {
    this.view.setUint8(1, VERSION);
    this.view.setUint32(4, relay);
    this.view.setUint32(28, database);
  }

  /** `connections` counts how often the bus has been connected. */
  setWay(connections: number): void {
    this.view.setUint16(2, connections % 2 ** 16);
  }

  /** `atMs` is the monotonic clock. The answer is valid until the next call. */
  write(kind: Kind, seq: number, atMs: number, index: number, turn: Turn = NO_TURN): Uint8Array {
    const { view } = this;
    view.setUint8(0, kind);
    view.setUint32(8, seq);
    view.setUint32(12, wholeMs(atMs));
    view.setUint32(16, turn.count);
    view.setUint32(20, index);
    view.setUint32(24, turn.home);
    return this.bytes;
  }
}

/**
 * Reads the header into `header`. false: the message is too short, of a version that this relay does not speak, or its turn
 * is out of bounds.
 */
export function readHeader(bytes: Uint8Array, header: Header): boolean {
  if (bytes.byteLength < HEADER_BYTES) return false;
  const view = new DataView(bytes.buffer, bytes.byteOffset, HEADER_BYTES);
  if ((view.getUint8(1) & VERSION_MASK) !== VERSION) return false;
  header.kind = view.getUint8(0);
  header.way = view.getUint16(2);
  header.relay = view.getUint32(4);
  header.seq = view.getUint32(8);
  header.at = view.getUint32(12);
  header.count = view.getUint32(16);
  header.index = view.getUint32(20);
  header.home = view.getUint32(24);
  header.database = view.getUint32(28);
  return header.count <= TURN_COUNT_MAX;
}

/** The sender's id, without the rest. 0: the message is too short. */
export const readRelay = (bytes: Uint8Array): number =>
  (((bytes[4] ?? 0) << 24) | ((bytes[5] ?? 0) << 16) | ((bytes[6] ?? 0) << 8) | (bytes[7] ?? 0)) >>> 0;

/** A clock as headers have it: whole ms, modulo 2^32. */
export const wholeMs = (ms: number): number => Math.floor(ms) % 2 ** 32;

/** `later` - `earlier` of two ways. */
export const waysBetween = (earlier: number, later: number): number => ((later - earlier) << 16) >> 16;

/** `later` - `earlier` (ms) of two clocks of headers, which begin again at 0 after 49 days. */
export const msBetween = (earlier: number, later: number): number => (later - earlier) | 0;

/** A number of messages as headers and bodies have it: at 1,600 messages a second it begins again at 0 after 31 days. */
export const wireSeq = (seq: number): number => seq % 2 ** 32;

/** The number of messages closest to `known` that a header or body has as `told`. */
export const seqNear = (known: number, told: number): number => known + ((told - known) | 0);
