// Orders the queue for a floor: higher claims first, among equal claims the earlier request.
import { type Claim, rankOf } from './claim.js';

/** Length of the queue. One more request is denied. */
export const WAITING_MAX = 20;

/** A queued session. */
export interface Waiting extends Claim {
  /** Time of its first request (ms), as the floor's `nowMs`. */
  readonly sinceMs: number;
  /** When its socket died, null while the socket is open. Until its return it keeps its place and is skipped. */
  readonly lostAtMs: number | null;
}

/** Adds the claim. It replaces an older one of the session and keeps the time of that. null when the queue is full. */
export function queued(queue: readonly Waiting[], claim: Claim, nowMs: number): readonly Waiting[] | null {
  const own = queue.find(({ session }) => session === claim.session);
  const entry: Waiting = { ...claim, sinceMs: own?.sinceMs ?? nowMs, lostAtMs: null };
  if (own !== undefined) return inOrder(queue.map((one) => (one === own ? entry : one)));
  return queue.length < WAITING_MAX ? inOrder([...queue, entry]) : null;
}

/** Orders the queue again after claims changed. */
export const inOrder = (queue: readonly Waiting[]): readonly Waiting[] =>
  queue.toSorted((a, b) => rankOf(b) - rankOf(a) || a.sinceMs - b.sinceMs);

/** A place in the queue as announced. 1 is next. */
export interface Place {
  readonly session: number;
  readonly position: number;
  readonly size: number;
}

/**
 * The places to announce: of each session with a socket that moved, asked again, returned, or whose user began or ended
 * an emergency. A session without a socket learns its place at its return.
 */
export function placesToTell(before: readonly Waiting[], after: readonly Waiting[]): Place[] {
  const size = after.length;
  return after.flatMap((one, index) =>
    one.lostAtMs !== null || before[index] === one
      ? []
      : [{ session: one.session, position: index + 1, size }],
  );
}
