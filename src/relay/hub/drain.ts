// Ends a relay: closes its sockets one after the other, idle ones first and talkers when they have finished speaking.
import { type Close, closes } from '../../protocol/closes.js';
import { textOf } from '../../protocol/server-messages.js';
import { type Clock, pause } from '../clock.js';

/** A session as the drain sees it. */
interface Draining {
  /** false while it has no socket. */
  readonly isLive: boolean;
  /** Whether it has the floor somewhere. */
  readonly isTalker: boolean;
}

export interface DrainOptions<S extends Draining> {
  readonly sessions: Sessions<S>;
  /** DRAIN_MS. */
  readonly msMax: number;
  /** Whether another relay can take the sessions over. */
  readonly mayMove: boolean;
  /** Sends a message to every session. */
  readonly tell: (message: string) => void;
  readonly close: (session: S, close: Close) => void;
  readonly clock: Clock;
}

type Sessions<S extends Draining = Draining> = ReadonlyMap<number, S>;

/** After the drain (ms), for what ends after the sockets. Radios add jitter of their own. */
const RECONNECT_AFTER_MS = 1000;
/** The same where another node is there already. */
const RECONNECT_ELSEWHERE_MS = 500;
/** Time (ms) behind the last close for which sessions wait to be fetched by other relays. */
const FETCH_MS_MAX = 2000;
/** What was fetched last is told by its new relay (ms), before this one is gone for the others. */
const TOLD_MS = 100;
/** The session is kept, and another relay fetches it. */
const MOVING: Close = { ...closes.restart, isResumable: true };

/** Between two rounds of closes. */
const STEP_MS = 20;
/**
 * For each idle socket: a relay with few of them ends at once. At most a thousand radios a second come back, at 50 to
 * 100 µs of the next server's time each.
 */
const IDLE_MS = 1;

/**
 * Tells all sessions to go and closes them. Where another relay can be reached, they are kept until it has fetched them,
 * at most 2 s behind the last close.
 */
export async function drainAll<S extends Draining>(options: DrainOptions<S>): Promise<void> {
  const { sessions, mayMove, tell, close, clock } = options;
  const msMax = drainMsMax(sessions, options.msMax);
  tell(
    mayMove
      ? textOf({ type: 'GOAWAY', reconnect_after_ms: RECONNECT_ELSEWHERE_MS, resumable: true })
      : textOf({ type: 'GOAWAY', reconnect_after_ms: msMax + RECONNECT_AFTER_MS }),
  );
  await drain({
    sessions,
    msMax,
    clock,
    close: (session) => close(session, mayMove ? MOVING : closes.restart),
  });
  const lastAtMs = clock.nowMs();
  while (mayMove && sessions.size > 0 && clock.nowMs() - lastAtMs < FETCH_MS_MAX) await pause(clock, STEP_MS);
  if (mayMove) await pause(clock, TOLD_MS);
  for (const session of [...sessions.values()]) close(session, closes.restart);
}

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
  clock,
  close,
}: {
  sessions: Sessions<S>;
  msMax: number;
  clock: Clock;
  close: (session: S) => void;
}): Promise<void> {
  const startMs = clock.nowMs();
  const count = split(sessions).idle.length;
  const idleMs = Math.min(msMax, IDLE_MS * count);
  const talked = new Set<S>();
  for (let passedMs = 0; passedMs < msMax && hasLive(sessions); passedMs = clock.nowMs() - startMs) {
    await pause(clock, STEP_MS);
    // Told apart anew each time: a session that talks now may not have talked when it began.
    const { idle, talkers } = split(sessions);
    for (const session of talkers) talked.add(session);
    const finished = idle.filter((session) => talked.has(session));
    for (const session of finished) close(session);
    const waiting = idle.filter((session) => !talked.has(session));
    const staying = Math.ceil(count * Math.max(0, 1 - (clock.nowMs() - startMs) / idleMs));
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
