// Makes parts of a floor, and reads what changed between two of them.
import type { Turn } from '../../protocol/turn.js';
import { type Claim, priorityOf } from '../floor/claim.js';
import type { Waiting } from '../floor/queue.js';
import { type Floor, type FloorEvent, type Holder, holderOf, waitingOf } from '../floor/state.js';
import type { Talkgroup } from '../members/members.js';
import type { PartClaim, Settings } from './bodies.js';
import type { OpenQuestion, SessionRecord } from './records.js';

export const settingsOf = (talkgroup: Talkgroup): Settings => ({
  revision: talkgroup.revision,
  mode: talkgroup.floorMode,
  maxTalkMs: talkgroup.maxTalkMs,
  encryption: talkgroup.encryption,
  mayBeClear: talkgroup.emergencyMayBeClear,
});

/** What else a relay knows of the claims of its own sessions. */
export interface Known {
  readonly of: (session: number) => Pick<SessionRecord, 'asked' | 'turn' | 'isAlone'>;
  /** What concerns moves of a session, if it has moved or moves. */
  readonly movesOf: (session: number) => Pick<PartClaim, 'moves' | 'isMoving'>;
}

/** The claims of these sessions, as a part. Times are monotonic ms. */
export function claimsOf(
  floor: Floor,
  asks: Iterable<OpenQuestion>,
  known: Known,
  isOwn: (session: number) => boolean,
): PartClaim[] {
  const asking = new Map([...asks].map((ask) => [ask.claim.session, ask]));
  const placed = new Set(floor.waiting.map(({ session }) => session));
  const held = floor.holders.filter(({ claim }) => isOwn(claim.session));
  const waiting = floor.waiting.filter(({ session }) => isOwn(session) && !asking.has(session));
  const claims = [
    ...held.map((holder) => heldClaim(holder, known.of(holder.claim.session))),
    ...waiting.map((one) => waitingClaim(one, known.of(one.session))),
    ...[...asking.values()].map((ask) => askingClaim(ask, placed.has(ask.claim.session))),
  ];
  return claims.map((claim) => ({ ...claim, ...known.movesOf(claim.session) }));
}

const NOTHING = {
  ...{ isFirstFrame: false, queue: false, hasPlace: false, turn: null, isAlone: false, talkMsMax: 0 },
  ...{ askedMs: null, grantedMs: null, toldAgainMs: null, startedMs: null, lostMs: null },
} as const;

function heldClaim(holder: Holder, { asked, turn, isAlone }: ReturnType<Known['of']>): PartClaim {
  const { claim, startedAtMs, grantedAtMs, toldAgainAtMs, lostAtMs, talkMsMax } = holder;
  return {
    ...NOTHING,
    ...claim,
    ask: asked ?? 0,
    state: startedAtMs === null ? 'has' : 'talks',
    turn,
    isAlone,
    talkMsMax,
    grantedMs: grantedAtMs,
    toldAgainMs: toldAgainAtMs,
    startedMs: startedAtMs,
    lostMs: lostAtMs,
  };
}

function waitingClaim(
  { sinceMs, lostAtMs, ...claim }: Waiting,
  { asked }: ReturnType<Known['of']>,
): PartClaim {
  return {
    ...NOTHING,
    ...claim,
    ask: asked ?? 0,
    state: 'waits',
    queue: true,
    askedMs: sinceMs,
    lostMs: lostAtMs,
  };
}

/** A burst of another relay of which no part told yet. */
export const talkingClaim = (claim: Claim, turn: Turn, startedAtMs: number): PartClaim => ({
  ...{ ...NOTHING, ...claim, state: 'talks', ask: 0, turn },
  ...{ grantedMs: startedAtMs, startedMs: startedAtMs },
});

const askingClaim = (
  { claim, ask, isFirstFrame, queue, askedAtMs }: OpenQuestion,
  hasPlace: boolean,
): PartClaim => ({
  ...NOTHING,
  ...claim,
  ...{ ask, state: 'asks', isFirstFrame, queue, hasPlace, askedMs: askedAtMs },
});

/** The claim with ages in the place of times, and the other way round. */
export function withAges(claim: PartClaim, nowMs: number): PartClaim {
  const turned = (ms: number | null) => (ms === null ? null : nowMs - ms);
  return {
    ...claim,
    askedMs: turned(claim.askedMs),
    grantedMs: turned(claim.grantedMs),
    toldAgainMs: turned(claim.toldAgainMs),
    startedMs: turned(claim.startedMs),
    lostMs: turned(claim.lostMs),
  };
}

/** The holder of a claim that has the floor, or the queued session of one that waits. Times are monotonic ms. */
export const holderFrom = (claim: PartClaim, nowMs: number): Holder => ({
  claim: bare(claim),
  priority: priorityOf(claim),
  grantedAtMs: claim.grantedMs ?? nowMs,
  toldAgainAtMs: claim.toldAgainMs,
  startedAtMs: claim.startedMs,
  talkMsMax: claim.talkMsMax,
  lostAtMs: claim.lostMs,
});

export const waitingFrom = (claim: PartClaim, nowMs: number): Waiting => ({
  ...bare(claim),
  sinceMs: claim.askedMs ?? nowMs,
  lostAtMs: claim.lostMs,
});

export const isHolding = ({ state }: PartClaim) => state === 'has' || state === 'talks';

export const bare = ({ session, user, priority, isAdmin, inEmergency }: PartClaim): Claim => ({
  ...{ session, user, priority, isAdmin, inEmergency },
});

/** What a question under way asks of the floor. */
export const eventOf = (claim: PartClaim): FloorEvent =>
  claim.isFirstFrame
    ? { kind: 'frame', claim: bare(claim) }
    : { kind: 'request', claim: bare(claim), queue: claim.queue };

/**
 * What became of a relay's claims between two of its parts, in the order in which the floor must hear of it: first those
 * that are gone. A claim that has something of the floor and was not in the part before makes no event.
 */
export function partDiff(before: readonly PartClaim[], now: readonly PartClaim[]): FloorEvent[] {
  const old = new Map(before.map((claim) => [claim.session, claim]));
  const there = new Map(now.map((claim) => [claim.session, claim]));
  const given = before.filter(({ session, ...was }) => isGivenUp(was, there.get(session)));
  return [
    ...given.map(({ session }): FloorEvent => ({ kind: 'release', session, code: 'released' })),
    ...now.flatMap((claim) => changeOf(old.get(claim.session), claim)),
  ];
}

/** Whether the sockets of sessions live that came to the relay with their claims. */
export function arrivals(
  floor: Floor,
  known: readonly PartClaim[],
  told: readonly PartClaim[],
): FloorEvent[] {
  const were = new Set(known.map(({ session }) => session));
  return told.flatMap(({ session, lostMs }): FloorEvent[] => {
    const one = holderOf(floor, session) ?? waitingOf(floor, session);
    if (were.has(session) || one === undefined || (one.lostAtMs === null) === (lostMs === null)) return [];
    return [lostMs === null ? { kind: 'returned', session } : { kind: 'lost', session, forGood: false }];
  });
}

/** A new question of a talker is a release, and then the question. So is that of a session that had a place and has none. */
function isGivenUp(was: Omit<PartClaim, 'session'>, is: PartClaim | undefined): boolean {
  if (is === undefined) return true;
  if (is.ask === was.ask) return false;
  return was.state === 'has' || was.state === 'talks' || (is.state === 'asks' && !is.hasPlace);
}

function changeOf(was: PartClaim | undefined, is: PartClaim): FloorEvent[] {
  const { session, inEmergency } = is;
  if (is.state === 'asks') {
    if (was?.ask === is.ask && was.inEmergency === inEmergency) return [];
    return was?.ask === is.ask ? [emergencyOf(is)] : [eventOf(is)];
  }
  const events: FloorEvent[] = [];
  if (was !== undefined && was.inEmergency !== inEmergency) events.push(emergencyOf(is));
  if (is.state === 'talks') events.push({ kind: 'frame', claim: bare(is) });
  const wasLost = (was?.lostMs ?? null) !== null;
  if (is.lostMs !== null && !wasLost) events.push({ kind: 'lost', session, forGood: false });
  if (is.lostMs === null && wasLost) events.push({ kind: 'returned', session });
  return events;
}

const emergencyOf = ({ session, inEmergency }: PartClaim): FloorEvent => ({
  ...{ kind: 'emergency', sessions: new Set([session]), inEmergency },
});
