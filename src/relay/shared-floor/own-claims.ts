// What the sessions of this relay have of a floor that another relay decides: asks it, and follows its verdicts.
//
// A relay alone decides what is its own: an end, a withdrawn permission, a dead socket, a limit that is over.

import type { ClaimEvent, Verdict } from '../floor/authority.js';
import { type Claim, rankOf } from '../floor/claim.js';
import { follow, step } from '../floor/machine.js';
import {
  type Floor,
  type FloorEvent,
  type Holder,
  holderOf,
  leaving,
  type Outcome,
  takenFrom,
  waitingOf,
} from '../floor/state.js';
import type { SharedState } from './state.js';
import type { PlayedTalk } from './turns/plays.js';

/** A question without an answer is denied after this time (ms). */
export const ASK_MS_MAX = 1000;
/** The same when the answer is a grant that is held back. The home alone could give it another turn. */
const HELD_MS_MAX = ASK_MS_MAX + 100;
/** A user in an emergency is granted the floor by the own relay when the home has not answered within this time (ms). */
export const ALONE_MS = 200;
/**
 * A burst of another relay counts as speech for this time (ms) after its last frame: a talker may pause, and one whose relay
 * is gone must not keep an emergency waiting until that is found out.
 */
const HEARD_MS = 500;
/** A session whose question was not answered may ask again after this time (ms). */
export const RETRY_MS = 500;

/** Has no place in an order: it begins at once. */
export const UNPLACED = { isFirstFrame: false, placedOf: () => null };

/** What happened to claims here. true: the home must be told. */
export function followClaim(state: SharedState, event: ClaimEvent, nowMs: number): boolean {
  switch (event.kind) {
    case 'request':
    case 'frame':
      return ask(state, event, nowMs);
    case 'release':
    case 'removed':
    case 'lost':
      // A question outlives its socket.
      if (state.of(event.session).ask !== null && (event.kind !== 'lost' || event.forGood))
        return withdraw(state, event, nowMs);
      return followStep(state, event, nowMs);
    case 'emergency':
      for (const one of state.records.asks)
        if (event.sessions.has(one.claim.session))
          state.record(one.claim.session).ask = {
            ...one,
            claim: { ...one.claim, inEmergency: event.inEmergency },
          };
      // Told again, even when it stays the same: as on one relay.
      for (const session of event.sessions)
        if (state.of(session).queued !== null) state.record(session).queued = null;
      return followStep(state, event, nowMs) || [...event.sessions].some((one) => state.of(one).ask !== null);
    default:
      return followStep(state, event, nowMs);
  }
}

function ask(
  state: SharedState,
  event: Extract<ClaimEvent, { kind: 'request' | 'frame' }>,
  nowMs: number,
): boolean {
  const { claim } = event;
  const { session } = claim;
  const held = holderOf(state.floor, session);
  const isFirstFrame = event.kind === 'frame';
  if (held !== undefined) {
    const turn = state.of(session).turn;
    const isLate = isFirstFrame && held.startedAtMs === null && !state.isHeld(session) && turn !== null;
    const isOver = isLate && (state.turnsHere.isPast(turn) || state.isBelow(held));
    if (isOver) return end(state, held, 'collision', nowMs);
    // A grant from the queue answers no question until its session asks again.
    state.answersAt(session, nowMs);
    return followStep(state, event, nowMs);
  }
  const place = waitingOf(state.floor, session);
  const code = isFirstFrame ? knownDenial(state, claim, nowMs) : null;
  if (code !== null) {
    state.services.counts.denied[code]++;
    state.tell([{ kind: 'denied', session, code, isFirstFrame }], nowMs);
    return false;
  }
  if (!isFirstFrame) state.services.counts.requests++;
  const queue = event.kind === 'request' && event.queue;
  const askedAtMs = place?.sinceMs ?? nowMs;
  const number = state.services.nextAsk();
  state.record(session).ask = { ask: number, claim, isFirstFrame, queue, askedAtMs, sinceMs: nowMs };
  return true;
}

/** Why the first frame gets no floor, when the home need not be asked. */
function knownDenial(state: SharedState, { session, user, inEmergency }: Claim, nowMs: number) {
  if (waitingOf(state.floor, session) !== undefined) return 'busy';
  return inEmergency ? null : state.deniedPresses.answerTo(user, nowMs);
}

/** The session gives up while its question is under way. */
function withdraw(
  state: SharedState,
  event: Extract<ClaimEvent, { kind: 'release' | 'removed' | 'lost' }>,
  nowMs: number,
): boolean {
  if (event.kind === 'release' && event.code === 'silence') return false;
  const { session } = event;
  state.floor = without(state.floor, session);
  state.records.forget(session);
  state.tell([{ kind: 'gone', session }], nowMs);
  return true;
}

/** The talkgroup is deleted: whatever the sessions of this relay have ends. */
export function deleteClaims(state: SharedState, nowMs: number): void {
  const { holders, waiting } = state.floor;
  const ending = new Set([
    ...state.records.asks.map(({ claim }) => claim.session),
    // The last in the queue first: none moves up.
    ...waiting.map(({ session }) => session).reverse(),
    ...holders.map(({ claim }) => claim.session),
  ]);
  for (const session of ending) followClaim(state, { kind: 'removed', session, code: 'deleted' }, nowMs);
}

/** The floor without the session. */
export const without = (floor: Floor, session: number): Floor => ({
  ...floor,
  holders: floor.holders.filter(({ claim }) => claim.session !== session),
  waiting: floor.waiting.filter((one) => one.session !== session),
});

/** Applies what this relay decides alone. */
export function followStep(state: SharedState, event: FloorEvent, nowMs: number): boolean {
  const before = state.floor;
  const { floor, outcomes } = follow(before, state.forHeld(event), nowMs);
  state.floor = floor;
  for (const session of leaving(before, floor)) {
    // A session that loses its place while it asks again is told once.
    const isDenied = outcomes.some((one) => one.kind === 'denied' && one.session === session);
    const wasAsking = state.of(session).ask !== null;
    if (wasAsking) state.record(session).ask = null;
    if (wasAsking && !isDenied) state.tell([unanswered(session, false)], nowMs);
  }
  const place = event.kind === 'returned' ? state.of(event.session).queued : null;
  const isWaiting = event.kind === 'returned' && waitingOf(floor, event.session) !== undefined;
  const told: Outcome[] =
    place !== null && isWaiting ? [{ kind: 'queued', session: event.session, ...place }] : [];
  state.count(before, event, outcomes, nowMs);
  state.carry(before, [...outcomes, ...told], UNPLACED, nowMs);
  return floor !== before;
}

function end(state: SharedState, holder: Holder, code: 'collision', nowMs: number): boolean {
  const before = state.floor;
  state.floor = without(before, holder.claim.session);
  const outcomes = takenFrom(holder, code);
  state.count(before, { kind: 'tick' }, outcomes, nowMs);
  state.carry(before, outcomes, UNPLACED, nowMs);
  return true;
}

/** Ends what took too long. true: the home must be told. */
export function expireClaims(state: SharedState, nowMs: number): boolean {
  let isChanged = false;
  // Before their sessions lose them, because these wait for an answer.
  for (const denied of lateGrants(state, nowMs)) {
    deny(state, denied, nowMs);
    isChanged = true;
  }
  isChanged = followStep(state, { kind: 'tick' }, nowMs) || isChanged;
  for (const one of state.records.asks) {
    const { claim, isFirstFrame } = one;
    const waitedMs = nowMs - one.sinceMs;
    if (waitedMs >= ALONE_MS && claim.inEmergency && grantAlone(state, one.claim.session, nowMs))
      isChanged = true;
    else if (waitedMs >= ASK_MS_MAX) {
      deny(state, unanswered(claim.session, isFirstFrame), nowMs);
      isChanged = true;
    }
  }
  return isChanged;
}

type Denied = Extract<Verdict, { readonly kind: 'denied' }>;

const unanswered = (session: number, isFirstFrame: boolean): Denied => ({
  ...{ kind: 'denied', session, code: 'retry_later', retryMs: RETRY_MS, isFirstFrame },
});

/** Answers to sessions that wait for a grant that was held back for too long. Each loses the grant with its answer. */
export function* lateGrants(state: SharedState, nowMs: number): Iterable<Denied> {
  for (const [session, { askedAtMs }] of state.records.held) {
    if (askedAtMs === null || askedAtMs > nowMs - HELD_MS_MAX) continue;
    const isFirstFrame = (holderOf(state.floor, session)?.startedAtMs ?? null) !== null;
    yield unanswered(session, isFirstFrame);
  }
}

/** The session is told that it gets nothing. A grant that was held back, or a place in the queue, goes with it. */
export function deny(state: SharedState, denied: Denied, nowMs: number): void {
  const { session } = denied;
  const had = state.has(session);
  state.drop(session);
  state.floor = without(state.floor, session);
  state.records.forget(session);
  state.tell(had ? [denied, { kind: 'gone', session }] : [denied], nowMs);
}

/** The burst of another relay that plays here keeps the floor beside the claim, as it would at the home. */
function isKept(played: PlayedTalk | null, claim: Claim, nowMs: number): boolean {
  return played !== null && rankOf(played.claim) >= rankOf(claim) && nowMs - played.frameAtMs < HEARD_MS;
}

/** The home does not answer a user in an emergency. Lower speech gives way as it would at the home. */
function grantAlone(state: SharedState, session: number, nowMs: number): boolean {
  const one = state.of(session).ask;
  if (one === null) return false;
  const before = state.floor;
  const { claim, isFirstFrame } = one;
  if (isKept(state.turnsHere.played, claim, nowMs)) return false;
  const event: FloorEvent = isFirstFrame
    ? { kind: 'frame', claim }
    : { kind: 'request', claim, queue: false };
  const after = step({ ...before, waiting: [] }, event, nowMs, state.services.limits);
  if (holderOf(after.floor, session) === undefined) return false;
  Object.assign(state.record(session), { ask: null, asked: one.ask, turn: null, isAlone: true });
  const waiting = before.waiting.filter((each) => each.session !== session);
  state.floor = { ...after.floor, waiting };
  state.count(before, { kind: 'tick' }, after.outcomes, nowMs);
  const placedOf = () => {
    state.turnsHere.interrupt(nowMs);
    return null;
  };
  state.carry(before, after.outcomes, { isFirstFrame, placedOf }, nowMs);
  return true;
}
