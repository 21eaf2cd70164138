// Applies a new floor mode, and an emergency that begins or ends, to the talkers and the queue.
import type { FloorMode } from '../../protocol/codes.js';
import { type Claim, FRAME_PRIORITY, mayTalkIn, priorityOf } from './claim.js';
import { inOrder } from './queue.js';
import {
  both,
  EMERGENCY_TALK_MS_MAX,
  type EmergencyChange,
  type Floor,
  type Holder,
  type Outcome,
  type Step,
  takenFrom,
  unchanged,
} from './state.js';

export function settle(floor: Floor, { mode, maxTalkMs }: { mode: FloorMode; maxTalkMs: number }): Step {
  if (mode === floor.mode && maxTalkMs === floor.maxTalkMs) return unchanged(floor);
  return enforce({ ...floor, mode, maxTalkMs });
}

/** Ends what the mode forbids. When the mode allows one talker, the oldest allowed burst stays. */
function enforce(floor: Floor): Step {
  const isAllowed = (claim: Claim) => mayTalkIn(floor.mode, claim);
  const allowed = floor.holders.filter(({ claim }) => isAllowed(claim));
  const kept = new Set(floor.mode === 'open' ? allowed : allowed.toSorted(byAge).slice(0, 1));
  const ended = floor.holders.filter((holder) => !kept.has(holder));
  const refused = floor.waiting.filter((claim) => !isAllowed(claim));
  return {
    floor: { ...floor, holders: [...kept], waiting: floor.waiting.filter(isAllowed) },
    outcomes: [
      ...ended.flatMap((holder) => takenFrom(holder, 'mode')),
      ...refused.map(({ session }): Outcome => ({ kind: 'denied', session, code: 'forbidden' })),
    ],
  };
}

/** Orders bursts by their start, before grants without a frame. */
const byAge = (a: Holder, b: Holder) =>
  (a.startedAtMs ?? Number.MAX_VALUE) - (b.startedAtMs ?? Number.MAX_VALUE);

/** Changes the claims of talkers and queued sessions at once. A queued session then preempts if its new claim may. */
export function followEmergency(floor: Floor, { sessions, inEmergency }: EmergencyChange): Step {
  const isNew = (claim: Claim) => sessions.has(claim.session) && claim.inEmergency !== inEmergency;
  if (!floor.holders.some(({ claim }) => isNew(claim)) && !floor.waiting.some(isNew)) return unchanged(floor);
  const follow = inEmergency ? raised : cleared;
  const holders = floor.holders.map((holder) => (isNew(holder.claim) ? follow(holder) : holder));
  const waiting = floor.waiting.map((one) => (isNew(one) ? { ...one, inEmergency } : one));
  const changed = holders
    .filter((holder, index) => holder !== floor.holders[index])
    .map((holder): Outcome => ({ kind: 'changed', holder }));
  const next = { ...floor, holders, waiting: inOrder(waiting) };
  // A cleared emergency may have been the only right to talk in `broadcast`.
  return both({ floor: next, outcomes: changed }, enforce(next));
}

/** A user who raises an emergency while talking gets the longer limit, and keeps it to the end of the burst. */
function raised(holder: Holder): Holder {
  const claim = { ...holder.claim, inEmergency: true };
  const talkMsMax = holder.talkMsMax === 0 ? 0 : Math.max(holder.talkMsMax, EMERGENCY_TALK_MS_MAX);
  return { ...holder, claim, priority: priorityOf(claim), talkMsMax };
}

/** The grant now counts as that of a first frame, whatever priority the request had. */
function cleared(holder: Holder): Holder {
  const claim = { ...holder.claim, inEmergency: false, priority: FRAME_PRIORITY };
  return { ...holder, claim, priority: priorityOf(claim) };
}
