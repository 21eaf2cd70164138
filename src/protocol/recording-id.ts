// Makes and reads the id of a recording, which follows from its burst: relays, REST and clients compute the same one.
//
// It is a UUID of version 7 (RFC 9562, section 5.7). 48 bits are the start in Unix ms. The 74 free bits are the session
// (32), the burst (32) and the piece (10). A session number is never issued twice, so no id is. Ids sort by time.

/** What an id is made of. */
export interface RecordingName {
  /** Unix time (ms) at which the piece begins. */
  readonly startedAt: number;
  /** u32. */
  readonly session: number;
  /** u32. */
  readonly burst: number;
  /** From 0 to PIECE_MAX. */
  readonly piece: number;
}

export const PIECE_MAX = 1023;

const SESSION_LOW_BITS = 20n;
const BURST_BITS = 32n;
const PIECE_BITS = 10n;
const VERSION = 0x7n;
const VARIANT = 0b10n;

export function recordingIdOf({ startedAt, session, burst, piece }: RecordingName): string {
  const high = BigInt(session) >> SESSION_LOW_BITS;
  const low = BigInt(session) & ((1n << SESSION_LOW_BITS) - 1n);
  const tail = (((low << BURST_BITS) | BigInt(burst)) << PIECE_BITS) | BigInt(piece);
  const first = (BigInt(startedAt) << 16n) | (VERSION << 12n) | high;
  return uuidOf((first << 64n) | (VARIANT << 62n) | tail);
}

/** null: it is the id of no recording. */
export function readRecordingId(id: string): RecordingName | null {
  if (!/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(id)) return null;
  const all = BigInt(`0x${id.replaceAll('-', '')}`);
  const bits = (from: bigint, count: bigint) => Number((all >> from) & ((1n << count) - 1n));
  return {
    startedAt: bits(80n, 48n),
    session: bits(64n, 12n) * 2 ** 20 + bits(42n, SESSION_LOW_BITS),
    burst: bits(PIECE_BITS, BURST_BITS),
    piece: bits(0n, PIECE_BITS),
  };
}

/** The lowest id of recordings that began then or later (Unix ms). */
export const lowestIdFrom = (startedAt: number): string =>
  recordingIdOf({ startedAt, session: 0, burst: 0, piece: 0 });

const uuidOf = (bits: bigint): string =>
  bits
    .toString(16)
    .padStart(32, '0')
    .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
