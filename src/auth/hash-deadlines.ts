// Bounds the time of a request that waits in the hash queue: when its turn comes, and when it writes.
import { type Deadline, REQUEST_MS } from '../db/deadline.js';
import { AppError } from '../errors.js';

/** Answered within 5 s (with what the answer itself takes), hashing included. */
const ANSWERED_MS_MAX = 4800;
/** Begun after so long, a hash of nearly two seconds, on a machine that has no time, is still answered in time. */
const TURN_MS_MAX = 3000;
const WRITE_MS_MAX = 2000;
/** A write with less time than this would more likely end with an unknown outcome than with an answer. */
const WRITE_MS_MIN = 200;

/**
 * The queue's bound is an estimate: where hashes take longer than they did, the turn of a request that was let in may come when
 * there is no time left to hash and answer. Asked then. Throws `login_queue_full`.
 */
export const inTime = (request: Deadline) => () => {
  if (performance.now() > request.at - REQUEST_MS + TURN_MS_MAX) throw new AppError('login_queue_full');
};

/** Of what may fail without harm to the answer: until the answer is due. */
export const untilAnswered = (request: Deadline): Deadline => ({
  ...request,
  at: request.at - REQUEST_MS + ANSWERED_MS_MAX,
});

/** A deadline of its own for the write behind the queue. Throws `login_queue_full` when the queue left no time. */
export function afterHashing(request: Deadline): Deadline {
  const now = performance.now();
  const at = Math.min(now + WRITE_MS_MAX, untilAnswered(request).at);
  if (at - now < WRITE_MS_MIN) throw new AppError('login_queue_full');
  return { ...request, at };
}
