// Floor control of one talkgroup as a pure state machine: (floor, event, now) -> { floor, outcomes }.
//
// It knows sessions by their numbers, and neither sockets nor a clock. The frames of a running burst never come here:
// only its edges do, so nothing of this is on the hot path. Nobody who is there waits for what a request of his would
// get him now: every step ends with that.

import type { EndCode, FloorMode, RevokeCode } from '../protocol/codes.js';
import { type Claim, FRAME_PRIORITY, mayTalkIn, preempts, priorityOf } from './claim.js';
import { inOrder, placesToTell, queued, type Waiting } from './queue.js';
import { inTurn, mayWait, roomFor, type TalkLimits } from './room.js';

export { type Claim, FRAME_PRIORITY, priorityOf } from './claim.js';
export { WAITING_MAX, type Waiting } from './queue.js';
export type { TalkLimits } from './room.js';

/** A grant without a frame is revoked after this time (ms). */
export const UNUSED_MS_MAX = 2000;
/** The floor of a talker whose socket died is kept so long for its return. */
export const LOST_MS_MAX = 1500;
/** T2 of a talker in an emergency. */
export const EMERGENCY_TALK_MS_MAX = 120_000;

/** Somebody who has the floor; in `open` there may be many, else at most one. */
export interface Holder {
  readonly claim: Claim;
  readonly priority: number;
  readonly grantedAtMs: number;
  /** When its first return repeated the grant (ms), null: never. An unused grant counts from here; no later return moves it. */
  readonly toldAgainAtMs: number | null;
  /** null until the first frame. */
  readonly startedAtMs: number | null;
  /** T2 of this grant (ms), 0: none. Nothing shortens it later; an emergency raised in a burst may lengthen it. */
  readonly talkMsMax: number;
  /** When its socket died, null while it lives. */
  readonly lostAtMs: number | null;
}

export interface Floor {
  readonly mode: FloorMode;
  /** T2 of the talkgroup (ms), 0: none; `open` has none. */
  readonly maxTalkMs: number;
  /** In the order of their grants. */
  readonly holders: readonly Holder[];
  /** In the order in which they will be served. */
  readonly waiting: readonly Waiting[];
}

export const emptyFloor = (mode: FloorMode, maxTalkMs: number): Floor => ({
  mode,
  maxTalkMs,
  holders: [],
  waiting: [],
});

/** Who has the floor under this number. */
export const holderOf = (floor: Floor, session: number) =>
  floor.holders.find(({ claim }) => claim.session === session);

/** Who waits under this number. */
export const waitingOf = (floor: Floor, session: number) =>
  floor.waiting.find((one) => one.session === session);

/** Nobody has it and nobody waits for it: no tick would change it. */
export const isIdle = ({ holders, waiting }: Floor) => holders.length === 0 && waiting.length === 0;

export type FloorEvent =
  /** FLOOR_REQUEST, with `queue` when it would wait. */
  | { readonly kind: 'request'; readonly claim: Claim; readonly queue: boolean }
  /** The first frame of a burst: the request of somebody who did not ask, the start of somebody who did. */
  | { readonly kind: 'frame'; readonly claim: Claim }
  /** END, FLOOR_RELEASE, or silence of T1 in a running burst. A START inside a burst is this, then its frame. */
  | { readonly kind: 'release'; readonly session: number; readonly code: 'released' | 'silence' }
  /** The right to talk is gone, or its user's sockets together send too much. */
  | { readonly kind: 'removed'; readonly session: number; readonly code: Removal }
  /** The socket died; `forGood` when its owner said so. Until it returned nothing else comes from this session. */
  | { readonly kind: 'lost'; readonly session: number; readonly forGood: boolean }
  /** The session has another socket, whether or not the old one was seen to die. */
  | { readonly kind: 'returned'; readonly session: number }
  /** Of the talkgroup. */
  | { readonly kind: 'settings'; readonly mode: FloorMode; readonly maxTalkMs: number }
  | EmergencyChange
  | { readonly kind: 'tick' };

export type Removal = 'left' | 'deleted' | 'disabled' | 'rate_limited';

/** An emergency of these sessions' user was raised or cleared. */
interface EmergencyChange {
  readonly kind: 'emergency';
  readonly sessions: ReadonlySet<number>;
  readonly inEmergency: boolean;
}

/** What to announce, each exactly once, in this order. */
export type Outcome =
  | { readonly kind: 'granted'; readonly holder: Holder }
  | { readonly kind: 'started'; readonly holder: Holder }
  | { readonly kind: 'denied'; readonly session: number; readonly code: 'busy' | 'queue_full' | 'forbidden' }
  /** The place of one who waits and is there: a new one, or an answer to a request or a return. */
  | { readonly kind: 'queued'; readonly session: number; readonly position: number; readonly size: number }
  /** Of a grant taken back by the server; `ended` follows when a burst was running. */
  | { readonly kind: 'revoked'; readonly session: number; readonly code: RevokeCode }
  /** Of a burst that had begun. */
  | { readonly kind: 'ended'; readonly session: number; readonly code: EndCode }
  /** An emergency began or ended, and with it the priority of this grant. */
  | { readonly kind: 'changed'; readonly holder: Holder };

export interface Step {
  readonly floor: Floor;
  readonly outcomes: readonly Outcome[];
}

/** One event. Never throws; an event that does not apply returns the same floor. */
export function step(floor: Floor, event: FloorEvent, nowMs: number, limits: TalkLimits): Step {
  const applied = apply(floor, event, nowMs, limits);
  if (applied.floor === floor) return applied;
  const served = both(applied, serve(applied.floor, nowMs, limits));
  const places = placesToTell(floor.waiting, served.floor.waiting);
  const queued = places.map((place): Outcome => ({ kind: 'queued', ...place }));
  return both(served, { floor: served.floor, outcomes: queued });
}

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
      return tick(floor, nowMs);
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

/** Who neither has the floor nor gets it is refused without another effect: if he waits, he keeps his place. */
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

const unchanged = (floor: Floor): Step => ({ floor, outcomes: [] });

const both = (first: Step, second: Step): Step => ({
  floor: second.floor,
  outcomes: [...first.outcomes, ...second.outcomes],
});

const denied = (floor: Floor, session: number, code: 'busy' | 'queue_full' | 'forbidden'): Step => ({
  floor,
  outcomes: [{ kind: 'denied', session, code }],
});

const refusalOf = ({ mode }: Floor, claim: Claim) => (mayTalkIn(mode, claim) ? 'busy' : 'forbidden');

/** The floor granted to the claim, or null when the mode forbids that or others keep it. */
function contend(floor: Floor, claim: Claim, nowMs: number, limits: TalkLimits): Step | null {
  if (!mayTalkIn(floor.mode, claim)) return null;
  const place = placeFor(floor, claim, limits);
  if (place === null) return null;
  if (place === 'free') return grant(floor, claim, nowMs);
  const granted = grant({ ...floor, holders: floor.holders.filter((one) => one !== place) }, claim, nowMs);
  return { floor: granted.floor, outcomes: [...takenFrom(place, 'preempted'), ...granted.outcomes] };
}

/** The holder who must give way to the claim, if one must; null: the claim has to give way. */
function placeFor({ mode, holders }: Floor, claim: Claim, limits: TalkLimits): 'free' | Holder | null {
  if (mode === 'open') return roomFor(holders, claim, limits);
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

/** The server takes a grant back. */
function takenFrom(holder: Holder, code: RevokeCode): Outcome[] {
  const revoked: Outcome = { kind: 'revoked', session: holder.claim.session, code };
  return code === 'unused' ? [revoked] : [revoked, ...endOf(holder, code)];
}

const endOf = (holder: Holder, code: EndCode): Outcome[] =>
  holder.startedAtMs === null ? [] : [{ kind: 'ended', session: holder.claim.session, code }];

function wait(floor: Floor, claim: Claim, nowMs: number): Step {
  const waiting = queued(floor.waiting, claim, nowMs);
  return waiting === null ? denied(floor, claim.session, 'queue_full') : unchanged({ ...floor, waiting });
}

/** Takes the session out of the queue. */
function withdraw(floor: Floor, session: number): Floor {
  const waiting = floor.waiting.filter((one) => one.session !== session);
  return waiting.length === floor.waiting.length ? floor : { ...floor, waiting };
}

/** Gives the floor to those in the queue who are there and would get it if they asked now. */
function serve(floor: Floor, nowMs: number, limits: TalkLimits): Step {
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

/** Ends the session's grant or its waiting; of a grant `tell` says what there is to announce. */
function leave(floor: Floor, session: number, tell: (holder: Holder) => readonly Outcome[]): Step {
  const held = holderOf(floor, session);
  if (held === undefined) return unchanged(withdraw(floor, session));
  return { floor: { ...floor, holders: floor.holders.filter((one) => one !== held) }, outcomes: tell(held) };
}

function release(floor: Floor, { session, code }: { session: number; code: 'released' | 'silence' }): Step {
  if (code === 'released') return leave(floor, session, (holder) => endOf(holder, code));
  // Who waits or was just granted is silent by right.
  if ((holderOf(floor, session)?.startedAtMs ?? null) === null) return unchanged(floor);
  return leave(floor, session, (holder) => takenFrom(holder, code));
}

function lose(
  floor: Floor,
  { session, forGood }: { session: number; forGood: boolean },
  nowMs: number,
): Step {
  if (!forGood && floor.mode !== 'open') return markLost(floor, session, nowMs);
  return leave(floor, session, (holder) => endOf(holder, 'disconnected')); // nobody is there to hear `revoked`
}

/** The socket died now; a session already marked keeps its time. */
function markLost(floor: Floor, session: number, nowMs: number): Step {
  const marked = holderOf(floor, session) ?? waitingOf(floor, session);
  return unchanged(marked?.lostAtMs === null ? replace(floor, marked, { lostAtMs: nowMs }) : floor);
}

/** Repeats the answer that may have gone into the old socket. A running burst is in the snapshots, so it is not repeated. */
function comeBack(floor: Floor, session: number, nowMs: number): Step {
  const place = waitingOf(floor, session);
  if (place !== undefined) return unchanged(replace(floor, place, { lostAtMs: null })); // `step` tells the copy its place
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

function settle(floor: Floor, { mode, maxTalkMs }: { mode: FloorMode; maxTalkMs: number }): Step {
  if (mode === floor.mode && maxTalkMs === floor.maxTalkMs) return unchanged(floor);
  return enforce({ ...floor, mode, maxTalkMs });
}

/** Ends what the mode forbids; where one talks at a time the oldest of the allowed bursts stays. */
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

/** Bursts by their start, before grants without a frame. */
const byAge = (a: Holder, b: Holder) =>
  (a.startedAtMs ?? Number.MAX_VALUE) - (b.startedAtMs ?? Number.MAX_VALUE);

/** Whoever has the floor or waits takes part at once, and preempts if that is what he may now. */
function followEmergency(floor: Floor, { sessions, inEmergency }: EmergencyChange): Step {
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

/** Who calls for help while he talks is not cut off by the limit he began with, and keeps the new one to the end. */
function raised(holder: Holder): Holder {
  const claim = { ...holder.claim, inEmergency: true };
  const talkMsMax = holder.talkMsMax === 0 ? 0 : Math.max(holder.talkMsMax, EMERGENCY_TALK_MS_MAX);
  return { ...holder, claim, priority: priorityOf(claim), talkMsMax };
}

/** Whatever it was asked with, the grant now counts as that of a first frame. */
function cleared(holder: Holder): Holder {
  const claim = { ...holder.claim, inEmergency: false, priority: FRAME_PRIORITY };
  return { ...holder, claim, priority: priorityOf(claim) };
}

/** T2, unused grants, and what was kept for sockets that did not come back. T1 is told by who sees the frames. */
function tick(floor: Floor, nowMs: number): Step {
  const holders = floor.holders.filter((holder) => dueOf(holder, nowMs) === null);
  const waiting = floor.waiting.filter((one) => !isGone(one, nowMs));
  if (holders.length === floor.holders.length && waiting.length === floor.waiting.length)
    return unchanged(floor);
  return {
    floor: { ...floor, holders, waiting },
    outcomes: floor.holders.flatMap((holder) => expire(holder, nowMs)),
  };
}

function expire(holder: Holder, nowMs: number): Outcome[] {
  const code = dueOf(holder, nowMs);
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
