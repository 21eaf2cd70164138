// Tells the other relays what the home decided about the claims of their sessions, and asks for these claims.

import { NO_TURN } from '../../protocol/turn.js';
import { holderOf } from '../floor/state.js';
import type { PartClaim, PartVerdict, Placed } from './bodies.js';
import type { HomeSide } from './home-side.js';
import { settingsOf } from './parts.js';
import type { SharedState } from './state.js';

/** The place of the grant of this session. */
export function placedAt(state: SharedState, session: number): Placed | null {
  const turn = state.of(session).turn;
  if (turn === null || state.home === null) return null;
  const { placed } = state.home;
  if (placed !== null && placed.turn === turn) return placed;
  return { turn, after: NO_TURN, afterCode: 'preempted' };
}

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
export function answer(
  state: SharedState,
  home: HomeSide,
  relay: number,
  isAsked: boolean,
  nowMs: number,
): void {
  const { v, verdicts } = verdictsFor(state, home, relay);
  const isNews = home.sent.isNews(relay, v, verdicts, nowMs);
  if (v === 0 || !(isNews || isAsked)) return;
  const { talkgroup, services } = state;
  const { link } = services;
  link.sendVerdicts(talkgroup, relay, { settings: settingsOf(talkgroup), v, verdicts });
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

/** Asks for the parts that are missing. */
export function askForParts(state: SharedState, home: HomeSide, nowMs: number): void {
  const { talkgroup, services } = state;
  const { link, bursts, mayAskIdle } = services;
  const isUsed = !state.isIdle || bursts.remoteIn(talkgroup).size > 0;
  for (const relay of home.toAsk(isUsed, mayAskIdle, nowMs))
    link.want(talkgroup, relay, settingsOf(talkgroup));
}
