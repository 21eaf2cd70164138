// Lets the claim of a session go with it to another relay, and go on there.

import type { EndCode } from '../../protocol/codes.js';
import { NO_TURN } from '../../protocol/turn.js';
import { LOST_MS_MAX } from '../floor/expiry.js';
import { inOrder, type Waiting } from '../floor/queue.js';
import { type Holder, holderOf, waitingOf } from '../floor/state.js';
import type { MovedClaim, PartClaim } from './bodies.js';
import type { HomeSide } from './home-side.js';
import { without } from './own-claims.js';
import { holderFrom, waitingFrom, withAges } from './parts.js';
import type { SharedState } from './state.js';

/** What a claim has that came. `over`: it ends now, with this code. */
export type Entered = PartClaim['state'] | { readonly over: EndCode };

/** The claim as it leaves. null: it does not move, because no home has placed it. The socket counts as dead from now on. */
export function leaving(state: SharedState, session: number, nowMs: number): MovedClaim | null {
  if (state.isOpen || state.of(session).ask !== null) return null;
  const holder = holderOf(state.floor, session);
  const { placed, turn } = state.of(session);
  if (holder === undefined && waitingOf(state.floor, session) === undefined) return null;
  if (holder !== undefined && (placed === null || turn === null)) return null;
  const claim = state.ownClaims().find((one) => one.session === session);
  if (claim === undefined) return null;
  state.record(session).left = claim.moves ?? 0;
  state.drop(session);
  const place = placeOf(state, session);
  const dead = { ...claim, lostMs: claim.lostMs ?? nowMs };
  return { claim: withAges(dead, nowMs), placed, ...(place && { place }) };
}

/** undefined: it is not queued, or was told of no place. */
function placeOf(state: SharedState, session: number): MovedClaim['place'] {
  if (!state.decides) return state.of(session).queued ?? undefined;
  const { waiting } = state.floor;
  const at = waiting.findIndex((one) => one.session === session);
  return at < 0 ? undefined : { position: at + 1, size: waiting.length };
}

/**
 * The claim of a session of this relay that came from another one, unless it is over. `isStrange`: this relay is the home,
 * and the floor must be made anew.
 */
export function entering(
  state: SharedState,
  moved: MovedClaim,
  ask: number,
  nowMs: number,
): { readonly is: Entered; readonly isStrange: boolean } {
  const { home } = state;
  const claim = withAges(moved.claim, nowMs);
  const { session } = claim;
  const isGathered = home?.isGathered === true;
  const isStrange = isGathered && home.isStrange([claim], state.floor);
  const refused = home?.own(session) ?? null;
  // What is left of it from before it moved away is older than what comes, but where it is the word of the home.
  if (state.comesBack(session) && !isGathered) state.floor = without(state.floor, session);
  const holder = holderOf(state.floor, session);
  const place = waitingOf(state.floor, session);
  const lostAtMs = claim.lostMs ?? nowMs;
  if (nowMs - lostAtMs >= LOST_MS_MAX) {
    keep(state, session, holder && { ...holder, lostAtMs }, place && { ...place, lostAtMs });
    return { is: { over: 'disconnected' }, isStrange: false };
  }
  if (isGathered && !isStrange && holder === undefined && place === undefined)
    return { is: { over: codeOf(refused) }, isStrange };
  state.record(session).asked = ask;
  if (claim.state === 'waits' && holder === undefined) {
    keep(state, session, undefined, { ...(place ?? waitingFrom(claim, nowMs)), lostAtMs });
    if (moved.place !== undefined && !isGathered) state.record(session).queued = moved.place;
    return { is: 'waits', isStrange };
  }
  const known = holder ?? holderFrom(claim, nowMs);
  const { startedMs: startedAtMs } = claim;
  keep(state, session, { ...known, startedAtMs, lostAtMs }, undefined);
  placeAt(state, session, { claim, placed: moved.placed }, startedAtMs !== null, nowMs);
  return { is: startedAtMs === null ? 'has' : 'talks', isStrange };
}

const codeOf = (refused: ReturnType<HomeSide['own']>): EndCode =>
  refused?.is !== 'revoked' || refused.code === 'unused' ? 'collision' : refused.code;

/** The session has this of the floor, and nothing else. */
function keep(
  state: SharedState,
  session: number,
  holder: Holder | undefined,
  place: Waiting | undefined,
): void {
  const { holders, waiting, ...rest } = without(state.floor, session);
  state.floor = {
    ...rest,
    holders: holder === undefined ? holders : [...holders, holder],
    waiting: place === undefined ? waiting : inOrder([...waiting, place]),
  };
}

/** A grant that has not begun waits for the end of earlier bursts, as it did before. */
function placeAt(
  state: SharedState,
  session: number,
  { claim, placed }: MovedClaim,
  hasBegun: boolean,
  nowMs: number,
): void {
  const turn = state.of(session).turn ?? claim.turn;
  state.record(session).turn = turn;
  if (turn === null) return;
  const now = { ...(placed ?? { after: NO_TURN, afterCode: 'preempted' }), turn };
  if (hasBegun) state.record(session).placed = now;
  else state.order(session, now, nowMs);
}
