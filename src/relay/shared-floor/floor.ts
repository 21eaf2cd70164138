// One floor that several relays share: decides it while this relay is its home, and else asks the home.

import type { EndCode } from '../../protocol/codes.js';
import type { Turn } from '../../protocol/turn.js';
import type { ClaimEvent } from '../floor/authority.js';
import type { Talkgroup } from '../members/members.js';
import { askForParts, repeatVerdicts, tellOthers } from './answering.js';
import { decideOwn, denyLate, hearEnd, openFloor } from './at-home.js';
import type { MovedClaim, Part, PartClaim, PartVerdicts } from './bodies.js';
import { decide, keepAhead, loseSessions, makeAnew, takePart } from './deciding.js';
import { HomeSide } from './home-side.js';
import { type Entered, entering, leaving } from './moves.js';
import { partsMs } from './open-bursts.js';
import { deleteClaims, expireClaims, followClaim, followStep } from './own-claims.js';
import { followVerdicts } from './own-verdicts.js';
import { PartSender } from './part-sender.js';
import { withAges } from './parts.js';
import { type SharedServices, SharedState } from './state.js';

export class SharedFloor {
  readonly state: SharedState;
  private readonly services: SharedServices;
  private readonly sender: PartSender;
  /** The relay that decided when this one last looked, null: none did. */
  private homeSeen: number | null = null;
  /** The last turn given here before this relay last became the home. */
  private given: Turn;
  private repeatedAtMs = 0;
  /** A claim came which the home, this relay, did not know. */
  private isStrange = false;

  /** `given` is the last turn that this relay ever gave in the talkgroup. */
  constructor(services: SharedServices, talkgroup: Talkgroup, given: Turn) {
    this.services = services;
    this.given = given;
    const state = new SharedState(services, talkgroup);
    this.state = state;
    this.sender = new PartSender({
      nextV: services.nextV,
      claims: () => state.ownClaims(),
      send: (claims, nowMs) => this.homeSeen !== null && this.sendPart(this.homeSeen, nowMs, claims),
    });
  }

  get lastGiven(): Turn {
    return this.state.home?.lastGiven ?? this.given;
  }

  /** Nothing is left to do, or to be told. */
  get isIdle(): boolean {
    return this.state.isIdle && (this.state.home?.isAlone ?? this.state.isOpen);
  }

  /** The time matters: something runs out, or must be repeated. */
  get isActive(): boolean {
    const isMaking = this.state.home?.isWanting === true;
    return !this.state.isIdle || this.sender.isWaiting || isMaking;
  }

  /** Something is to be repeated. Not while this relay decides alone. */
  get isRepeating(): boolean {
    const { home, isIdle } = this.state;
    if (home === null) return this.sender.isWaiting;
    if (home.isWanting || home.isAlone) return home.isWanting;
    // What was taken away may have left the floor idle.
    return !isIdle || home.sent.isWaiting(this.repeatedAtMs);
  }

  tell(event: ClaimEvent, nowMs: number): void {
    const { state } = this;
    this.look(nowMs);
    if (state.decides) decideOwn(state, event, nowMs);
    else if (followClaim(state, event, nowMs)) this.changed(nowMs);
  }

  private changed(nowMs: number): void {
    const { home } = this.state;
    if (home === null && this.homeSeen !== null) this.sender.changed(nowMs);
  }

  private sendPart(
    to: number,
    nowMs: number,
    claims: readonly PartClaim[] = this.state.ownClaims(),
    isFenced = false,
  ): void {
    const { state, sender } = this;
    sender.renew();
    if (sender.v === 0) sender.v = this.services.nextV(); // a home takes a part without a number for an old one
    state.services.link.sendPart(state.talkgroup, to, state.partOf(claims, sender.v, isFenced, nowMs));
  }

  /** Sees who decides now. */
  look(nowMs: number): void {
    const { state, services } = this;
    const { link } = services;
    if (state.isOpen) return;
    const view = link.view(state.talkgroup);
    if (view.home === link.relay)
      this.beHome(
        view.relays.filter((relay) => relay !== link.relay),
        nowMs,
      );
    else this.follow(view.home, nowMs);
  }

  private beHome(others: readonly number[], nowMs: number): void {
    const { state, services } = this;
    const { link } = services;
    this.sender.stop();
    this.homeSeen = link.relay;
    state.home ??= new HomeSide(link.relay, this.given, nowMs);
    const { home } = state;
    const gone = home.share(others, nowMs);
    for (const relay of gone) {
      const sessions = home.forget(relay);
      if (home.isGathered) loseSessions(state, sessions, nowMs);
    }
    if (home.isWanting) askForParts(state, home, nowMs);
    if (!home.isGathered && home.isComplete(partsMs(state), nowMs)) makeAnew(state, home, nowMs);
  }

  /** Another relay decides. */
  private follow(home: number, nowMs: number): void {
    const { state } = this;
    this.letGo();
    const before = this.homeSeen;
    if (before === home) return;
    this.homeSeen = home;
    if (!state.isIdle || before !== null) this.sender.restart(nowMs);
    else this.sender.forget();
  }

  /** Keeps what the sessions of this relay have. */
  private letGo(): void {
    const { state } = this;
    if (state.home === null) return;
    this.given = this.lastGiven;
    state.forgetOthers();
    state.home = null;
  }

  /** The session moves to another relay. null: its claim, if it has one, does not move. */
  leave(session: number, nowMs: number): MovedClaim | null {
    this.look(nowMs);
    const { state } = this;
    const moved = leaving(state, session, nowMs);
    if (moved === null) return null;
    const lost = { kind: 'lost', session, forGood: false } as const;
    if (state.decides) decide(state, lost, nowMs);
    else followStep(state, lost, nowMs);
    this.changed(nowMs);
    return moved;
  }

  /** The session came from another relay with this claim. */
  enter(moved: MovedClaim, nowMs: number): Entered {
    this.look(nowMs);
    const { state, services } = this;
    if (state.isOpen) return { over: 'mode' };
    const { is, isStrange } = entering(state, moved, services.nextAsk(), nowMs);
    this.isStrange ||= isStrange;
    return is;
  }

  /** What came is known to its session, and may be revoked. */
  entered(nowMs: number): void {
    this.look(nowMs);
    const { state, isStrange } = this;
    this.isStrange = false;
    if (state.home?.isGathered !== true) return this.changed(nowMs);
    if (isStrange) makeAnew(state, state.home, nowMs);
    keepAhead(state, false, nowMs);
    tellOthers(state, nowMs);
  }

  /** The mode or the talk limit may have changed. */
  change(nowMs: number): void {
    const { state } = this;
    const { floorMode: mode, maxTalkMs } = state.talkgroup;
    const event = { kind: 'settings', mode, maxTalkMs } as const;
    this.look(nowMs);
    if (mode === 'open' && !state.isOpen) return this.open(event, nowMs);
    if (mode !== 'open' && state.isOpen) return this.close(event, nowMs);
    if (state.decides) decide(state, event, nowMs);
    else if (followStep(state, event, nowMs)) this.changed(nowMs);
  }

  /** Each relay decides for its own sessions from now on. */
  private open(event: Parameters<typeof decide>[1], nowMs: number): void {
    const { state } = this;
    this.letGo();
    this.sender.stop();
    this.homeSeen = null;
    openFloor(state, event, nowMs);
  }

  /** One relay decides from now on. Of the bursts of this relay the oldest one goes on until it has. */
  private close(event: Parameters<typeof decide>[1], nowMs: number): void {
    const { state, services } = this;
    const { link } = services;
    const view = link.view(state.talkgroup);
    if (view.home === link.relay && view.relays.length === 1) {
      state.home = new HomeSide(link.relay, this.given, nowMs);
      state.home.restart(0, state.turnsHere.seen);
      this.homeSeen = link.relay;
      decide(state, event, nowMs);
      return keepAhead(state, false, nowMs);
    }
    followStep(state, event, nowMs);
    this.look(nowMs);
  }

  /** The talkgroup is deleted: whatever the sessions of this relay have ends. */
  delete(nowMs: number): void {
    const { state } = this;
    this.letGo();
    this.sender.stop();
    deleteClaims(state, nowMs);
  }

  /** Ends what took too long. A relay ends what its own sessions have, and says so. */
  expire(nowMs: number): void {
    const { state } = this;
    this.look(nowMs);
    if (!state.decides) {
      if (expireClaims(state, nowMs)) this.changed(nowMs);
      return;
    }
    denyLate(state, nowMs);
    decide(state, { kind: 'tick', leewayMs: state.leewayMs }, nowMs);
    const { home } = state;
    if (home === null) return;
    for (const relay of home.silent(nowMs)) loseSessions(state, home.lapse(relay), nowMs);
    home.tidyGone(state.floor, nowMs);
    keepAhead(state, false, nowMs);
  }

  /** Repeats what may have been lost. */
  repeat(nowMs: number): void {
    this.look(nowMs);
    this.sender.repeat(nowMs);
    repeatVerdicts(this.state, this.repeatedAtMs, nowMs);
    this.repeatedAtMs = nowMs;
  }

  receivePart(from: number, part: Part, nowMs: number): void {
    this.look(nowMs);
    const { state } = this;
    const { home } = state;
    if (home === null && this.homeSeen !== null) this.services.link.doubt(state.talkgroup, this.homeSeen);
    if (!home?.shares(from)) {
      if (!state.isOpen) this.services.shared.viewsDiffer++;
      return;
    }
    takePart(state, home, from, { part, claims: part.claims.map((claim) => withAges(claim, nowMs)) }, nowMs);
  }

  receiveVerdicts(from: number, { v, verdicts }: PartVerdicts, nowMs: number): void {
    this.look(nowMs);
    if (this.state.isOpen) return;
    if (this.state.home !== null || from !== this.homeSeen) {
      this.services.shared.viewsDiffer++;
      return;
    }
    this.sender.renew();
    // Parts may follow each other faster than their answers come: what did not change since is answered all the same.
    const answers = verdicts.filter(({ session }) => this.sender.isAnsweredBy(session, v, nowMs));
    if (followVerdicts(this.state, answers, v === this.sender.v, nowMs)) this.changed(nowMs);
  }

  /** A home that is new asks for the part. */
  wanted(by: number, nowMs: number): void {
    this.look(nowMs);
    this.sendPart(by, nowMs);
  }

  /** A burst that is over here goes on elsewhere. */
  fenced(nowMs: number): void {
    this.look(nowMs);
    const { state } = this;
    if (state.decides) return keepAhead(state, true, nowMs);
    if (this.homeSeen === null || state.home !== null) return;
    this.sendPart(this.homeSeen, nowMs, state.ownClaims(), true);
  }

  /** The stream of another relay says that the burst with this turn ended. */
  ended(session: number, turn: Turn, code: EndCode, nowMs: number): void {
    this.look(nowMs);
    const { state } = this;
    if (state.home?.isGathered === true) hearEnd(state, state.home, { session, turn, code }, nowMs);
  }

  ready(turn: Turn, nowMs: number): void {
    this.state.ready(turn, nowMs);
  }
}
