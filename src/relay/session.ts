// A session: one radio from WELCOME to its end, over one socket or, resumed, several. The hot path comes first.
import assert from 'node:assert/strict';
import { type Close, closes } from '../protocol/closes.js';
import type { ErrorCode, FrameRefusal, TextRefusal } from '../protocol/codes.js';
import {
  checkFrame,
  ENCRYPTED,
  END,
  HEADER_BYTES,
  readFlags,
  readSequence,
  readTalkgroup,
  START,
  stampFrame,
  unwrapSequence,
  VERSION_1,
} from '../protocol/frame.js';
import { Control } from './control.js';
import { DROPPED, type Peer, SERVICE_TOPIC } from './delivery/peer.js';
import { countClose, countOurClose, type DropReason } from './figures/counts.js';
import { hasPart } from './floors.js';
import type { House } from './house.js';
import type { Budget } from './limits/budget.js';
import { Flood } from './limits/flood.js';
import { type Membership, mayTalk, type Talkgroup, type User } from './members/members.js';
import { type ErrorAbout, say, snapshotOf } from './messages.js';
import type { Subscription } from './reception/subscription.js';
import { Reception } from './reception.js';
import { Refusals } from './refusals.js';
import { Talk } from './talk.js';
import { Telling } from './telling.js';

/** A dispatcher's multi-select: each frame is sent once per talkgroup. */
const TALKGROUPS_TALKING_MAX = 8;
/** After too many bursts. */
const MUTED_MS = 2000;
/** A right in doubt is read again within moments. */
const RETRY_WITHDRAWN_MS = 200;

/** The engine pings a silent socket only, seconds apart. */
const EMPTY_PONGS_MS_MIN = 1000;

/** Thousands live at once: one class, its rarely used parts made when first needed. */
export class Session {
  readonly number: number;
  readonly user: User;
  /** Unix seconds of the token of the newest connection, compared with the user's valid_from at every read. */
  issuedAt = 0;
  /** When its socket last sent anything (monotonic ms). */
  heardAtMs: number;
  readonly reception: Reception;
  readonly telling: Telling;
  /** By which parking finds it; null: nothing resumes it. */
  resumeKey: string | null = null;
  private readonly house: House;
  /** null before the handshake completes and after the close: the engine's socket must not be touched then. */
  private peer: Peer | null = null;
  private isOver = false;
  /** The talk of the last accepted frame: a radio rarely changes its talkgroup between two frames. */
  private lastTalk: Talk | null = null;
  private talks: Map<number, Talk> | null = null;
  private bursts = 0;
  private control: Control | null = null;
  private refusals: Refusals | null = null;
  private flood: Flood | null = null;

  constructor(house: House, number: number, user: User) {
    this.house = house;
    this.number = number;
    this.user = user;
    this.heardAtMs = house.nowMs();
    this.reception = new Reception(this, house);
    this.telling = new Telling(this, house);
  }

  /**
   * One binary message; true: relayed. `message` dies when this returns: the engine takes its buffer back. One from
   * before WELCOME counts in its rate by `arrivedAtMs`.
   */
  receiveAudio(message: ArrayBuffer, arrivedAtMs?: number): boolean {
    const { house, peer } = this;
    const nowMs = house.nowMs();
    this.heardAtMs = nowMs;
    if (peer === null) return this.drop('no_session');
    house.counts.framesIn++;
    const view = new DataView(message); // the one new object per frame
    if (checkFrame(view, house.limits.frameBytes) !== null) return this.refuseFrame('bad_frame', 0, 0, nowMs);

    const flags = readFlags(view);
    const number = readTalkgroup(view);
    let talk = this.lastTalk;
    if (talk === null || talk.number !== number) {
      talk = this.talkIn(number, nowMs);
      if (talk === null) return this.refuseFrame('not_member', number, flags, nowMs);
      this.lastTalk = talk;
    }
    const sentAtMs = arrivedAtMs ?? nowMs;
    if (!talk.bucket.take(sentAtMs)) return this.refuseTooMany(talk, flags, nowMs);
    if (!mayTalk(talk.membership)) return this.drop('withdrawn');

    let started = 0;
    if (!talk.isTalking || (flags & START) !== 0) {
      if (!this.beginBurst(talk, view, flags, nowMs, sentAtMs)) return false;
      started = START;
    }
    const exceeded = talk.spend(message.byteLength - HEADER_BYTES, sentAtMs);
    if (exceeded !== null) return this.refuseExcess(talk, exceeded, flags, nowMs);
    const { feed } = talk;
    talk.relayed++;
    feed.relayed++;
    talk.lastFrameAtMs = nowMs;
    talk.sequence = unwrapSequence(talk.sequence, readSequence(view));
    stampFrame(
      view,
      VERSION_1 | started | talk.emergencyFlag | (flags & (END | ENCRYPTED)),
      this.number,
      talk.burst,
    );
    house.counts.framesRelayed++;
    if (house.sampling.isArmed) house.sampling.take(nowMs, message.byteLength);
    // What nobody but its talker would hear is not handed to the engine.
    if (feed.onlyHearer !== this.reception) {
      house.fanout.audio(peer, feed, message, nowMs);
      if (nowMs >= feed.askAtMs) house.asking.behindFrame(feed, nowMs);
    }
    if (feed.held !== null) house.holding.keep(feed, talk, message, nowMs);
    if ((flags & END) !== 0) house.floors.release(talk, 'released', nowMs);
    return true;
  }

  /** Its talk in the talkgroup with this number, made when there is none; null: not a member. */
  talkIn(number: number, nowMs: number): Talk | null {
    const known = this.talks?.get(number);
    if (known !== undefined) return known;
    const membership = this.user.memberships.get(number);
    if (membership === undefined) return null;
    const talk = new Talk(this, membership, this.house.limits, nowMs);
    this.talks ??= new Map();
    this.talks.set(number, talk);
    return talk;
  }

  /** Its talk there; undefined while it neither spoke nor asked to. */
  talkAt(talkgroup: Pick<Talkgroup, 'number'>): Talk | undefined {
    return this.talks?.get(talkgroup.number);
  }

  /** false: no burst begins with this frame, and the talker was told why if there was something to tell. */
  private beginBurst(talk: Talk, view: DataView, flags: number, nowMs: number, sentAtMs: number): boolean {
    const { floors, limits } = this.house;
    const { talkgroup } = talk;
    const isStart = (flags & START) !== 0;
    // What is left of a burst that silence ended: no speech in it, so no burst is begun for it.
    if (!talk.isTalking && (flags & END) !== 0 && view.byteLength === HEADER_BYTES) {
      if (talk.burst !== 0) floors.release(talk, 'released', nowMs);
      return this.drop('no_burst');
    }
    if (this.reception.subscriptionTo(talkgroup).mode !== 'talk')
      return this.refuseFrame('listen_only', talkgroup.number, flags, nowMs);
    if (nowMs < talk.mutedUntilMs) return this.drop('muted');
    if (talk.isMuted && !isStart && nowMs - talk.lastFrameAtMs < limits.talkSilenceMs) {
      talk.lastFrameAtMs = nowMs;
      return this.drop('muted');
    }
    const exceeded = talk.exceeded(view.byteLength - HEADER_BYTES, sentAtMs);
    if (exceeded !== null) return this.refuseExcess(talk, exceeded, flags, nowMs);
    talk.isMuted = false;
    talk.lastFrameAtMs = nowMs;
    if (talk.isTalking) floors.release(talk, 'released', nowMs);
    if (talk.burst === 0) {
      if (this.talksElsewhere(talk) >= TALKGROUPS_TALKING_MAX)
        return this.refuseFrame('too_many_talkgroups', talkgroup.number, flags, nowMs);
      if (this.muteIfTooMany(talk, nowMs))
        return this.refuseFrame('rate_limited', talkgroup.number, flags, nowMs);
    }
    this.refusals?.forget(talkgroup.number);
    talk.sequence = readSequence(view);
    floors.begin(talk, nowMs);
    return talk.isTalking || this.drop('denied');
  }

  /** In how many other talkgroups it has the floor or waits for it. */
  private talksElsewhere(here: Talk): number {
    let count = 0;
    for (const talk of this.talks?.values() ?? []) if (talk !== here && hasPart(talk)) count++;
    return count;
  }

  /** true: one more burst would be too many, and it is muted there for a while. */
  private muteIfTooMany(talk: Talk, nowMs: number): boolean {
    if (!talk.starts.isFull(nowMs)) return false;
    talk.mutedUntilMs = nowMs + MUTED_MS;
    return true;
  }

  /** FLOOR_REQUEST may go to the floor; else why not. `retryMs`: when it may be asked again. */
  checkRequest(talk: Talk, nowMs: number): FloorRefusal | null {
    if (!mayTalk(talk.membership)) return { code: 'retry_later', retryMs: RETRY_WITHDRAWN_MS };
    if (this.reception.subscriptionTo(talk.talkgroup).mode !== 'talk') return { code: 'listen_only' };
    if (talk.burst !== 0) return null;
    if (this.talksElsewhere(talk) >= TALKGROUPS_TALKING_MAX) return { code: 'too_many_talkgroups' };
    if (nowMs >= talk.mutedUntilMs && !this.muteIfTooMany(talk, nowMs)) return null;
    return { code: 'retry_later', retryMs: Math.ceil(talk.mutedUntilMs - nowMs) };
  }

  nextBurst(): number {
    return ++this.bursts;
  }

  private drop(reason: DropReason): false {
    this.house.counts.dropped[reason]++;
    return false;
  }

  /** All sockets of the user together send too much; when that goes on, the burst that one of them began last ends. */
  private refuseExcess(talk: Talk, exceeded: Budget, flags: number, nowMs: number): false {
    if (talk.isTalking) talk.lastFrameAtMs = nowMs; // refused, but not silent: T1 does not end the burst
    if (exceeded.isExceededForLong(nowMs)) {
      const memberships = exceeded === talk.budget ? [talk.membership] : this.user.memberships.values();
      this.house.floors.endNewest(memberships, nowMs);
    }
    return this.refuseTooMany(talk, flags, nowMs, 'over_budget');
  }

  /** Beyond a rate. An END ends its burst all the same, or the others would wait for T1 to talk. */
  private refuseTooMany(talk: Talk, flags: number, nowMs: number, reason?: DropReason): false {
    if ((flags & END) !== 0 && talk.isTalking) this.house.floors.release(talk, 'released', nowMs);
    return this.refuseFrame('rate_limited', talk.talkgroup.number, flags, nowMs, reason);
  }

  /** Drops the frame; its stream, until its next START or 2 s of silence, hears of it once. */
  private refuseFrame(
    code: FrameRefusal,
    number: number,
    flags: number,
    nowMs: number,
    reason: DropReason = code,
  ): false {
    this.drop(reason);
    this.flood ??= new Flood(this.house.limits.framesPerSecond);
    if (this.flood.hit(nowMs)) {
      this.close(closes.rate_limited);
      return false;
    }
    this.refusals ??= new Refusals();
    if (this.refusals.isNews(number, (flags & START) !== 0, nowMs) && this.mayBeTold(nowMs)) {
      this.tellRefusal(code, number);
    }
    return false;
  }

  private tellRefusal(code: ErrorCode, number: number): void {
    const talkgroup_id = this.talks?.get(number)?.talkgroup.id;
    this.send(say.error(code, code === 'not_member' ? { number } : { talkgroup_id }));
  }

  /** Whether one more message on its own account is within its rate: who does not listen must not make us talk. */
  mayBeTold(nowMs: number): boolean {
    return this.controlled(nowMs).take(nowMs);
  }

  /** The same of questions to the database about an id that nobody here knows. */
  mayAskOfUnknown(nowMs: number): boolean {
    return this.controlled(nowMs).takeUnknown(nowMs);
  }

  /** One text message; one from before WELCOME counts in its rates by `arrivedAtMs`. */
  receiveText(message: ArrayBuffer, arrivedAtMs?: number): void {
    const nowMs = this.house.nowMs();
    this.heardAtMs = nowMs;
    const times = { nowMs, arrivedAtMs: arrivedAtMs ?? nowMs };
    this.controlled(times.arrivedAtMs).receive(message, times);
  }

  /** Answers a text with an ERROR, and counts it. */
  refuseText(code: TextRefusal, about: ErrorAbout): void {
    this.house.counts.textsRefused[code]++;
    this.send(say.error(code, about));
  }

  private controlled(nowMs: number): Control {
    this.control ??= new Control(this, this.house, nowMs);
    return this.control;
  }

  /** The handshake is complete: subscribes and says WELCOME. A socket it still has is taken over. */
  open(peer: Peer, isResumed: boolean): void {
    const { house } = this;
    assert(!this.isOver, 'a session that ended has no socket again');
    if (this.peer !== null) this.letGo(this.peer);
    this.peer = peer;
    peer.subscribe(SERVICE_TOPIC);
    this.reception.attach(peer);
    const nowMs = house.nowMs();
    this.heardAtMs = nowMs;
    const resume = { resume_token: house.parking.tokenFor(this), resumed: isResumed };
    this.send(say.welcome(this, resume, house.limits, this.telling.begin()));
    this.telling.ask();
    // Behind WELCOME: what it is told of floor and queue concerns the session named there.
    for (const talk of this.talks?.values() ?? []) house.floors.returned(talk, nowMs);
  }

  /** The network changed before the old socket was seen to die: what is still in it is dropped. */
  private letGo(old: Peer): void {
    this.reception.detach();
    old.getUserData().session = null; // so the engine's callback counts nothing
    countClose(this.house.counts, closes.resumed.code);
    countOurClose(this.house.counts, closes.resumed);
    old.end(closes.resumed.code, closes.resumed.reason);
  }

  /** The talkgroup as it is now. */
  snapshot(talkgroup: Talkgroup) {
    return snapshotOf(talkgroup, this.house.fanout.online(talkgroup.feed));
  }

  /** The engine has answered a ping, or brought a pong that answers none of ours; too many of them are abuse. */
  pinged(): void {
    const nowMs = this.house.nowMs();
    this.heardAtMs = nowMs;
    this.controlled(nowMs).pinged(nowMs);
  }

  /** A pong. An empty one answers the engine's own pings, of which there are few. */
  ponged(payload: ArrayBuffer): void {
    const nowMs = this.house.nowMs();
    const sinceMs = nowMs - this.heardAtMs;
    this.heardAtMs = nowMs;
    const isOurs =
      payload.byteLength === 0 ? sinceMs >= EMPTY_PONGS_MS_MIN : this.reception.pong(payload, nowMs);
    if (isOurs) return;
    this.house.counts.strayPongs++;
    this.pinged();
  }

  /** From here on it hears the talkgroup this way, and talks there only in the mode for it. */
  subscribe(membership: Membership, subscription: Subscription, nowMs: number): void {
    const talk = this.talkAt(membership.talkgroup);
    if (talk !== undefined && subscription.mode !== 'talk')
      this.house.floors.release(talk, 'released', nowMs);
    this.reception.subscribe(membership, subscription);
  }

  /** The membership is gone for good: ends a burst there and forgets the talk. */
  forget(membership: Membership, code: 'left' | 'deleted'): void {
    const { talkgroup } = membership;
    this.reception.forget(membership);
    const talk = this.talkAt(talkgroup);
    if (talk === undefined) return;
    this.house.floors.remove(talk, code, this.house.nowMs());
    this.talks?.delete(talkgroup.number);
    if (this.lastTalk === talk) this.lastTalk = null;
  }

  /** Its socket, null while it has none. */
  get socket(): Peer | null {
    return this.peer;
  }

  get isLive(): boolean {
    return this.peer !== null;
  }

  /** Whether it has the floor somewhere. */
  get isTalker(): boolean {
    for (const talk of this.talks?.values() ?? []) if (talk.burst !== 0) return true;
    return false;
  }

  /** A control message; one that does not fit any more ends the session in the next turn, for none is lost silently. */
  send(text: string): void {
    const { peer } = this;
    if (peer?.send(Buffer.from(text), false) !== DROPPED) return;
    this.house.later(this, () => {
      if (this.peer === peer) this.close(closes.slow_consumer);
    });
  }

  /** Closes from our side; what may come back is kept for a while, all else ends. */
  close(close: Close, talkEnd: 'disconnected' | 'disabled' = 'disconnected'): void {
    const { peer } = this;
    if (this.isOver || (peer === null && close.isResumable)) return;
    const { code, reason } = close;
    if (peer !== null) countOurClose(this.house.counts, close);
    try {
      if (close.isResumable) this.park();
      else this.end(talkEnd);
      this.house.log.info({ session: this.number, user: this.user.id, code, reason }, 'session closed');
    } finally {
      peer?.end(code, reason); // after a throw nobody else knows the socket
    }
  }

  /** The socket is gone; also called by the engine in the middle of `close`. */
  closed(code: number): void {
    if (this.peer === null) return;
    this.detach();
    // 1000: the client said that it will not come back.
    if (code === closes.normal.code) this.end('disconnected');
    else this.park();
    this.house.log.info({ session: this.number, user: this.user.id, code }, 'connection lost');
  }

  private park(): void {
    const { house } = this;
    if (house.limits.resumeMs === 0) return this.end('disconnected');
    this.detach();
    const nowMs = house.nowMs();
    for (const talk of this.talks?.values() ?? []) house.floors.lose(talk, false, nowMs);
    house.parking.park(this, nowMs);
  }

  private detach(): void {
    if (this.peer === null) return;
    this.peer = null;
    this.telling.stop();
    this.reception.detach();
  }

  /** Nobody can resume it any more. */
  end(talkEnd: 'disconnected' | 'disabled'): void {
    if (this.isOver) return;
    this.isOver = true;
    const { floors } = this.house;
    const nowMs = this.house.nowMs();
    for (const talk of this.talks?.values() ?? []) {
      if (talkEnd === 'disabled') floors.remove(talk, 'disabled', nowMs);
      else floors.lose(talk, true, nowMs);
    }
    this.detach();
    this.house.parking.forget(this);
    this.user.sessions.delete(this);
    this.house.ended(this);
  }

  /** What is left to do when `end` threw, each part by itself. */
  abandoning(): (() => void)[] {
    const { floors } = this.house;
    const nowMs = this.house.nowMs();
    this.isOver = true;
    const lost = [...(this.talks?.values() ?? [])].flatMap((talk) => [
      () => floors.lose(talk, true, nowMs),
      () => talk.talkgroup.talking.delete(talk),
    ]);
    const unheard = [...this.user.memberships.values()].map(({ talkgroup }) => {
      return () => talkgroup.feed.exit(this.reception);
    });
    return [...lost, () => this.detach(), ...unheard];
  }
}

/** Why FLOOR_REQUEST does not get to the floor. */
export interface FloorRefusal {
  readonly code: 'listen_only' | 'retry_later' | 'too_many_talkgroups';
  readonly retryMs?: number;
}
