// The end of a relay: its sockets are closed one after the other, so that their radios do not all come back at once.
import { setTimeout } from 'node:timers/promises';
import type { Session } from './session.js';

/** So often some are closed. */
const STEP_MS = 20;

/** Closes every session, evenly over `ms`, those who talk last; resolves when all are closed. */
export async function drain({
  sessions,
  ms,
  close,
}: {
  sessions: ReadonlyMap<number, Session>;
  ms: number;
  close: (session: Session) => void;
}): Promise<void> {
  const live = () => [...sessions.values()].filter((session) => session.isLive);
  const count = live().length;
  const endMs = performance.now() + ms;
  for (let left = live(); left.length > 0 && performance.now() < endMs; left = live()) {
    await setTimeout(STEP_MS);
    const staying = Math.ceil((count * Math.max(0, endMs - performance.now())) / ms);
    // Told apart anew each time: who talks now may not have talked when it began.
    const inOrder = [...left.filter((one) => !one.isTalker), ...left.filter((one) => one.isTalker)];
    for (const session of inOrder.slice(0, Math.max(0, left.length - staying))) close(session);
  }
  for (const session of [...sessions.values()]) close(session); // those that may be resumed, too
}
