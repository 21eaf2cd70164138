// Describes what relays tell each other of a floor that they share. All of it is state, so the next message mends a lost one.
import type { Encryption, EndCode, FloorMode, RevokeCode } from '../../protocol/codes.js';
import type { Turn } from '../../protocol/turn.js';
import { type Claim, priorityOf } from '../floor/claim.js';
import type { Waiting } from '../floor/queue.js';
import { type Floor, type FloorEvent, type Holder, holderOf, waitingOf } from '../floor/state.js';

/** The talkgroup's settings as a relay knows them. A relay that hears of a higher revision adopts it until it has read. */
export interface Settings {
  /** Grows with each change of the talkgroup. */
  readonly revision: number;
  readonly mode: FloorMode;
  /** T2 (ms), 0: none. */
  readonly maxTalkMs: number;
  readonly encryption: Encryption;
  readonly mayBeClear: boolean;
}

/** A relay's word for the claim of one of its sessions. Times are ages (ms) in a message, and else monotonic ms. */
export interface PartClaim extends Claim {
  /** Times that its session has moved to another relay. Of two claims of a session the one with more counts. undefined: 0. */
  readonly moves?: number;
  /** Its session moves to another relay. The claim is kept as that of a dead socket, until the other relay tells it. */
  readonly isMoving?: boolean;
  readonly state: 'asks' | 'waits' | 'has' | 'talks';
  /** Number of the question that the claim began with, or that is under way. It never comes again in this relay. */
  readonly ask: number;
  /** `asks`: a first frame asks. */
  readonly isFirstFrame: boolean;
  /** `asks`: it is queued when it is not granted. */
  readonly queue: boolean;
  /** `asks`: it is queued, and asks again. */
  readonly hasPlace: boolean;
  /** `has`, `talks`: of the grant. null: it was granted in `open`, or without the word of a home. */
  readonly turn: Turn | null;
  /** Its own relay granted it, because the home did not answer and its user is in an emergency. */
  readonly isAlone: boolean;
  readonly talkMsMax: number;
  /** `asks`, `waits`: since its first request. */
  readonly askedMs: number | null;
  readonly grantedMs: number | null;
  readonly toldAgainMs: number | null;
  readonly startedMs: number | null;
  readonly lostMs: number | null;
}

/** All that the sessions of one relay have of the floor. To the home of the talkgroup. */
export interface Part {
  readonly settings: Settings;
  /** Grows with each change of the claims. An older part than the last one is ignored. */
  readonly v: number;
  /** The highest turn that plays, or ended, at this relay. */
  readonly top: Turn;
  /** This relay drops frames of a burst that it holds for ended. */
  readonly isFenced: boolean;
  readonly claims: readonly PartClaim[];
}

/** What the home has decided about one claim of a part. */
export type PartVerdict = { readonly session: number; readonly ask: number } & (
  | {
      readonly is: 'granted';
      readonly turn: Turn;
      readonly after: Turn;
      readonly afterCode: EndCode;
      readonly priority: number;
      readonly inEmergency: boolean;
      readonly talkMsMax: number;
    }
  | { readonly is: 'queued'; readonly position: number; readonly size: number }
  | { readonly is: 'denied'; readonly code: 'busy' | 'queue_full' | 'forbidden' }
  | { readonly is: 'revoked'; readonly code: RevokeCode }
);

/** Answers the part with this `v`: one verdict for each claim in it. */
export interface PartVerdicts {
  readonly settings: Settings;
  readonly v: number;
  readonly verdicts: readonly PartVerdict[];
}

/** A question of a session of this relay that no home has answered yet. */
export interface Ask {
  readonly ask: number;
  readonly claim: Claim;
  readonly isFirstFrame: boolean;
  readonly queue: boolean;
  /** When the session first asked: a queued one keeps the time of its place (monotonic ms). */
  readonly askedAtMs: number;
  /** When it asked this question (monotonic ms). */
  readonly sinceMs: number;
}

/** What else a relay knows of the claims of its own sessions, by session. */
export interface Known {
  /** Number of the question with which it began. */
  readonly asked: ReadonlyMap<number, number>;
  /** Of grants. */
  readonly turns: ReadonlyMap<number, Turn | null>;
  readonly alone: ReadonlySet<number>;
  /** What concerns moves of a session, if it has moved or moves. */
  readonly movesOf: (session: number) => Pick<PartClaim, 'moves' | 'isMoving'>;
}

/** The claims of these sessions, as a part. Times are monotonic ms. */
export function claimsOf(
  floor: Floor,
  asks: Iterable<Ask>,
  known: Known,
  isOwn: (session: number) => boolean,
): PartClaim[] {
  const asking = new Map([...asks].map((ask) => [ask.claim.session, ask]));
  const numberOf = (session: number) => known.asked.get(session) ?? 0;
  const placed = new Set(floor.waiting.map(({ session }) => session));
  const held = floor.holders.filter(({ claim }) => isOwn(claim.session));
  const waiting = floor.waiting.filter(({ session }) => isOwn(session) && !asking.has(session));
  const claims = [
    ...held.map((holder) => heldClaim(holder, numberOf(holder.claim.session), known)),
    ...waiting.map((one) => waitingClaim(one, numberOf(one.session))),
    ...[...asking.values()].map((ask) => askingClaim(ask, placed.has(ask.claim.session))),
  ];
  return claims.map((claim) => ({ ...claim, ...known.movesOf(claim.session) }));
}

const NOTHING = {
  ...{ isFirstFrame: false, queue: false, hasPlace: false, turn: null, isAlone: false, talkMsMax: 0 },
  ...{ askedMs: null, grantedMs: null, toldAgainMs: null, startedMs: null, lostMs: null },
} as const;

function heldClaim(holder: Holder, ask: number, { turns, alone }: Known): PartClaim {
  const { claim, startedAtMs, grantedAtMs, toldAgainAtMs, lostAtMs, talkMsMax } = holder;
  return {
    ...NOTHING,
    ...claim,
    ask,
    state: startedAtMs === null ? 'has' : 'talks',
    turn: turns.get(claim.session) ?? null,
    isAlone: alone.has(claim.session),
    talkMsMax,
    grantedMs: grantedAtMs,
    toldAgainMs: toldAgainAtMs,
    startedMs: startedAtMs,
    lostMs: lostAtMs,
  };
}

function waitingClaim({ sinceMs, lostAtMs, ...claim }: Waiting, ask: number): PartClaim {
  return { ...NOTHING, ...claim, ask, state: 'waits', queue: true, askedMs: sinceMs, lostMs: lostAtMs };
}

/** A burst of another relay of which no part told yet. */
export const talkingClaim = (claim: Claim, turn: Turn, startedAtMs: number): PartClaim => ({
  ...{ ...NOTHING, ...claim, state: 'talks', ask: 0, turn },
  ...{ grantedMs: startedAtMs, startedMs: startedAtMs },
});

const askingClaim = ({ claim, ask, isFirstFrame, queue, askedAtMs }: Ask, hasPlace: boolean): PartClaim => ({
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
