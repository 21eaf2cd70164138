// Reads the frames of a recording as the service sends them, and computes when each of them is due in a replay.
import { decodeFrame, type Frame } from '../../protocol/frame.js';

/** In front of each frame is its length. */
const LENGTH_BYTES = 2;
/** The service has limited the payloads when it relayed them. */
const PAYLOAD_BYTES_MAX = 0xffff;
/** Half the range of `sequence`. A longer step ahead is one back: the talker's app has begun to count anew. */
const STEP_MAX = 0x8000;
/** A piece of a burst is not longer. */
const LENGTH_MS_MAX = 600_000;
/** A recording begins with the grant. Frames that waited for it were said up to so long before (ms). */
const BEFORE_MS = 1_000;

/** `sequence`: periods, unwrapped. `atMs`: due so long after the first frame (ms). */
export type Due = { sequence: number; atMs: number };

/** The frames of an answer of GET /recordings/{id}/frames. Their payloads are views of `bytes`. null: it is no such answer. */
export function framesIn(bytes: Uint8Array): Frame[] | null {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const frames: Frame[] = [];
  for (let at = 0; at < bytes.length; ) {
    if (at + LENGTH_BYTES > bytes.length) return null;
    const from = at + LENGTH_BYTES;
    at = from + view.getUint16(at);
    const frame = at > bytes.length ? null : decodeFrame(bytes.subarray(from, at), PAYLOAD_BYTES_MAX);
    if (frame === null || typeof frame === 'string') return null;
    frames.push(frame);
  }
  return frames;
}

/**
 * Returns a function that takes the `sequence` of each frame and says when it is due. It says how far a frame is behind the one
 * before it, therefore pauses and missing frames leave a gap. It may jump when the talker's app begins again. So no gap ends
 * later than the recording did. `durationMs`: length of the recording (ms), null without an end.
 */
export function createTimeline({ packetMs, durationMs }: { packetMs: number; durationMs: number | null }) {
  const gapsEndMs = durationMs === null ? LENGTH_MS_MAX : durationMs + BEFORE_MS;
  let before: number | null = null;
  let due: Due = { sequence: 0, atMs: 0 };
  return (sequence: number): Due => {
    if (before === null) due = { sequence, atMs: 0 };
    else {
      const ahead = (sequence - before) & 0xffff;
      const periods = ahead === 0 || ahead >= STEP_MAX ? 1 : ahead;
      const inTimeMs = Math.min(due.atMs + periods * packetMs, gapsEndMs);
      due = { sequence: due.sequence + periods, atMs: Math.max(due.atMs + packetMs, inTimeMs) };
    }
    before = sequence;
    return due;
  };
}
