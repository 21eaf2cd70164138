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
  sessionOf,
  waitingOf,
} from '../floor/state.js';
import type { Talkgroup } from '../members/members.js';
import type { Part, PartClaim, Placed } from './bodies.js';
import { DeniedPresses } from './denied-presses.js';
import type { HomeSide } from './home-side.js';
import type { FloorLink } from './link.js';
import { claimsOf, type Known, settingsOf, withAges } from './parts.js';
import { Records, type SessionRecord } from './records.js';

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
  /** Numbers that this relay has not used before. They grow. */
  readonly nextAsk: () => number;
  readonly nextV: () => number;
  /** A home may ask for a part of a floor that no session has or asks for. false: later. */
  readonly mayAskIdle: (nowMs: number) => boolean;
}

/**
 * What a session of another relay has is ended here so much later (ms) than at that relay, which ends it and says so. A cut
 * must not hide from the home that a lost socket returned: after 1,500 ms that relay is down, and a part is repeated after 300.
 */
const LEEWAY_MS = 1800;

export class SharedState implements Known {
  readonly talkgroup: Talkgroup;
  readonly services: SharedServices;
  floor: Floor;
  /** null: another relay decides, or nothing is to be agreed upon, as in `open`. */
  home: HomeSide | null = null;
  readonly records = new Records();
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

  readonly of = (session: number): Readonly<SessionRecord> => this.records.of(session);

  /** To be written to. */
  record(session: number): SessionRecord {
    return this.records.record(session);
  }

  readonly movesOf = (session: number): Pick<PartClaim, 'moves' | 'isMoving'> => {
    const { left } = this.of(session);
    const moves = left ?? this.services.link.moves?.(session) ?? 0;
    return { ...(moves > 0 && { moves }), ...(left !== null && { isMoving: true }) };
  };

  /** The session was at the relay that tells this claim before it came here, or before it left here for another one. */
  isOvertaken({ session, moves = 0 }: PartClaim): boolean {
    const here = this.of(session).left ?? this.services.link.moves?.(session);
    return here !== undefined && moves <= here;
  }

  /** Another relay tells the claim of a session that moved there. */
  disown(session: number): void {
    this.drop(session);
    const { turn } = this.of(session); // its grant is one of the floor
    this.records.forget(session);
    this.record(session).turn = turn;
  }

  /** What the sessions of this relay have of the floor, and ask. */
  ownClaims(): PartClaim[] {
    return claimsOf(this.floor, this.records.asks, this, this.isOwn);
  }

  /** These claims for the home, under this number. */
  partOf(claims: readonly PartClaim[], v: number, isFenced: boolean, nowMs: number): Part {
    const settings = settingsOf(this.talkgroup);
    const aged = claims.map((claim) => withAges(claim, nowMs));
    return { settings, v, top: this.turnsHere.top, isFenced, claims: aged };
  }

  get isIdle(): boolean {
    return this.floor.holders.length === 0 && this.floor.waiting.length === 0 && !this.records.isAsking;
  }

  /** A session of this relay has something of the floor, or asks for it. */
  get isUsed(): boolean {
    const { floor, isOwn } = this;
    if (floor.holders.some(({ claim }) => isOwn(claim.session))) return true;
    return floor.waiting.some(({ session }) => isOwn(session)) || this.records.isAsking;
  }

  /** The session has the floor, or waits for it. */
  has(session: number): boolean {
    return holderOf(this.floor, session) !== undefined || waitingOf(this.floor, session) !== undefined;
  }

  isHeld(session: number): boolean {
    return this.of(session).held !== null;
  }

  /** The held grant of the session answers a question of this time (monotonic ms), if it answers no earlier one. */
  answersAt(session: number, askedAtMs: number): void {
    const { held } = this.of(session);
    if (held !== null && held.askedAtMs === null) this.record(session).held = { ...held, askedAtMs };
  }

  /** Whether the session had left for another relay. From now on it has not. */
  comesBack(session: number): boolean {
    if (this.of(session).left === null) return false;
    this.record(session).left = null;
    return true;
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
    return isOver && this.isHeld(event.session)
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
      if (outcome.kind === 'granted' && !this.isHeld(session) && !holderOf(before, session)) {
        // Those before it end first: what they end lets the grant be ready.
        flush();
        const isThere = holderOf(this.floor, session) !== undefined;
        const placed = placedOf(outcome.holder);
        // It may have lost the floor in the same decision.
        const wasThere = isThere || holderOf(after, session) === undefined;
        if (!wasThere) denied.add(session);
        if (!wasThere || (placed !== null && !this.order(session, placed, nowMs))) continue;
      }
      if (this.isHeld(session)) {
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
        this.record(verdict.session).queued = { position: verdict.position, size: verdict.size };
      if (verdict.kind === 'denied' && verdict.code === 'retry_later') shared.unanswered++;
      if (verdict.kind === 'revoked' && verdict.code === 'collision') shared.collisions++;
    }
    this.services.onVerdicts(this.talkgroup, verdicts, nowMs);
  }

  /** Its claim is over. What it has asked since then stays. */
  forget(session: number): void {
    const { ask } = this.of(session);
    this.records.forget(session);
    if (ask !== null) this.record(session).ask = ask;
  }

  /** This relay is not the home any more: it keeps what its own sessions have. */
  forgetOthers(): void {
    const { floor, isOwn } = this;
    this.floor = {
      ...floor,
      holders: floor.holders.filter(({ claim }) => isOwn(claim.session)),
      waiting: floor.waiting.filter(({ session }) => isOwn(session)),
    };
    for (const [session, record] of this.records.all()) {
      if (!isOwn(session)) this.records.forget(session);
      else if (!holderOf(this.floor, session)) record.turn = null;
    }
  }

  /** Lets a grant begin when nothing earlier plays any more. true: it may begin now. */
  order(session: number, placed: Placed, nowMs: number): boolean {
    this.record(session).placed = placed;
    const holder = holderOf(this.floor, session);
    const rank = holder === undefined ? 0 : rankOf(holder.claim);
    if (this.turnsHere.grant(placed, rank, nowMs) === 'ready') {
      this.record(session).held = null;
      return true;
    }
    this.record(session).held = { placed, askedAtMs: this.of(session).held?.askedAtMs ?? null };
    return false;
  }

  /** Another turn for a grant of a session of this relay. */
  orderAgain(session: number, placed: Placed, nowMs: number): void {
    const old = this.of(session).held?.placed.turn;
    // The same grant goes on waiting: told again, it would wait from now on.
    if (old !== undefined && compareTurns(old, placed.turn) !== 0) this.turnsHere.withdraw(old);
    if (this.order(session, placed, nowMs)) this.begin(session, nowMs);
  }

  /** The running burst of a session of this relay goes on with another turn. */
  renew(session: number, placed: Placed, nowMs: number): void {
    this.record(session).placed = placed;
    this.services.link.renewed(this.talkgroup, session, placed, nowMs);
  }

  /** The grant with this turn may begin: its session is told. */
  ready(turn: Turn, nowMs: number): void {
    for (const [session, { placed }] of this.records.held) {
      if (compareTurns(placed.turn, turn) !== 0) continue;
      this.record(session).held = null;
      this.begin(session, nowMs);
    }
  }

  /** Without turns no grant waits for another burst. */
  beginHeld(nowMs: number): void {
    for (const [session] of this.records.held) {
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
    const { held } = this.of(session);
    if (held === null) return;
    this.record(session).held = null;
    this.turnsHere.withdraw(held.placed.turn);
  }

  get turnsHere() {
    return this.services.link.turns(this.talkgroup);
  }
}
