// Encodes audio frames that carry their intended sending time.
import { encodeFrame, HEADER_BYTES } from '../../src/protocol/frame.js';

/** A due time for frames that are not timed and that listeners do not count. */
export const UNTIMED = Number.NaN;
/** A due time for frames that count as heard or lost, while how late they are says nothing: those that warm up. */
export const COUNTED = -1;

export interface TimedFrame {
  readonly talkgroup: number;
  /** START, END or both. 0 in the middle of a burst. */
  readonly flags: number;
  readonly sequence: number;
  /** At least eight. */
  readonly payloadBytes: number;
  /** By nowMs(), the same clock in every process of the machine, or UNTIMED or COUNTED. */
  readonly dueMs: number;
}

/** The payload begins with the due time. The rest of it is silence. */
export function timedFrame({ talkgroup, flags, sequence, payloadBytes, dueMs }: TimedFrame): Uint8Array {
  const payload = new Uint8Array(payloadBytes);
  new DataView(payload.buffer).setFloat64(0, dueMs);
  return encodeFrame({ flags, sequence, talkgroup, payload });
}

/** Of a frame that timedFrame made. */
export const readDueMs = (frame: DataView): number => frame.getFloat64(HEADER_BYTES);

/** The same, and whether it is UNTIMED, of the frame at `start`, without a view: for what runs once per delivery. */
export const dueMsAt = (bytes: Buffer, start: number): number => bytes.readDoubleBE(start + HEADER_BYTES);
/** Of doubles only NaN, infinities and numbers beyond 10^307 begin with this byte. */
export const isUntimedAt = (bytes: Buffer, start: number): boolean => bytes[start + HEADER_BYTES] === 0x7f;
