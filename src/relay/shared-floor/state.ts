// Keeps one floor that several relays share, and turns what happens to it into verdicts for the sessions of this relay.
//
// At the home of the talkgroup the floor has the sessions of all relays. Elsewhere it has those of this relay.

import { compareTurns, type Turn } from '../../protocol/turn.js';
import type { FloorCounts, SharedCounts } from '../figures/floor-counts.js';
import type { OnVerdicts, Verdict } from '../floor/authority.js';
import type { Bursts } from '../floor/bursts.js';
import type { TalkLimits } from '../floor/capacity.js';
import { rankOf } from '../floor/claim.js';
import { countStep } from '../floor/count-step.js';
import {
  emptyFloor,
  type Floor,
  type FloorEvent,
  type Holder,
  holderOf,
  leaving,
  type Outcome,
  waitingOf,
} from '../floor/state.js';
import type { Talkgroup } from '../members/members.js';
import type { Part, PartClaim, Placed } from './bodies.js';
import { DeniedPresses } from './denied-presses.js';
import { HeldGrants } from './held-grants.js';
import type { HomeSide } from './home-side.js';
import type { FloorLink } from './link.js';
import { type Ask, claimsOf, type Known, settingsOf, withAges } from './parts.js';

export interface SharedOptions {
  readonly counts: FloorCounts;
  readonly limits: TalkLimits;
  /** In `open`, those of other relays count toward the limits. */
  readonly bursts: Pick<Bursts, 'remoteIn'>;
  readonly onVerdicts: OnVerdicts;
  readonly link: FloorLink;
}

export interface SharedServices extends SharedOptions {
  readonly shared: SharedCounts;
}

/**
 * What a session of another relay has is ended here so much later (ms) than at that relay, which ends it and says so. A cut of
 * a second must not hide from the home that a lost socket returned.
 */
const LEEWAY_MS = 500;

export class SharedState implements Known {
  readonly talkgroup: Talkgroup;
  readonly services: SharedServices;
  floor: Floor;
  /** null: another relay decides, or nothing is to be agreed upon, as in `open`. */
  home: HomeSide | null = null;
  /** Questions of sessions of this relay that wait for the home. */
  readonly asks = new Map<number, Ask>();
  /** At the home also the questions with which other relays' sessions got the floor. */
  readonly asked = new Map<number, number>();
  readonly turns = new Map<number, Turn | null>();
  /** Of grants of sessions of this relay: how the home placed them. */
  readonly placed = new Map<number, Placed>();
  readonly alone = new Set<number>();
  /** The place of each queued session of this relay, as its home told it. */
  readonly places = new Map<number, { readonly position: number; readonly size: number }>();
  /** Sessions that moved to another relay with their claims, which stay here until that relay tells them: moves before it. */
  readonly left = new Map<number, number>();
  readonly held = new HeldGrants();
  readonly deniedPresses = new DeniedPresses();

  constructor(services: SharedServices, talkgroup: Talkgroup) {
    this.services = services;
    this.talkgroup = talkgroup;
    this.floor = emptyFloor(talkgroup.floorMode, talkgroup.maxTalkMs);
  }

  get isOpen(): boolean {
    return this.floor.mode === 'open';
  }

  /** This relay decides the floor now. */
  get decides(): boolean {
    return this.isOpen || this.home?.isGathered === true;
  }

  readonly isOwn = (session: number): boolean => this.home?.isForeign(session) !== true;

  readonly leewayMs = (session: number): number => (this.isOwn(session) ? 0 : LEEWAY_MS);

  readonly movesOf = (session: number): Pick<PartClaim, 'moves' | 'isMoving'> => {
    const left = this.left.get(session);
    const moves = left ?? this.services.link.moves?.(session) ?? 0;
    return { ...(moves > 0 && { moves }), ...(left !== undefined && { isMoving: true }) };
  };

  /** The session was at the relay that tells this claim before it came here, or before it left here for another one. */
  isOvertaken({ session, moves = 0 }: PartClaim): boolean {
    const here = this.left.get(session) ?? this.services.link.moves?.(session);
    return here !== undefined && moves <= here;
  }

  /** Another relay tells the claim of a session that moved there. */
  disown(session: number): void {
    this.drop(session);
    for (const known of [this.asked, this.places, this.placed, this.alone, this.left]) known.delete(session);
  }

  /** What the sessions of this relay have of the floor, and ask. */
  ownClaims(): PartClaim[] {
    return claimsOf(this.floor, this.asks.values(), this, this.isOwn);
  }

  /** These claims for the home, under this number. */
  partOf(claims: readonly PartClaim[], v: number, isFenced: boolean, nowMs: number): Part {
    const settings = settingsOf(this.talkgroup);
    const aged = claims.map((claim) => withAges(claim, nowMs));
    return { settings, v, top: this.turnsHere.top, isFenced, claims: aged };
  }

  get isIdle(): boolean {
    return this.floor.holders.length === 0 && this.floor.waiting.length === 0 && this.asks.size === 0;
  }

  /** A session of this relay has something of the floor, or asks for it. */
  get isUsed(): boolean {
    const { floor, isOwn } = this;
    if (this.asks.size > 0 || floor.holders.some(({ claim }) => isOwn(claim.session))) return true;
    return floor.waiting.some(({ session }) => isOwn(session));
  }

  /** The session has the floor, or waits for it. */
  has(session: number): boolean {
    return holderOf(this.floor, session) !== undefined || waitingOf(this.floor, session) !== undefined;
  }

  isHeld(session: number): boolean {
    return this.held.has(session);
  }

  /** A burst of another relay plays here that keeps the floor beside this grant: each side of a cut had a floor. */
  isBelow({ claim }: Holder): boolean {
    const { played } = this.turnsHere;
    return played !== null && rankOf(played.claim) > rankOf(claim);
  }

  /** A session that was not told of its grant yet loses it with whatever happens to it. */
  forHeld(event: FloorEvent): FloorEvent {
    const isOver =
      event.kind === 'release' || event.kind === 'removed' || (event.kind === 'lost' && event.forGood);
    return isOver && this.held.has(event.session)
      ? { kind: 'lost', session: event.session, forGood: true }
      : event;
  }

  /** What the others keep to themselves is not counted here. */
  count(before: Floor, event: FloorEvent, outcomes: readonly Outcome[], nowMs: number): void {
    const own = outcomes.filter((outcome) => this.isOwn(sessionOf(outcome)));
    countStep(this.services.counts, { before, event, after: { floor: this.floor, outcomes: own }, nowMs });
  }

  /**
   * Tells the sessions of this relay what a step made of the floor `before`. `placedOf` places a new grant, null: it needs
   * no place.
   */
  carry(
    before: Floor,
    outcomes: readonly Outcome[],
    { isFirstFrame, placedOf }: { isFirstFrame: boolean; placedOf: (holder: Holder) => Placed | null },
    nowMs: number,
  ): void {
    // A verdict may be answered by another claim, before the next verdict is told.
    const after = this.floor;
    const denied = new Set<number>();
    const started = new Set<number>();
    let batch: Verdict[] = [];
    const flush = () => {
      if (batch.length > 0) this.tell(batch, nowMs);
      batch = [];
    };
    for (const outcome of outcomes) {
      const session = sessionOf(outcome);
      if (!this.isOwn(session) || denied.has(session)) continue;
      if (outcome.kind === 'granted' && !this.held.has(session) && !holderOf(before, session)) {
        // Those before it end first: what they end lets the grant be ready.
        flush();
        const isThere = holderOf(this.floor, session) !== undefined;
        const placed = placedOf(outcome.holder);
        // It may have lost the floor in the same decision.
        const wasThere = isThere || holderOf(after, session) === undefined;
        if (!wasThere) denied.add(session);
        if (!wasThere || (placed !== null && !this.place(session, placed, nowMs))) continue;
      }
      if (this.held.has(session)) {
        if (outcome.kind === 'started') started.add(session);
        if (outcome.kind !== 'revoked') continue;
        this.drop(session);
        denied.add(session);
        const hadStarted = (holderOf(before, session)?.startedAtMs ?? null) !== null;
        const isFirst = hadStarted || started.has(session); // it may have lost the floor in the step that gave it
        batch.push({ kind: 'denied', session, code: 'busy', isFirstFrame: isFirst });
      } else batch.push(outcome.kind === 'denied' ? { ...outcome, isFirstFrame } : outcome);
    }
    const gone = leaving(before, after);
    for (const session of gone.filter(this.isOwn)) {
      this.drop(session);
      batch.push({ kind: 'gone', session });
    }
    flush();
    for (const outcome of outcomes) {
      const session = sessionOf(outcome);
      if (this.isOwn(session) && !this.has(session)) this.forget(session);
    }
    for (const session of gone) if (!this.has(session)) this.forget(session);
  }

  tell(verdicts: readonly Verdict[], nowMs: number): void {
    const { shared } = this.services;
    for (const verdict of verdicts) {
      if (verdict.kind === 'queued')
        this.places.set(verdict.session, { position: verdict.position, size: verdict.size });
      if (verdict.kind === 'denied' && verdict.code === 'retry_later') shared.unanswered++;
      if (verdict.kind === 'revoked' && verdict.code === 'collision') shared.collisions++;
    }
    this.services.onVerdicts(this.talkgroup, verdicts, nowMs);
  }

  forget(session: number): void {
    const { asked, turns, places, placed, alone, left } = this;
    for (const known of [asked, turns, places, placed, alone, left]) known.delete(session);
  }

  /** This relay is not the home any more: it keeps what its own sessions have. */
  forgetOthers(): void {
    const { floor, isOwn } = this;
    this.floor = {
      ...floor,
      holders: floor.holders.filter(({ claim }) => isOwn(claim.session)),
      waiting: floor.waiting.filter(({ session }) => isOwn(session)),
    };
    for (const session of [...this.turns.keys()])
      if (!holderOf(this.floor, session)) this.turns.delete(session);
    for (const session of [...this.asked.keys()]) if (!this.isOwn(session)) this.asked.delete(session);
  }

  /** Lets a grant begin when nothing earlier plays any more. true: it may begin now. */
  place(session: number, placed: Placed, nowMs: number): boolean {
    this.placed.set(session, placed);
    const holder = holderOf(this.floor, session);
    const rank = holder === undefined ? 0 : rankOf(holder.claim);
    if (this.turnsHere.grant(placed, rank, nowMs) === 'ready') {
      this.held.delete(session);
      return true;
    }
    this.held.hold(session, placed);
    return false;
  }

  /** Another turn for a grant of a session of this relay. */
  placeAgain(session: number, placed: Placed, nowMs: number): void {
    const old = this.held.of(session);
    // The same grant goes on waiting: told again, it would wait from now on.
    if (old !== undefined && compareTurns(old.turn, placed.turn) !== 0) this.turnsHere.withdraw(old.turn);
    if (this.place(session, placed, nowMs)) this.begin(session, nowMs);
  }

  /** The running burst of a session of this relay goes on with another turn. */
  renew(session: number, placed: Placed, nowMs: number): void {
    this.placed.set(session, placed);
    this.services.link.renewed(this.talkgroup, session, placed, nowMs);
  }

  /** The grant with this turn may begin: its session is told. */
  ready(turn: Turn, nowMs: number): void {
    for (const [session, placed] of this.held.all()) {
      if (compareTurns(placed.turn, turn) !== 0) continue;
      this.held.delete(session);
      this.begin(session, nowMs);
    }
  }

  /** Without turns no grant waits for another burst. */
  beginHeld(nowMs: number): void {
    for (const [session] of this.held.all()) {
      this.drop(session);
      this.begin(session, nowMs);
    }
  }

  private begin(session: number, nowMs: number): void {
    const holder = holderOf(this.floor, session);
    if (holder === undefined) return;
    const granted: Verdict = { kind: 'granted', holder };
    this.tell(holder.startedAtMs === null ? [granted] : [granted, { kind: 'started', holder }], nowMs);
  }

  /** Its session does not get it. */
  drop(session: number): void {
    const placed = this.held.of(session);
    if (placed === undefined) return;
    this.held.delete(session);
    this.turnsHere.withdraw(placed.turn);
  }

  get turnsHere() {
    return this.services.link.turns(this.talkgroup);
  }
}

export const sessionOf = (outcome: Outcome): number =>
  'holder' in outcome ? outcome.holder.claim.session : outcome.session;
