// What a home keeps of the other relays that share a floor: their parts, the turns given, and what it has to tell them.

import type { EndCode } from '../../protocol/codes.js';
import { laterTurn, NO_TURN, type Turn } from '../../protocol/turn.js';
import { type Floor, holderOf, waitingOf } from '../floor/state.js';
import type { Part, PartClaim, PartVerdict, Placed } from './bodies.js';
import { MovedSessions } from './moved-sessions.js';
import { talkingClaim } from './parts.js';
import { Refusals, type Refused } from './refusals.js';
import { SentVerdicts } from './sent-verdicts.js';
import type { PlayedTalk } from './turns/plays.js';

/** A relay whose sessions have something of the floor, and which tells no part for this time (ms), has lost it: four parts. */
const SILENT_MS_MAX = 2000;
/** What a relay has gives way to an equal claim when it told no part, and of an unheard one no frame came, for this time (ms). */
const STALE_MS = 1000;
/** Turns between the highest one heard of and the first of a floor that was made anew: more than can be under way. */
export const TURN_GAP = 256;
/** It asks for a part again after this time (ms), SHORT_PAUSES times. Then each pause is twice the last, up to WANT_MS_MAX. */
const WANT_MS = 40;
const WANT_MS_MAX = 1000;
const SHORT_PAUSES = 3;
const NOT_ASKED = { times: 0, askedMs: Number.NEGATIVE_INFINITY };

/** The last part of one relay. */
interface Told {
  readonly v: number;
  readonly claims: readonly PartClaim[];
  /** Of sessions that have moved on. */
  readonly over: readonly PartClaim[];
  readonly top: Turn;
  /** When it came (monotonic ms). */
  readonly atMs: number;
}

export class HomeSide {
  private readonly relay: number;
  private readonly parts = new Map<number, Told>();
  /** Relay of each session of the others. */
  private readonly relayOf = new Map<number, number>();
  private readonly moved = new MovedSessions();
  readonly refused = new Refusals();
  readonly sent = new SentVerdicts();
  /** The last turn given. */
  private given: Turn;
  /** Turns from here on were given since the floor was last made anew. */
  private since = NO_TURN;
  /** How the last burst ended. */
  endCode: EndCode = 'released';
  /** Of the last grant. */
  placed: Placed | null = null;
  private quiet = 0;
  /** false: the parts of the others are not here yet. */
  isGathered = false;
  private others: ReadonlySet<number> = new Set();
  /** Relays whose part is missing: how often they were asked for it, and when they last were. */
  private readonly wanted = new Map<number, { readonly times: number; readonly askedMs: number }>();
  /** Relays whose part was given up. What plays of them here may be over. */
  private readonly lapsed = new Set<number>();
  private sinceMs: number;

  constructor(relay: number, given: Turn, nowMs: number) {
    this.relay = relay;
    this.given = given;
    this.sinceMs = nowMs;
  }

  /** These relays share the floor from now on. The answer is those that do not any more. */
  share(others: readonly number[], nowMs: number): readonly number[] {
    const gone = [...this.others].filter((relay) => !others.includes(relay));
    for (const relay of others) if (!this.others.has(relay)) this.wanted.set(relay, NOT_ASKED);
    for (const relay of gone) this.heardPart(relay);
    if (this.others.size === 0) this.sinceMs = nowMs;
    this.others = new Set(others);
    return gone;
  }

  shares(relay: number): boolean {
    return this.others.has(relay);
  }

  get isAlone(): boolean {
    return this.others.size === 0;
  }

  /** A part is missing. */
  get isWanting(): boolean {
    return this.wanted.size > 0;
  }

  /** The parts of all are here, or it has waited for this time (ms). */
  isComplete(waitMs: number, nowMs: number): boolean {
    return this.wanted.size === 0 || nowMs - this.sinceMs >= waitMs;
  }

  /**
   * Relays to be asked for their part now. While no session uses the floor, each of them once a second, and when `mayAskIdle`
   * says so.
   */
  toAsk(isUsed: boolean, mayAskIdle: (nowMs: number) => boolean, nowMs: number): readonly number[] {
    return [...this.wanted].flatMap(([relay, { times, askedMs }]) => {
      const pauseMs = WANT_MS * 2 ** Math.max(0, times - SHORT_PAUSES);
      if (nowMs - askedMs < (isUsed ? Math.min(pauseMs, WANT_MS_MAX) : WANT_MS_MAX)) return [];
      if (!isUsed && !mayAskIdle(nowMs)) return [];
      this.wanted.set(relay, { times: times + 1, askedMs: nowMs });
      return [relay];
    });
  }

  /** Its part is here. */
  private heardPart(relay: number): void {
    this.wanted.delete(relay);
    this.lapsed.delete(relay);
  }

  /** Nothing is told to the others now. */
  get isQuiet(): boolean {
    return this.quiet > 0;
  }

  /** Nothing is told to the others before `act` is done. */
  quietly(act: () => void): void {
    this.quiet++;
    try {
      act();
    } finally {
      this.quiet--;
    }
  }

  /** The claims of the part that came before. null: it is older than that one. */
  heard(
    relay: number,
    { v, top }: Part,
    claims: readonly PartClaim[],
    isOvertaken: (claim: PartClaim) => boolean,
    nowMs: number,
  ): Told | null | undefined {
    const before = this.parts.get(relay);
    if (before !== undefined && v < before.v) return null;
    this.heardPart(relay);
    const isOver = (claim: PartClaim) => isOvertaken(claim) || !this.moved.isNewest(relay, claim);
    const told = claims.filter((claim) => !isOver(claim));
    this.parts.set(relay, { v, claims: told, over: claims.filter(isOver), top, atMs: nowMs });
    for (const claim of told) {
      const { session, ask } = claim;
      if (this.relayOf.get(session) !== relay) this.follow(session, ask);
      this.relayOf.set(session, relay);
      this.moved.heard(relay, claim, nowMs);
    }
    return before;
  }

  /** The session is at another relay from now on. What was refused there is refused here: its claim has this number now. */
  private follow(session: number, ask: number): void {
    this.leave(session);
    this.refused.follow(session, ask);
  }

  private leave(session: number): void {
    const relay = this.relayOf.get(session) ?? 0;
    const part = this.parts.get(relay);
    if (part === undefined) return;
    const isOf = (claim: PartClaim) => claim.session === session;
    const claims = part.claims.filter((claim) => !isOf(claim));
    this.parts.set(relay, { ...part, claims, over: [...part.over, ...part.claims.filter(isOf)] });
  }

  /** The session is one of this relay from now on. The answer is what it was refused before. */
  own(session: number): Refused | null {
    this.leave(session);
    this.relayOf.delete(session);
    return this.refused.take(session);
  }

  /** Forgets sessions that are not in the part of their relay any more. */
  tidy(relay: number): void {
    const there = new Set(this.claimsFrom(relay).map(({ session }) => session));
    for (const [session, of] of this.relayOf) {
      if (of !== relay || there.has(session)) continue;
      this.relayOf.delete(session);
      this.refused.forget(session);
    }
  }

  /** Forgets the relay. The answer is its sessions, but for those that are moving: another relay may tell of them. */
  forget(relay: number): readonly number[] {
    const claims = this.claimsFrom(relay);
    const moving = new Set(claims.flatMap(({ session, isMoving }) => (isMoving ? [session] : [])));
    const sessions = [...this.relayOf].flatMap(([session, of]) =>
      of === relay && !moving.has(session) ? [session] : [],
    );
    for (const session of sessions) {
      this.relayOf.delete(session);
      this.refused.forget(session);
    }
    this.parts.delete(relay);
    this.sent.forget(relay);
    this.since = this.given; // what it has may go on there
    return sessions;
  }

  /** No part came for too long. It is asked for again. The answer is the sessions of the relay. */
  lapse(relay: number): readonly number[] {
    this.lapsed.add(relay);
    this.wanted.set(relay, NOT_ASKED);
    return this.forget(relay);
  }

  /** Forgets sessions that moved, whose relay is gone, and which no other relay told of in time. And moves of long ago. */
  tidyGone(floor: Floor, nowMs: number): void {
    for (const [session, relay] of this.relayOf) {
      if (this.parts.has(relay) || holderOf(floor, session) || waitingOf(floor, session)) continue;
      this.relayOf.delete(session);
      this.refused.forget(session);
    }
    this.moved.expire(nowMs);
  }

  /** Relays that have not told a part for too long. */
  silent(nowMs: number): readonly number[] {
    return [...this.parts].flatMap(([relay, { claims, atMs }]) =>
      claims.length > 0 && nowMs - atMs >= SILENT_MS_MAX ? [relay] : [],
    );
  }

  /** Whether the session is one of another relay. */
  isForeign = (session: number): boolean => this.relayOf.has(session);

  isOf(session: number, relay: number): boolean {
    return this.relayOf.get(session) === relay;
  }

  /** Those of the last part of the relay, without sessions that moved on. */
  claimsFrom(relay: number): readonly PartClaim[] {
    return this.parts.get(relay)?.claims ?? [];
  }

  claimOf(session: number): PartClaim | undefined {
    const claims = this.claimsFrom(this.relayOf.get(session) ?? this.relay); // no part is its own
    return claims.find((claim) => claim.session === session);
  }

  refuse(session: number, verdict: Pick<Refused, 'is' | 'code'>): void {
    const claim = this.claimOf(session);
    if (claim !== undefined) this.refused.add(claim, verdict);
  }

  /** Its relay has not been heard for so long that what it has may be over. */
  isStale(session: number, nowMs: number): boolean {
    const relay = this.relayOf.get(session) ?? this.relay;
    const part = this.parts.get(relay);
    return this.lapsed.has(relay) || (part !== undefined && nowMs - part.atMs >= STALE_MS);
  }

  /** Turns of the talkgroup that the others have told of, and those given here. */
  get seen(): Turn {
    let seen = laterTurn(this.given, this.top);
    for (const { claims } of this.parts.values())
      for (const { turn } of claims) if (turn !== null) seen = laterTurn(seen, turn);
    return seen;
  }

  /** The highest turn that plays or ended at one of the others. */
  get top(): Turn {
    return [...this.parts.values()].reduce((top, part) => laterTurn(top, part.top), NO_TURN);
  }

  /** The last turn with which a burst is known to have begun at one of the others. */
  get begun(): Turn {
    let begun = NO_TURN;
    for (const { claims } of this.parts.values())
      for (const { state, turn } of claims) if (state === 'talks' && turn) begun = laterTurn(begun, turn);
    return begun;
  }

  /** A turn after all of these. */
  give(...seen: readonly Turn[]): Turn {
    const last = seen.reduce(laterTurn, this.seen);
    this.given = { count: last.count + 1, home: this.relay };
    return this.given;
  }

  /** The floor is made anew: what was given before, or elsewhere, has a lower turn than all that is given from now on. */
  restart(gap: number, ...seen: readonly Turn[]): void {
    const { count } = seen.reduce(laterTurn, this.seen);
    if (count > 0) this.given = { count: count + gap, home: this.relay };
    this.since = this.given;
    this.isGathered = true;
  }

  get lastGiven(): Turn {
    return this.given;
  }

  /** The part has a claim which this home knows nothing of: the floor must be made anew. */
  isStrange(claims: readonly PartClaim[], floor: Floor): boolean {
    return claims.some((claim) => {
      const { session, state, turn } = claim;
      if (state === 'asks' || this.refused.isRefused(claim, floor)) return false;
      if (holderOf(floor, session) !== undefined) return false;
      if (this.refused.of(claim) !== undefined) return true;
      if (state === 'waits') return !floor.waiting.some((one) => one.session === session);
      return turn === null || turn.home !== this.relay || turn.count <= this.since.count;
    });
  }

  /**
   * The claims of all others. A grant that its relay has not heard of yet is one, and so is the burst of a relay that plays
   * here while its part is missing.
   */
  claims(floor: Floor, turnOf: (session: number) => Turn | null, played: PlayedTalk | null): PartClaim[] {
    const told = [...this.parts.values()].flatMap(({ claims }) => claims);
    const claims = told.filter((claim) => !this.refused.isRefused(claim, floor));
    const known = claims.map((claim): PartClaim => {
      const holder = holderOf(floor, claim.session);
      if (holder === undefined || claim.state === 'has' || claim.state === 'talks') return claim;
      const { talkMsMax, grantedAtMs } = holder;
      const turn = turnOf(claim.session);
      return { ...claim, state: 'has', hasPlace: false, turn, talkMsMax, grantedMs: grantedAtMs };
    });
    if (played === null || !this.shares(played.relay) || this.parts.has(played.relay)) return known;
    // Its session may come from another relay, whose claim counts until the new one tells it.
    if (this.claimOf(played.claim.session) !== undefined) return known;
    return [...known, this.unheard(played)];
  }

  /** Counts as told, so that its relay's first part takes it away when it has ended. */
  private unheard({ relay, claim, turn, startedAtMs, frameAtMs }: PlayedTalk): PartClaim {
    const talk = talkingClaim(claim, turn, startedAtMs);
    this.parts.set(relay, { v: 0, claims: [talk], over: [], top: turn, atMs: frameAtMs });
    this.relayOf.set(claim.session, relay);
    return talk;
  }

  /** One verdict for each claim of the relay's last part. `granted` describes the grant of a holder. */
  verdictsFor(
    relay: number,
    floor: Floor,
    granted: (claim: PartClaim) => PartVerdict,
  ): { readonly v: number; readonly verdicts: readonly PartVerdict[] } {
    const { v = 0, claims = [], over = [] } = this.parts.get(relay) ?? {};
    const verdicts = claims.flatMap((claim): PartVerdict[] => {
      const { session, ask, state } = claim;
      if (holderOf(floor, session) !== undefined) return [granted(claim)];
      const at = floor.waiting.findIndex((one) => one.session === session);
      if (at >= 0) return [{ session, ask, is: 'queued', position: at + 1, size: floor.waiting.length }];
      const refused = this.refused.of(claim);
      if (refused !== undefined) return [refused];
      return state === 'asks' ? [] : [{ session, ask, is: 'revoked', code: 'collision' }];
    });
    // Their relay need not keep them any longer.
    for (const { session, ask } of over) verdicts.push({ session, ask, is: 'revoked', code: 'collision' });
    return { v, verdicts };
  }

  /** Relays whose sessions have something of the floor, or had. */
  relays(): Iterable<number> {
    return this.parts.keys();
  }
}
