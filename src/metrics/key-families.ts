// Declares the metrics of encrypted speech: keys encrypted for key holders, and rotations that were due.
import { by, counter, type Family, gauge } from './family.js';

export const keyFamilies: readonly Family[] = [
  counter('talkgroup_keys_sealed_total', 'Keys encrypted for key holders', ({ keys }) => keys.sealing.sealed),
  counter(
    'talkgroup_keys_refused_total',
    'Requests for keys without an answer: above the rate of a user, the queue was full, or the sealing thread failed',
    ({ keys }) => by('reason', keys.sealing.refused),
    ['reason'],
  ),
  gauge(
    'talkgroup_keys_queue_length',
    'Keys in the queue of the sealing thread, including the one being encrypted',
    ({ keys }) => keys.sealing.queue,
  ),
  counter(
    'talkgroup_keys_due_rotations_total',
    'Key rotations that this node carried out because a member with keys had left',
    ({ keys }) => keys.dueRotations.done,
  ),
  counter(
    'talkgroup_keys_due_rotations_failed_total',
    'Times this node could not look for them, or not carry them out. It repeats that after 10 s',
    ({ keys }) => keys.dueRotations.failed,
  ),
];
