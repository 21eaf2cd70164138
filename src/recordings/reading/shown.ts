// Makes of stored rows what clients see: the recording, and its frames as they were relayed.
import { BURST_AT, FLAGS_AT, HEADER_BYTES, SENDER_AT, TALKGROUP_AT } from '../../protocol/frame.js';
import { losses } from '../../protocol/recording-batch.js';
import { readRecordingId } from '../../protocol/recording-id.js';
import type { Static } from '../../typebox.js';
import type { Recording } from '../schemas.js';
import type { RecordingRow, Speech } from './store.js';

/** In front of a payload in a part: the first four bytes of its header, and its length. */
const PART_HEAD_BYTES = 6;
const LENGTH_AT = 4;

/** Of each frame u16 length and the frame, as clients got it. */
export function framesIn(id: string, { speech, talkgroup }: Speech): Buffer {
  const name = readRecordingId(id);
  const frames: Buffer[] = [];
  for (let at = 0; at < speech.length; ) {
    const length = speech.readUInt16BE(at + LENGTH_AT);
    const frame = Buffer.alloc(2 + HEADER_BYTES + length);
    frame.writeUInt16BE(HEADER_BYTES + length);
    const header = frame.subarray(2);
    speech.copy(header, FLAGS_AT, at, at + LENGTH_AT);
    header.writeUInt32BE(talkgroup, TALKGROUP_AT);
    header.writeUInt32BE(name?.session ?? 0, SENDER_AT);
    header.writeUInt32BE(name?.burst ?? 0, BURST_AT);
    speech.copy(header, HEADER_BYTES, at + PART_HEAD_BYTES, at + PART_HEAD_BYTES + length);
    frames.push(frame);
    at += PART_HEAD_BYTES + length;
  }
  return Buffer.concat(frames);
}

export function recordingOf(row: RecordingRow): Static<typeof Recording> {
  const { id, frames, stored_frames, codec, crypto, erased_at } = row;
  const name = readRecordingId(id);
  const missing = frames === null ? null : Math.max(0, frames - stored_frames);
  return {
    recording_id: id,
    talkgroup_id: row.talkgroup_id,
    talkgroup_name: row.talkgroup_name,
    session: name?.session ?? 0,
    burst: name?.burst ?? 0,
    piece: name?.piece ?? 0,
    user_id: row.user_id,
    username: row.username,
    started_at: new Date(row.started_at_ms).toISOString(),
    expires_at: row.expires_at,
    duration_ms: row.duration_ms,
    frames,
    stored_frames,
    missing,
    missing_because: becauseOf(row, missing),
    code: row.code,
    priority: row.priority,
    emergency: row.emergency,
    ...(codec && { codec }),
    ...(crypto && { crypto }),
    erased_at,
    ...(row.held !== null && { held: row.held }),
  };
}

/** Frames by reason, of all relays that relayed the recording. An erased one has no other reason. */
function becauseOf({ lost, erased_at }: RecordingRow, missing: number | null): Record<string, number> {
  if (missing === null || missing === 0) return {};
  if (erased_at !== null) return { erased: missing };
  const sums: Record<string, number> = {};
  for (const share of Object.values(lost ?? {}))
    for (const reason of losses)
      if ((share[reason] ?? 0) > 0) sums[reason] = (sums[reason] ?? 0) + (share[reason] ?? 0);
  return sums;
}
