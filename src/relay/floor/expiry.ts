// Ends what takes too long: bursts over T2, unused grants, and what was kept for sockets that did not come back.
import type { RevokeCode } from '../../protocol/codes.js';
import type { Waiting } from './queue.js';
import { endOf, type Floor, type Holder, type Outcome, type Step, takenFrom, unchanged } from './state.js';

/** A grant without a frame is revoked after this time (ms). */
export const UNUSED_MS_MAX = 2000;
/** The floor of a talker with a dead socket is kept for this time (ms), for the talker's return. */
export const LOST_MS_MAX = 1500;

/**
 * Ends all that is due. T1 is not among it: the relay measures it, because it sees the frames. `leewayMs`: what a session has
 * is ended so much later (ms).
 */
export function tick(floor: Floor, nowMs: number, leewayMs: (session: number) => number = () => 0): Step {
  const dueIn = (holder: Holder) => dueOf(holder, nowMs - leewayMs(holder.claim.session));
  const holders = floor.holders.filter((holder) => dueIn(holder) === null);
  const waiting = floor.waiting.filter((one) => !isGone(one, nowMs - leewayMs(one.session)));
  if (holders.length === floor.holders.length && waiting.length === floor.waiting.length)
    return unchanged(floor);
  return {
    floor: { ...floor, holders, waiting },
    outcomes: floor.holders.flatMap((holder) => expire(holder, dueIn(holder))),
  };
}

function expire(holder: Holder, code: RevokeCode | 'disconnected' | null): Outcome[] {
  if (code === null) return [];
  return code === 'disconnected' ? endOf(holder, code) : takenFrom(holder, code);
}

function dueOf(holder: Holder, nowMs: number): RevokeCode | 'disconnected' | null {
  const { startedAtMs, grantedAtMs, toldAgainAtMs, talkMsMax } = holder;
  if (isGone(holder, nowMs)) return 'disconnected';
  if (startedAtMs === null) return nowMs - (toldAgainAtMs ?? grantedAtMs) >= UNUSED_MS_MAX ? 'unused' : null;
  return talkMsMax > 0 && nowMs - startedAtMs >= talkMsMax ? 'too_long' : null;
}

const isGone = ({ lostAtMs }: Holder | Waiting, nowMs: number) =>
  lostAtMs !== null && nowMs - lostAtMs >= LOST_MS_MAX;
