// Follows the verdicts of the home about what the sessions of this relay have of a floor that another relay decides.

import type { RevokeCode } from '../../protocol/codes.js';
import { compareTurns } from '../../protocol/turn.js';
import { priorityOf } from '../floor/claim.js';
import { endOf, type Holder, holderOf, type Outcome, takenFrom, waitingOf } from '../floor/state.js';
import type { PartVerdict } from './bodies.js';
import { deny, UNPLACED, without } from './own-claims.js';
import type { SharedState } from './state.js';

/**
 * The verdicts of the home about the claims of this relay. `isWhole`: there is one for each of its claims. true: they
 * changed something that the home must be told.
 */
export function followVerdicts(
  state: SharedState,
  verdicts: readonly PartVerdict[],
  isWhole: boolean,
  nowMs: number,
): boolean {
  let isChanged = false;
  // Those that take something away come first: one has the floor at a time.
  for (const verdict of verdicts)
    if (verdict.is === 'denied' || verdict.is === 'revoked')
      isChanged = refused(state, verdict, nowMs) || isChanged;
  for (const verdict of verdicts) {
    // The relay to which it moved follows it.
    if (state.of(verdict.session).left !== null) continue;
    if (verdict.is === 'granted') {
      // The verdict that takes the floor from another session here may be missing among these.
      const isBeside = state.floor.holders.some(({ claim }) => claim.session !== verdict.session);
      if (isWhole || !isBeside) isChanged = granted(state, verdict, nowMs) || isChanged;
    } else if (verdict.is === 'queued') isChanged = queued(state, verdict, nowMs) || isChanged;
  }
  return isChanged;
}

type Of<Is extends PartVerdict['is']> = Extract<PartVerdict, { readonly is: Is }>;

function refused(state: SharedState, verdict: Of<'denied' | 'revoked'>, nowMs: number): boolean {
  const { session } = verdict;
  const one = state.of(session).ask;
  const before = state.floor;
  if (state.of(session).left !== null) return letGo(state, verdict);
  if (one !== null) {
    if (one.ask !== verdict.ask) return false;
    const { isFirstFrame } = one;
    const code = verdict.is === 'denied' ? verdict.code : 'busy';
    state.services.counts.denied[code]++;
    if (isFirstFrame) state.deniedPresses.add(one.claim.user, code, nowMs);
    deny(state, { kind: 'denied', session, code, isFirstFrame }, nowMs);
    return true;
  }
  if (state.of(session).asked !== verdict.ask) return false;
  const holder = holderOf(before, session);
  if (holder === undefined && waitingOf(before, session) === undefined) return false;
  state.floor = without(before, session);
  const outcomes: Outcome[] =
    holder !== undefined
      ? endedBy(holder, verdict, state.isHeld(session))
      : [{ kind: 'denied', session, code: verdict.is === 'denied' ? verdict.code : 'busy' }];
  state.count(before, { kind: 'tick' }, outcomes, nowMs);
  state.carry(before, outcomes, UNPLACED, nowMs);
  return true;
}

/** Another relay tells the claim of a session that left, or it is over: nothing is kept of it. */
function letGo(state: SharedState, { session, ask }: Of<'denied' | 'revoked'>): boolean {
  if (state.of(session).asked !== ask) return false;
  state.floor = without(state.floor, session);
  state.records.forget(session);
  return true;
}

/** `isHeld`: its session waits for the answer to its question. */
function endedBy(holder: Holder, verdict: Of<'denied' | 'revoked'>, isHeld: boolean): Outcome[] {
  const code = verdict.is === 'revoked' ? codeFor(holder, verdict.code) : 'collision';
  // The home gave up waiting for the talker's return: it measures the same time.
  if (code === 'collision' && holder.lostAtMs !== null && !isHeld) return endOf(holder, 'disconnected');
  return takenFrom(holder, code);
}

/** The first frame came while the home took the grant for unused. */
const codeFor = ({ startedAtMs }: Holder, code: RevokeCode): RevokeCode =>
  code === 'unused' && startedAtMs !== null ? 'collision' : code;

function queued(state: SharedState, { session, ask, position, size }: Of<'queued'>, nowMs: number): boolean {
  const one = state.of(session).ask;
  const place = waitingOf(state.floor, session);
  if (one === null) {
    if (place === undefined || state.of(session).asked !== ask) return false;
    const isMoved = state.of(session).queued?.position !== position;
    state.record(session).queued = { position, size };
    if (isMoved && place.lostAtMs === null) state.tell([{ kind: 'queued', session, position, size }], nowMs);
    return false;
  }
  if (one.ask !== ask) return false;
  Object.assign(state.record(session), { ask: null, asked: ask });
  if (place === undefined) state.services.counts.queued++;
  const waiting = { ...one.claim, sinceMs: one.askedAtMs, lostAtMs: null };
  const { floor } = state;
  state.floor = { ...floor, waiting: [...floor.waiting.filter((each) => each !== place), waiting] };
  state.tell([{ kind: 'queued', session, position, size }], nowMs);
  return true;
}

function granted(state: SharedState, verdict: Of<'granted'>, nowMs: number): boolean {
  const { session } = verdict;
  const before = state.floor;
  const held = holderOf(before, session);
  if (held !== undefined)
    return state.of(session).asked === verdict.ask && confirm(state, held, verdict, nowMs);
  const one = state.of(session).ask;
  const place = waitingOf(before, session);
  const claim = one?.claim ?? place;
  const number = one?.ask ?? state.of(session).asked;
  if (claim === undefined || number !== verdict.ask) return false;
  const { user, isAdmin } = claim;
  const { priority, inEmergency, talkMsMax } = verdict;
  const asking = { session, user, priority, isAdmin, inEmergency };
  const holder: Holder = {
    claim: asking,
    priority: priorityOf(asking),
    grantedAtMs: nowMs,
    toldAgainAtMs: null,
    startedAtMs: one?.isFirstFrame ? nowMs : null,
    talkMsMax,
    lostAtMs: one === null ? (place?.lostAtMs ?? null) : null,
  };
  Object.assign(state.record(session), { ask: null, asked: verdict.ask, turn: verdict.turn });
  const rest = without(before, session);
  state.floor = { ...rest, holders: [...rest.holders, holder] };
  const outcomes: Outcome[] = [{ kind: 'granted', holder }];
  if (one?.isFirstFrame) outcomes.push({ kind: 'started', holder });
  state.count(before, { kind: 'tick' }, outcomes, nowMs);
  state.carry(before, outcomes, { isFirstFrame: one?.isFirstFrame ?? false, placedOf: () => verdict }, nowMs);
  if (one !== null) state.answersAt(session, one.sinceMs);
  return true;
}

/** The grant has another turn, or other limits. The home must know that they were adopted. */
function confirm(state: SharedState, held: Holder, verdict: Of<'granted'>, nowMs: number): boolean {
  const { session, turn, priority, inEmergency, talkMsMax } = verdict;
  const known = state.of(session).turn;
  if (known !== null && compareTurns(turn, known) < 0) return false;
  const isNew = known === null || compareTurns(known, turn) < 0;
  state.record(session).turn = turn;
  state.record(session).isAlone = false;
  if (state.isHeld(session)) state.orderAgain(session, verdict, nowMs);
  else if (isNew && held.startedAtMs !== null) state.renew(session, verdict, nowMs);
  else if (isNew) state.record(session).placed = verdict;
  const claim = { ...held.claim, priority, inEmergency };
  const isSame = talkMsMax === held.talkMsMax && priorityOf(claim) === held.priority;
  if (isSame && inEmergency === held.claim.inEmergency) return isNew;
  const holder = { ...held, claim, priority: priorityOf(claim), talkMsMax };
  const { floor } = state;
  state.floor = { ...floor, holders: floor.holders.map((one) => (one === held ? holder : one)) };
  if (!state.isHeld(session)) state.tell([{ kind: 'changed', holder }], nowMs);
  return true;
}
