// Ends a relay: closes its sockets one after the other, idle ones first and talkers when they have finished speaking.
import { setTimeout } from 'node:timers/promises';

/** A session as the drain sees it. */
interface Draining {
  /** false while it has no socket. */
  readonly isLive: boolean;
  /** Whether it has the floor somewhere. */
  readonly isTalker: boolean;
}

type Sessions<S extends Draining = Draining> = ReadonlyMap<number, S>;

/** Between two rounds of closes. */
const STEP_MS = 20;
/**
 * For each idle socket: a relay with few of them ends at once. At most a thousand radios a second come back, at 50 to
 * 100 µs of the next server's time each.
 */
const IDLE_MS = 1;

/**
 * How long the drain that begins now may last (ms): with a talker `msMax`, else what the idle sockets take. A burst that
 * begins later does not prolong it, because clients are told this number before.
 */
export function drainMsMax(sessions: Sessions, msMax: number): number {
  const { idle, talkers } = split(sessions);
  return talkers.length > 0 ? msMax : Math.min(msMax, IDLE_MS * idle.length);
}

/**
 * Closes every session and resolves when all are closed: idle ones evenly over `msMax` or IDLE_MS for each, whichever
 * is shorter, talkers at the end of their burst and at the latest after `msMax`.
 */
export async function drain<S extends Draining>({
  sessions,
  msMax,
  close,
}: {
  sessions: Sessions<S>;
  msMax: number;
  close: (session: S) => void;
}): Promise<void> {
  const startMs = performance.now();
  const count = split(sessions).idle.length;
  const idleMs = Math.min(msMax, IDLE_MS * count);
  const talked = new Set<S>();
  for (let passedMs = 0; passedMs < msMax && hasLive(sessions); passedMs = performance.now() - startMs) {
    await setTimeout(STEP_MS);
    // Told apart anew each time: a session that talks now may not have talked when it began.
    const { idle, talkers } = split(sessions);
    for (const session of talkers) talked.add(session);
    const finished = idle.filter((session) => talked.has(session));
    for (const session of finished) close(session);
    const waiting = idle.filter((session) => !talked.has(session));
    const staying = Math.ceil(count * Math.max(0, 1 - (performance.now() - startMs) / idleMs));
    for (const session of waiting.slice(0, Math.max(0, waiting.length - staying))) close(session);
  }
  for (const session of [...sessions.values()]) close(session); // those that may be resumed, too
}

function split<S extends Draining>(sessions: Sessions<S>): { idle: S[]; talkers: S[] } {
  const idle: S[] = [];
  const talkers: S[] = [];
  for (const session of sessions.values()) {
    if (session.isLive) (session.isTalker ? talkers : idle).push(session);
  }
  return { idle, talkers };
}

function hasLive(sessions: Sessions): boolean {
  for (const { isLive } of sessions.values()) if (isLive) return true;
  return false;
}
