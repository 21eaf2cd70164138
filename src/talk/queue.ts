// Who waits for a floor, in the order of being served: higher claims first, among equals who asked first.
import { type Claim, rankOf } from './claim.js';

/** So many wait at most; one more is refused. */
export const WAITING_MAX = 20;

/** Somebody in the queue. */
export interface Waiting extends Claim {
  /** When it first asked, in ms as the floor's `nowMs`. */
  readonly sinceMs: number;
  /** When its socket died, null while it lives. It keeps its place and is passed over. */
  readonly lostAtMs: number | null;
}

/** The queue with the claim in it, in place of an older one of the session, whose time still counts; null when full. */
export function queued(queue: readonly Waiting[], claim: Claim, nowMs: number): readonly Waiting[] | null {
  const own = queue.find(({ session }) => session === claim.session);
  const entry: Waiting = { ...claim, sinceMs: own?.sinceMs ?? nowMs, lostAtMs: null };
  if (own !== undefined) return inOrder(queue.map((one) => (one === own ? entry : one)));
  return queue.length < WAITING_MAX ? inOrder([...queue, entry]) : null;
}

/** The order after claims changed. */
export const inOrder = (queue: readonly Waiting[]): readonly Waiting[] =>
  queue.toSorted((a, b) => rankOf(b) - rankOf(a) || a.sinceMs - b.sinceMs);

/** A place in the queue, as it is announced; 1 is next. */
export interface Place {
  readonly session: number;
  readonly position: number;
  readonly size: number;
}

/**
 * The places to announce: of everybody who is there and moved, and of whoever asked again, came back or began or
 * ended an emergency meanwhile. Who is away hears his place at his return.
 */
export function placesToTell(before: readonly Waiting[], after: readonly Waiting[]): Place[] {
  const size = after.length;
  return after.flatMap((one, index) =>
    one.lostAtMs !== null || before[index] === one
      ? []
      : [{ session: one.session, position: index + 1, size }],
  );
}
