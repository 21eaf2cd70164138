// Decides a floor at its home: steps the machine with the claims of this relay's sessions and with the parts of the others.

import { compareTurns, laterTurn, NO_TURN } from '../../protocol/turn.js';
import { limitsBeside } from '../floor/capacity.js';
import { serve, step } from '../floor/machine.js';
import { placesToTell } from '../floor/queue.js';
import {
  type FloorEvent,
  type Holder,
  holderOf,
  type Outcome,
  type Step,
  sessionOf,
  takenFrom,
} from '../floor/state.js';
import { answer, placedAt, tellOthers } from './answering.js';
import type { Part, PartClaim, Placed } from './bodies.js';
import { type HomeSide, TURN_GAP } from './home-side.js';
import { asHeard, partsMs } from './open-bursts.js';
import { without } from './own-claims.js';
import { arrivals, eventOf, holderFrom, isHolding, partDiff } from './parts.js';
import { rebuild } from './rebuild.js';
import type { SharedState } from './state.js';

/** Applies an event of a session of any relay. */
export function decide(
  state: SharedState,
  event: FloorEvent,
  nowMs: number,
  /** What is counted. A question that waited for this decision was counted before. */
  counted: FloorEvent = event,
): void {
  const { services, talkgroup, isOpen } = state;
  const user = 'claim' in event ? event.claim.user : undefined;
  // In the other modes the bursts of all relays are in the floor.
  const limits = isOpen
    ? limitsBeside(services.limits, services.bursts.remoteIn(talkgroup), user)
    : services.limits;
  const isOwn = !('claim' in event) || state.isOwn(event.claim.session);
  if (!mayBegin(state, event, nowMs)) return;
  const before = state.floor;
  const after = step(before, isOwn ? state.forHeld(event) : event, nowMs, limits);
  take(state, after, { event, counted: isOwn ? counted : { kind: 'tick' } }, nowMs);
}

/**
 * A session of this relay begins: its turn must be above what played here since it was granted. false: a higher burst plays
 * here, and the grant was taken away for it.
 */
function mayBegin(state: SharedState, event: FloorEvent, nowMs: number): boolean {
  const { home } = state;
  if (event.kind !== 'frame' || home === null || !state.isOwn(event.claim.session)) return true;
  const { session } = event.claim;
  const held = holderOf(state.floor, session);
  if (held === undefined || held.startedAtMs !== null || state.isHeld(session)) return true;
  if (state.isBelow(held)) {
    const step = { floor: without(state.floor, session), outcomes: takenFrom(held, 'collision') };
    take(state, step, { event: { kind: 'tick' } }, nowMs);
    return false;
  }
  const turn = state.of(session).turn;
  if (turn !== null && state.turnsHere.isPast(turn)) turnAgain(state, home, held, nowMs);
  return true;
}

/** The floor is what the step made of it: all who share it are told. */
function take(
  state: SharedState,
  { floor, outcomes }: Step,
  { event, counted = event }: { event: FloorEvent; counted?: FloorEvent },
  nowMs: number,
): void {
  const before = state.floor;
  const { home } = state;
  state.floor = floor;
  state.count(before, counted, outcomes, nowMs);
  if (home !== null) note(state, home, before.holders, outcomes);
  const placedOf = ({ claim }: Holder): Placed | null => placedAt(state, claim.session);
  state.carry(before, outcomes, { isFirstFrame: event.kind === 'frame', placedOf }, nowMs);
  if (floor !== before) tellOthers(state, nowMs);
}

/** Gives turns to new grants, and keeps what sessions of other relays are refused. */
function note(
  state: SharedState,
  home: HomeSide,
  before: readonly Holder[],
  outcomes: readonly Outcome[],
): void {
  for (const outcome of outcomes) {
    const session = sessionOf(outcome);
    if (outcome.kind === 'ended') home.endCode = outcome.code;
    if (outcome.kind === 'granted' && !before.some(({ claim }) => claim.session === session)) {
      const after = laterTurn(home.begun, state.turnsHere.seen); // the last that is known to have begun
      const turn = home.give(state.turnsHere.seen);
      state.record(session).turn = turn;
      home.placed = { turn, after, afterCode: home.endCode };
    }
    if (state.isOwn(session)) continue;
    if (outcome.kind === 'granted') noteAsk(state, home, session);
    if (outcome.kind === 'denied') home.refuse(session, { is: 'denied', code: outcome.code });
    if (outcome.kind === 'revoked') home.refuse(session, { is: 'revoked', code: outcome.code });
  }
}

/** A grant to a session of another relay answers the question of its last part. */
function noteAsk(state: SharedState, home: HomeSide, session: number): void {
  const ask = home.claimOf(session)?.ask;
  if (ask !== undefined) state.record(session).asked = ask;
}

/**
 * Gives the holder a turn above all that were heard of. It waits for nothing: a relay that plays the burst goes on, and what
 * another one plays ends soon.
 */
function turnAnew(state: SharedState, home: HomeSide, session: number): void {
  const turn = home.give(state.turnsHere.seen);
  home.placed = { turn, after: NO_TURN, afterCode: 'preempted' };
  state.record(session).turn = turn;
  state.record(session).isAlone = false;
}

/** The relays hear of the new turn. */
function tellTurn(state: SharedState, home: HomeSide, { claim, startedAtMs }: Holder, nowMs: number): void {
  const { session } = claim;
  const { placed } = home;
  if (placed !== null && state.isOwn(session)) {
    if (state.isHeld(session)) state.orderAgain(session, placed, nowMs);
    else if (startedAtMs !== null) state.renew(session, placed, nowMs);
    else state.record(session).placed = placed;
  }
  tellOthers(state, nowMs);
}

/** Some relay plays a later turn, or does not play this one. */
function turnAgain(state: SharedState, home: HomeSide, holder: Holder, nowMs: number): void {
  turnAnew(state, home, holder.claim.session);
  tellTurn(state, home, holder, nowMs);
}

/** Gives the holder another turn when it is overtaken. `isFenced`: a relay drops its frames. */
export function keepAhead(state: SharedState, isFenced: boolean, nowMs: number): void {
  const { home } = state;
  const [holder] = state.floor.holders;
  if (home === null || !home.isGathered || holder === undefined) return;
  const turn = state.of(holder.claim.session).turn;
  const top = laterTurn(home.top, state.turnsHere.top);
  const isAhead = turn !== null && compareTurns(turn, top) >= 0;
  if (isAhead && !(isFenced && holder.startedAtMs !== null)) {
    for (const [session, { placed }] of state.records.held) state.orderAgain(session, placed, nowMs);
    return;
  }
  turnAgain(state, home, holder, nowMs);
}

/** A relay told its part. `claims` are those of the part, with times of this relay. */
export function takePart(
  state: SharedState,
  home: HomeSide,
  from: number,
  { part, claims }: { part: Part; claims: readonly PartClaim[] },
  nowMs: number,
): void {
  const hasCome = ({ session, moves }: PartClaim) =>
    !home.isOf(session, from) || home.claimOf(session)?.moves !== moves;
  const came = new Set(claims.filter(hasCome).map(({ session }) => session));
  const before = home.heard(from, part, claims, (claim) => state.isOvertaken(claim), nowMs);
  if (before === null) return;
  for (const claim of home.claimsFrom(from)) if (came.has(claim.session)) follow(state, claim);
  if (!home.isGathered) {
    if (home.isComplete(partsMs(state), nowMs)) makeAnew(state, home, nowMs);
    return;
  }
  // No verdict leaves before the whole part is taken: a claim that follows in it may change everything.
  home.quietly(() => {
    const told = home.claimsFrom(from);
    const stayed = (before?.claims ?? []).filter(
      ({ session }) => home.isOf(session, from) && !came.has(session),
    );
    for (const { session } of told.filter((claim) => !isHolding(claim) && isOfEarlier(state, claim)))
      decide(state, { kind: 'release', session, code: 'released' }, nowMs);
    const isStrange = told.some((claim) => isHolding(claim) && isOfEarlier(state, claim));
    if (isStrange || home.isStrange(told, state.floor)) makeAnew(state, home, nowMs);
    else if (before?.v !== part.v) {
      for (const event of partDiff(stayed, told))
        if (applies(state, home, event)) decide(state, event, nowMs);
      for (const event of arrivals(state.floor, stayed, told)) decide(state, event, nowMs);
    }
    keepAhead(state, part.isFenced, nowMs);
  });
  home.tidy(from);
  tellOthers(state, nowMs);
  // A part that is repeated was not answered, or the answer was lost.
  answer(state, home, from, before?.v === part.v, nowMs);
}

/** The session is at the relay that tells this claim from now on. What it has of the floor is what it brought along. */
function follow(state: SharedState, { session, ask, state: is }: PartClaim): void {
  if (state.of(session).left !== null) state.disown(session);
  if (is !== 'asks' && holderOf(state.floor, session) !== undefined) state.record(session).asked = ask;
}

/**
 * The floor is that of an earlier question of the session, or of an earlier burst: what became of it was lost. A burst
 * without a turn began in `open`, or without the word of a home.
 */
function isOfEarlier(state: SharedState, claim: PartClaim): boolean {
  const { session, ask, turn } = claim;
  if (holderOf(state.floor, session) === undefined) return false;
  return state.of(session).asked !== ask || (isHolding(claim) && turn === null);
}

/** A talker whose grant is gone does not ask for another one by that. */
function applies(state: SharedState, home: HomeSide, event: FloorEvent): boolean {
  if (event.kind !== 'frame') return true;
  const { session } = event.claim;
  return home.claimOf(session)?.state === 'asks' || holderOf(state.floor, session) !== undefined;
}

/** These sessions of other relays have nothing any more: their relay cannot be reached. */
export function loseSessions(state: SharedState, sessions: readonly number[], nowMs: number): void {
  for (const session of sessions) decide(state, { kind: 'lost', session, forGood: true }, nowMs);
}

/** Makes the floor out of what each relay told of its own sessions. */
export function makeAnew(state: SharedState, home: HomeSide, nowMs: number): void {
  home.quietly(() => make(state, home, nowMs));
  tellOthers(state, nowMs);
}

function make(state: SharedState, home: HomeSide, nowMs: number): void {
  const { services, turnsHere } = state;
  services.shared.rebuilt++;
  const before = state.floor;
  const own = state.ownClaims();
  const { played } = turnsHere;
  const isLeft = played !== null && state.of(played.claim.session).left !== null; // of it there is a claim already
  const others = home
    .claims(before, (session) => state.of(session).turn, isLeft ? null : played)
    .map((claim) => asHeard(state, claim));
  const isStale = (session: number) => home.isStale(session, nowMs);
  const built = rebuild([...own, ...others], before, isStale, nowMs);
  home.restart(TURN_GAP, turnsHere.seen);
  const asked = new Map(state.records.asks.map(({ claim, sinceMs }) => [claim.session, sinceMs]));
  for (const [, record] of state.records.all()) record.ask = null;
  const outcomes: Outcome[] = [];
  for (const { claim, code } of built.ended) {
    if (home.isForeign(claim.session)) home.refuse(claim.session, { is: 'revoked', code });
    else outcomes.push(...takenFrom(holderFrom(claim, nowMs), code));
  }
  for (const { claim, code } of built.denied) {
    if (home.isForeign(claim.session)) home.refuse(claim.session, { is: 'denied', code });
    else outcomes.push({ kind: 'denied', session: claim.session, code });
  }
  if (built.kept !== null) turnAnew(state, home, built.kept.session);
  if (built.kept !== null && home.isForeign(built.kept.session)) {
    state.record(built.kept.session).asked = built.kept.ask;
    home.refused.forget(built.kept.session);
  }
  take(state, { floor: built.floor, outcomes }, { event: { kind: 'tick' } }, nowMs);
  const [holder] = state.floor.holders;
  if (holder !== undefined && holder.claim.session === built.kept?.session)
    tellTurn(state, home, holder, nowMs);
  for (const claim of built.asks) {
    const { session, ask } = claim;
    if (!home.isForeign(session)) state.record(session).asked = ask;
    decide(state, eventOf(claim), nowMs, { kind: 'tick' });
    state.answersAt(session, asked.get(session) ?? nowMs);
    if (!state.has(session)) state.forget(session);
  }
  const served = serve(state.floor, nowMs, services.limits);
  for (const place of placesToTell([], served.floor.waiting)) {
    const known = state.of(place.session).queued;
    if (state.isOwn(place.session) && known?.position !== place.position)
      state.tell([{ kind: 'queued', ...place }], nowMs);
  }
  if (served.floor !== state.floor) take(state, served, { event: { kind: 'tick' } }, nowMs);
  tellOthers(state, nowMs);
}
