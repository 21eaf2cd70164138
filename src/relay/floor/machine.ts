// Controls the floor of one talkgroup as a pure state machine: (floor, event, now) -> { floor, outcomes }.
//
// It knows sessions by their numbers, and has no socket and no clock. Frames of a running burst never come here, only
// its edges do, so none of this is on the hot path. A queued session never waits when the same request would be granted
// now: every step ends by serving the queue.
import { capacityFor, inTurn, mayWait, type TalkLimits } from './capacity.js';
import { followEmergency, settle } from './changes.js';
import { type Claim, mayTalkIn, preempts, priorityOf } from './claim.js';
import { tick } from './expiry.js';
import { placesToTell, queued, type Waiting } from './queue.js';
import {
  both,
  EMERGENCY_TALK_MS_MAX,
  endOf,
  type Floor,
  type FloorEvent,
  type Holder,
  holderOf,
  type Outcome,
  type Step,
  takenFrom,
  unchanged,
  waitingOf,
} from './state.js';

/** Applies one event. Never throws. An event that does not apply returns the same floor. */
export function step(floor: Floor, event: FloorEvent, nowMs: number, limits: TalkLimits): Step {
  const applied = apply(floor, event, nowMs, limits);
  if (applied.floor === floor) return applied;
  const served = both(applied, serve(applied.floor, nowMs, limits));
  const places = placesToTell(floor.waiting, served.floor.waiting);
  const queued = places.map((place): Outcome => ({ kind: 'queued', ...place }));
  return both(served, { floor: served.floor, outcomes: queued });
}

/** Applies an event that the session's own relay decides alone, when another one decides the floor. No session is granted it. */
export const follow = (floor: Floor, event: FloorEvent, nowMs: number): Step =>
  apply(floor, event, nowMs, NO_TALKS);

const NO_TALKS: TalkLimits = { talkersMax: 0, talksPerUser: 0 };

function apply(floor: Floor, event: FloorEvent, nowMs: number, limits: TalkLimits): Step {
  switch (event.kind) {
    case 'request':
      return request(floor, event, nowMs, limits);
    case 'frame':
      return firstFrame(floor, event.claim, nowMs, limits);
    case 'release':
      return release(floor, event);
    case 'removed':
      return leave(floor, event.session, (holder) => takenFrom(holder, event.code));
    case 'lost':
      return lose(floor, event, nowMs);
    case 'returned':
      return comeBack(floor, event.session, nowMs);
    case 'settings':
      return settle(floor, event);
    case 'emergency':
      return followEmergency(floor, event);
    case 'tick':
      return tick(floor, nowMs, event.leewayMs);
  }
}

function request(
  floor: Floor,
  { claim, queue }: { claim: Claim; queue: boolean },
  nowMs: number,
  limits: TalkLimits,
): Step {
  const held = holderOf(floor, claim.session);
  if (held !== undefined) return { floor, outcomes: [{ kind: 'granted', holder: held }] };
  const won = contend(floor, claim, nowMs, limits);
  if (won !== null) return won;
  const mayQueue =
    queue && mayTalkIn(floor.mode, claim) && mayWait(floor.holders, floor.waiting, claim, limits);
  if (mayQueue) return wait(floor, claim, nowMs);
  return denied(withdraw(floor, claim.session), claim.session, refusalOf(floor, claim));
}

/** A session that does not get the floor is denied without another effect. A queued session keeps its place. */
function firstFrame(floor: Floor, claim: Claim, nowMs: number, limits: TalkLimits): Step {
  if (holderOf(floor, claim.session) !== undefined) return start(floor, claim.session, nowMs);
  const won = contend(floor, claim, nowMs, limits);
  if (won === null) return denied(floor, claim.session, refusalOf(floor, claim));
  return both(won, start(won.floor, claim.session, nowMs));
}

function start(floor: Floor, session: number, nowMs: number): Step {
  const held = holderOf(floor, session);
  if (held === undefined || held.startedAtMs !== null) return unchanged(floor);
  const holder = { ...held, startedAtMs: nowMs };
  const holders = floor.holders.map((one) => (one === held ? holder : one));
  return { floor: { ...floor, holders }, outcomes: [{ kind: 'started', holder }] };
}

const denied = (floor: Floor, session: number, code: 'busy' | 'queue_full' | 'forbidden'): Step => ({
  floor,
  outcomes: [{ kind: 'denied', session, code }],
});

const refusalOf = ({ mode }: Floor, claim: Claim) => (mayTalkIn(mode, claim) ? 'busy' : 'forbidden');

/** Grants the floor to the claim. null when the mode forbids it or others keep the floor. */
function contend(floor: Floor, claim: Claim, nowMs: number, limits: TalkLimits): Step | null {
  if (!mayTalkIn(floor.mode, claim)) return null;
  const place = placeFor(floor, claim, limits);
  if (place === null) return null;
  if (place === 'free') return grant(floor, claim, nowMs);
  const granted = grant({ ...floor, holders: floor.holders.filter((one) => one !== place) }, claim, nowMs);
  return { floor: granted.floor, outcomes: [...takenFrom(place, 'preempted'), ...granted.outcomes] };
}

/** `free`, or the holder that the claim preempts. null: the claim does not get the floor. */
function placeFor({ mode, holders }: Floor, claim: Claim, limits: TalkLimits): 'free' | Holder | null {
  if (mode === 'open') return capacityFor(holders, claim, limits);
  const [other] = holders;
  if (other === undefined) return 'free';
  return preempts(claim, other.claim) ? other : null;
}

function grant(floor: Floor, claim: Claim, nowMs: number): Step {
  const holder: Holder = {
    claim,
    priority: priorityOf(claim),
    grantedAtMs: nowMs,
    toldAgainAtMs: null,
    startedAtMs: null,
    talkMsMax: talkMsMaxOf(floor, claim),
    lostAtMs: null,
  };
  return {
    floor: { ...withdraw(floor, claim.session), holders: [...floor.holders, holder] },
    outcomes: [{ kind: 'granted', holder }],
  };
}

function talkMsMaxOf({ mode, maxTalkMs }: Floor, { inEmergency }: Claim): number {
  if (mode === 'open') return 0;
  return inEmergency ? EMERGENCY_TALK_MS_MAX : maxTalkMs;
}

function wait(floor: Floor, claim: Claim, nowMs: number): Step {
  const waiting = queued(floor.waiting, claim, nowMs);
  return waiting === null ? denied(floor, claim.session, 'queue_full') : unchanged({ ...floor, waiting });
}

/** Removes the session from the queue. */
function withdraw(floor: Floor, session: number): Floor {
  const waiting = floor.waiting.filter((one) => one.session !== session);
  return waiting.length === floor.waiting.length ? floor : { ...floor, waiting };
}

/** Grants the floor to queued sessions with a socket that would get it by a request now. */
export function serve(floor: Floor, nowMs: number, limits: TalkLimits): Step {
  const won = serveOne(floor, nowMs, limits);
  return won === null ? unchanged(floor) : both(won, serve(won.floor, nowMs, limits));
}

function serveOne(floor: Floor, nowMs: number, limits: TalkLimits): Step | null {
  const waiting = floor.mode === 'open' ? inTurn(floor.holders, floor.waiting) : floor.waiting;
  for (const { sinceMs: _, lostAtMs, ...claim } of waiting) {
    const won = lostAtMs === null ? contend(floor, claim, nowMs, limits) : null;
    if (won !== null) return won;
  }
  return null;
}

/** Ends the session's grant, or removes it from the queue. `tell` makes the announcements of an ended grant. */
function leave(floor: Floor, session: number, tell: (holder: Holder) => readonly Outcome[]): Step {
  const held = holderOf(floor, session);
  if (held === undefined) return unchanged(withdraw(floor, session));
  return { floor: { ...floor, holders: floor.holders.filter((one) => one !== held) }, outcomes: tell(held) };
}

function release(floor: Floor, { session, code }: { session: number; code: 'released' | 'silence' }): Step {
  if (code === 'released') return leave(floor, session, (holder) => endOf(holder, code));
  // A queued session and one with an unused grant may be silent.
  if ((holderOf(floor, session)?.startedAtMs ?? null) === null) return unchanged(floor);
  return leave(floor, session, (holder) => takenFrom(holder, code));
}

function lose(
  floor: Floor,
  { session, forGood }: { session: number; forGood: boolean },
  nowMs: number,
): Step {
  if (!forGood && floor.mode !== 'open') return markLost(floor, session, nowMs);
  return leave(floor, session, (holder) => endOf(holder, 'disconnected')); // there is no socket for `revoked`
}

/** The socket died now. A session that was already marked keeps its time. */
function markLost(floor: Floor, session: number, nowMs: number): Step {
  const marked = holderOf(floor, session) ?? waitingOf(floor, session);
  return unchanged(marked?.lostAtMs === null ? replace(floor, marked, { lostAtMs: nowMs }) : floor);
}

/** Repeats the answer that the old socket may have lost. Snapshots list a running burst, so it is not repeated. */
function comeBack(floor: Floor, session: number, nowMs: number): Step {
  const place = waitingOf(floor, session);
  if (place !== undefined) return unchanged(replace(floor, place, { lostAtMs: null })); // `step` announces the place of the copy
  const held = holderOf(floor, session);
  if (held === undefined) return unchanged(floor);
  if (held.startedAtMs !== null)
    return unchanged(held.lostAtMs === null ? floor : replace(floor, held, { lostAtMs: null }));
  const back = { lostAtMs: null, toldAgainAtMs: held.toldAgainAtMs ?? nowMs };
  return { floor: replace(floor, held, back), outcomes: [{ kind: 'granted', holder: { ...held, ...back } }] };
}

function replace(floor: Floor, one: Holder | Waiting, by: Partial<Holder>): Floor {
  const replaced = <T extends Holder | Waiting>(each: T) => (each === one ? { ...each, ...by } : each);
  return { ...floor, holders: floor.holders.map(replaced), waiting: floor.waiting.map(replaced) };
}
