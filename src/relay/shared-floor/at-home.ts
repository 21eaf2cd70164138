// What a home decides when a session of its own relay wants something, and when it hears that a burst ended.
import type { EndCode } from '../../protocol/codes.js';
import { compareTurns, type Turn } from '../../protocol/turn.js';
import { type FloorEvent, holderOf } from '../floor/state.js';
import { tellOthers } from './answering.js';
import { decide } from './deciding.js';
import type { HomeSide } from './home-side.js';
import { lateGrants } from './own-claims.js';
import { eventOf } from './parts.js';
import type { SharedState } from './state.js';

/** Applies what a session of this relay wants. A claim keeps the number of the question with which it began. */
export function decideOwn(state: SharedState, event: FloorEvent, nowMs: number): void {
  if (event.kind !== 'request' && event.kind !== 'frame') return decide(state, event, nowMs);
  const { session } = event.claim;
  state.record(session).asked ??= state.services.nextAsk();
  decide(state, event, nowMs);
  state.answersAt(session, nowMs);
  if (!state.has(session)) state.forget(session);
}

/** The stream of another relay says that this burst ended. */
export function hearEnd(
  state: SharedState,
  home: HomeSide,
  { session, turn, code }: { readonly session: number; readonly turn: Turn; readonly code: EndCode },
  nowMs: number,
): void {
  const known = state.of(session).turn;
  if (state.isOwn(session) || known === null || compareTurns(known, turn) !== 0) return;
  if (holderOf(state.floor, session) === undefined) return;
  decide(state, { kind: 'release', session, code: 'released' }, nowMs);
  home.endCode = code;
  tellOthers(state, nowMs);
}

/** Takes back grants that were held back for too long: their sessions wait for an answer. */
export function denyLate(state: SharedState, nowMs: number): void {
  for (const denied of lateGrants(state, nowMs)) {
    state.tell([denied], nowMs);
    decide(state, { kind: 'lost', session: denied.session, forGood: true }, nowMs);
  }
}

/** The mode is `open` from now on: this relay decides for its own sessions alone, also what they asked another home. */
export function openFloor(state: SharedState, event: FloorEvent, nowMs: number): void {
  const asks = state.ownClaims().filter((one) => one.state === 'asks');
  for (const [, record] of state.records.all())
    Object.assign(record, { ask: null, turn: null, placed: null, isAlone: false });
  decide(state, event, nowMs);
  state.beginHeld(nowMs);
  for (const claim of asks) {
    state.record(claim.session).asked = claim.ask;
    decideOwn(state, eventOf(claim), nowMs);
  }
}
