// Decides a floor at its home: steps the machine with the claims of this relay's sessions and with the parts of the others.
import { laterTurn, NO_TURN, type Turn } from '../../protocol/turn.js';
import { limitsBeside } from '../floor/capacity.js';
import { serveQueue, step } from '../floor/machine.js';
import { placesToTell } from '../floor/queue.js';
import {
  type FloorEvent,
  type Holder,
  holderOf,
  type Outcome,
  type Step,
  takenFrom,
} from '../floor/state.js';
import { type HomeSide, TURN_GAP } from './home-side.js';
import type { Placed } from './link.js';
import {
  arrivals,
  bare,
  claimsOf,
  eventOf,
  type Part,
  type PartClaim,
  type PartVerdict,
  partDiff,
} from './parts.js';
import { rebuild } from './rebuild.js';
import { type SharedState, sessionOf } from './state.js';

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
  renewOwn(state, event, nowMs);
  const before = state.floor;
  const after = step(before, isOwn ? state.forHeld(event) : event, nowMs, limits);
  take(state, after, { event, counted: isOwn ? counted : { kind: 'tick' } }, nowMs);
}

/** A session of this relay begins: its turn must be above what played here since it was granted. */
function renewOwn(state: SharedState, event: FloorEvent, nowMs: number): void {
  if (event.kind !== 'frame' || state.home === null) return;
  const { session } = event.claim;
  const held = holderOf(state.floor, session);
  const turn = state.turns.get(session) ?? null;
  if (held === undefined || held.startedAtMs !== null || state.isHeld(session) || turn === null) return;
  if (state.isOwn(session) && state.turnsHere.isPast(turn)) turnAgain(state, state.home, held, nowMs);
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
      const after = begun(state, home);
      const turn = home.give(state.turnsHere.seen);
      state.turns.set(session, turn);
      home.placed = { turn, after, afterCode: home.endCode };
    }
    if (state.isOwn(session)) continue;
    if (outcome.kind === 'denied') home.refuse(session, { is: 'denied', code: outcome.code });
    if (outcome.kind === 'revoked') home.refuse(session, { is: 'revoked', code: outcome.code });
  }
}

/** The last turn with which a burst began, as far as this relay knows. */
const begun = (state: SharedState, home: HomeSide): Turn => laterTurn(home.begun, state.turnsHere.seen);

/** The place of the grant of this session. */
function placedAt(state: SharedState, session: number): Placed | null {
  const turn = state.turns.get(session) ?? null;
  if (turn === null || state.home === null) return null;
  const { placed } = state.home;
  if (placed !== null && placed.turn === turn) return placed;
  return { turn, after: NO_TURN, afterCode: 'preempted' };
}

/**
 * Gives the holder a turn above all that were heard of. It waits for nothing: a relay that plays the burst goes on, and what
 * another one plays ends soon.
 */
function turnAnew(state: SharedState, home: HomeSide, session: number): void {
  const turn = home.give(state.turnsHere.seen);
  home.placed = { turn, after: NO_TURN, afterCode: 'preempted' };
  state.turns.set(session, turn);
  state.alone.delete(session);
}

/** The relays hear of the new turn. */
function tellTurn(state: SharedState, home: HomeSide, { claim, startedAtMs }: Holder, nowMs: number): void {
  const { session } = claim;
  const { placed } = home;
  if (placed !== null && state.isOwn(session)) {
    if (state.isHeld(session)) state.placeAgain(session, placed, nowMs);
    else if (startedAtMs !== null) state.renew(session, placed, nowMs);
    else state.placed.set(session, placed);
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
  const turn = state.turns.get(holder.claim.session) ?? null;
  const top = laterTurn(home.top, state.turnsHere.top);
  const isAhead =
    turn !== null && turn.count >= top.count && (turn.count > top.count || turn.home >= top.home);
  if (isAhead && !(isFenced && holder.startedAtMs !== null)) {
    for (const [session, placed] of state.heldGrants()) state.placeAgain(session, placed, nowMs);
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
  const before = home.heard(from, part, claims, (claim) => state.isOvertaken(claim), nowMs);
  if (before === null) return;
  for (const { session } of home.claimsFrom(from)) if (state.left.has(session)) state.disown(session);
  if (!home.isGathered) {
    if (home.isComplete(nowMs)) makeAnew(state, home, nowMs);
    return;
  }
  // No verdict leaves before the whole part is taken: a claim that follows in it may change everything.
  home.quietly(() => {
    const told = home.claimsFrom(from);
    const known = (before?.claims ?? []).filter(({ session }) => home.isOf(session, from));
    if (home.isStrange(told, state.floor)) makeAnew(state, home, nowMs);
    else if (before?.v !== part.v) {
      for (const event of partDiff(known, told)) if (applies(state, home, event)) decide(state, event, nowMs);
      for (const event of arrivals(state.floor, known, told)) decide(state, event, nowMs);
    }
    keepAhead(state, part.isFenced, nowMs);
  });
  home.tidy(from);
  tellOthers(state, nowMs);
  // A part that is repeated was not answered, or the answer was lost.
  answer(state, home, from, before?.v === part.v, nowMs);
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
  const { services, talkgroup, turnsHere } = state;
  services.link.rebuilt?.();
  const before = state.floor;
  const own = claimsOf(before, state.asks.values(), state, state.isOwn);
  const others = home.claims(before, state.turns, turnsHere.played);
  const settings = services.link.settings(talkgroup);
  const built = rebuild(
    [...own, ...others],
    { ...settings, mode: before.mode, maxTalkMs: before.maxTalkMs },
    nowMs,
  );
  home.restart(TURN_GAP, turnsHere.seen);
  state.asks.clear();
  const outcomes: Outcome[] = [];
  for (const { claim, code } of built.ended) {
    if (home.isForeign(claim.session)) home.refuse(claim.session, { is: 'revoked', code });
    else outcomes.push(...takenFrom(holderOf(before, claim.session) ?? holderOfNone(claim), code));
  }
  for (const { claim, code } of built.denied) {
    if (home.isForeign(claim.session)) home.refuse(claim.session, { is: 'denied', code });
    else outcomes.push({ kind: 'denied', session: claim.session, code });
  }
  if (built.kept !== null) turnAnew(state, home, built.kept.session);
  take(state, { floor: built.floor, outcomes }, { event: { kind: 'tick' } }, nowMs);
  const [holder] = state.floor.holders;
  if (holder !== undefined && holder.claim.session === built.kept?.session)
    tellTurn(state, home, holder, nowMs);
  for (const claim of built.asks) {
    const { session, ask } = claim;
    if (!home.isForeign(session)) state.asked.set(session, ask);
    decide(state, eventOf(claim), nowMs, { kind: 'tick' });
    if (!state.has(session)) state.forget(session);
  }
  const served = serveQueue(state.floor, nowMs, services.limits);
  for (const place of placesToTell([], served.floor.waiting)) {
    const known = state.places.get(place.session);
    if (state.isOwn(place.session) && (known?.position !== place.position || known.size !== place.size))
      state.tell([{ kind: 'queued', ...place }], nowMs);
  }
  if (served.floor !== state.floor) take(state, served, { event: { kind: 'tick' } }, nowMs);
  tellOthers(state, nowMs);
}

const holderOfNone = (claim: PartClaim): Holder => ({
  ...{ claim: bare(claim), priority: claim.priority, grantedAtMs: 0, toldAgainAtMs: null },
  ...{ startedAtMs: null, talkMsMax: 0, lostAtMs: null },
});

function verdictsFor(state: SharedState, home: HomeSide, relay: number) {
  const granted = ({ session, ask }: PartClaim): PartVerdict => {
    const held = holderOf(state.floor, session);
    const placed = placedAt(state, session) ?? { turn: NO_TURN, after: NO_TURN, afterCode: 'released' };
    const { priority = 0, inEmergency = false } = held?.claim ?? {};
    return { session, ask, is: 'granted', ...placed, priority, inEmergency, talkMsMax: held?.talkMsMax ?? 0 };
  };
  return home.verdictsFor(relay, state.floor, granted);
}

/** Tells a relay what became of its claims. `isAsked`: also when it has been told. */
function answer(state: SharedState, home: HomeSide, relay: number, isAsked: boolean, nowMs: number): void {
  const { v, verdicts } = verdictsFor(state, home, relay);
  const isNews = home.sent.isNews(relay, v, verdicts, nowMs);
  if (v === 0 || !(isNews || isAsked)) return;
  const { talkgroup, services } = state;
  const { link } = services;
  link.sendVerdicts(talkgroup, relay, { settings: link.settings(talkgroup), v, verdicts });
}

/** Tells the other relays, those to which something is new. */
export function tellOthers(state: SharedState, nowMs: number): void {
  const { home } = state;
  if (home === null || !home.isGathered || home.isQuiet) return;
  for (const relay of home.relays()) answer(state, home, relay, false, nowMs);
}

/** Repeats verdicts that changed a moment ago. */
export function repeatVerdicts(state: SharedState, beforeMs: number, nowMs: number): void {
  const { home } = state;
  if (home === null || !home.isGathered) return;
  for (const relay of home.sent.toRepeat(nowMs, beforeMs)) answer(state, home, relay, true, nowMs);
}
