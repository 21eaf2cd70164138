// Joins what relays tell of one recording while it waits to be stored.
import { isTail, type RecordingHead, type RecordingTail } from '../../protocol/recording-batch.js';

export type Row = RecordingHead | RecordingTail;

/** Two messages about one recording. The end counts, and of what both say the stricter. */
export function merged(one: Row, other: Row): Row {
  const whole = isTail(one) || !isTail(other) ? one : other;
  const lost = one.lost ?? other.lost;
  return {
    ...whole,
    emergency: one.emergency || other.emergency,
    was_required: one.was_required || other.was_required,
    epoch: Math.min(one.epoch, other.epoch),
    ...(lost !== undefined && { lost: { ...one.lost, ...other.lost } }),
  };
}

/** The row as it begins. */
export function begun(row: Row): Row {
  if (row.lost === undefined) return row;
  const { frames, duration_ms, code, lost, ...head } = row as RecordingTail;
  return head;
}
