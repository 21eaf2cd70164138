// A session: one radio from WELCOME to its end, over one socket or, resumed, several.
import assert from 'node:assert/strict';
import { readId } from '../../ids.js';
import { type Close, closes } from '../../protocol/closes.js';
import type { TextRefusal } from '../../protocol/codes.js';
import { DROPPED, type Peer, SERVICE_TOPIC } from '../delivery/peer.js';
import { countClose, countOurClose } from '../figures/counts.js';
import type { Talk } from '../floor/talk.js';
import { type Membership, named, type Talkgroup, type User } from '../members/members.js';
import type { Receiver } from '../reception/receiver.js';
import { Reception } from '../reception/reception.js';
import type { Subscription } from '../reception/subscription.js';
import { Allowance } from './allowance.js';
import type { Arrival, LastRefusal } from './arrival.js';
import { type ErrorAbout, errorText, talkgroupJoined, talkgroupLeft, welcomeText } from './messages.js';
import type { Resumable } from './parking.js';
import { followKeys, withdraw } from './permissions.js';
import type { SessionServices } from './services.js';
import { Telling } from './telling.js';
import { type Sender, Uplink } from './uplink.js';

/** The engine pings a silent socket only, seconds apart. */
const EMPTY_PONGS_MS_MIN = 1000;

/** Thousands live at once: one class, and its rarely used parts are made when they are first needed. */
export class Session implements Receiver, Sender, Resumable {
  readonly number: number;
  readonly user: User;
  issuedAt = 0;
  heardAtMs: number;
  readonly reception: Reception;
  readonly telling: Telling;
  resumeKey: string | null = null;
  private readonly services: SessionServices<Session>;
  /** null before the handshake completes and after the close: the engine's socket must not be touched then. */
  private peer: Peer | null = null;
  isOver = false;
  private ownUplink: Uplink | null = null;
  /** Number of its last burst. */
  bursts = 0;
  /** Times that it has moved to another relay. */
  moves = 0;
  private ownAllowance: Allowance | null = null;
  /** Of its newest connection. null: before the first. */
  arrival: Arrival | null = null;
  lastRefusal: LastRefusal | null = null;

  constructor(services: SessionServices<Session>, number: number, user: User) {
    this.services = services;
    this.number = number;
    this.user = user;
    this.heardAtMs = services.nowMs();
    this.reception = new Reception(this, services);
    this.telling = new Telling(this, services);
  }

  /** One binary message. true: relayed. One from before WELCOME counts in its rate by `arrivedAtMs`. */
  receiveAudio(message: ArrayBuffer, arrivedAtMs?: number): boolean {
    return this.uplink.receive(message, arrivedAtMs);
  }

  /** What it sends, and what it has of floors. Made at its first frame or request. */
  get uplink(): Uplink {
    this.ownUplink ??= new Uplink(this, this.services);
    return this.ownUplink;
  }

  /** Its talk there. undefined while it neither talked nor asked to. */
  talkAt(number: number): Talk | undefined {
    return this.ownUplink?.talks.at(number);
  }

  talks(): Iterable<Talk> {
    return this.ownUplink?.talks.all() ?? [];
  }

  /** Whether it has the floor somewhere. */
  get isTalker(): boolean {
    for (const talk of this.talks()) if (talk.burst !== 0) return true;
    return false;
  }

  nextBurst(): number {
    return ++this.bursts;
  }

  ownFrames(talkgroup: Talkgroup): number {
    return this.talkAt(talkgroup.number)?.relayed ?? 0;
  }

  talksAlone(talkgroup: number): boolean {
    const own = this.talkAt(talkgroup);
    return own?.claim === 'talks' && this.services.bursts.countIn(own.talkgroup) === 1;
  }

  /** How often it may ask. Made at the first text or the first refusal. */
  allowance(nowMs: number): Allowance {
    this.ownAllowance ??= new Allowance(this.services.limits.controlPerSecond, nowMs);
    return this.ownAllowance;
  }

  /** Within its rate: a client that does not read must not make the relay talk. */
  mayBeTold(nowMs: number): boolean {
    return this.allowance(nowMs).take(nowMs);
  }

  /** One text message. One from before WELCOME counts in its rates by `arrivedAtMs`. */
  receiveText(message: ArrayBuffer, arrivedAtMs?: number): void {
    const nowMs = this.services.nowMs();
    this.heardAtMs = nowMs;
    this.services.texts.receive(this, message, { nowMs, arrivedAtMs: arrivedAtMs ?? nowMs });
  }

  /** Answers a text with an ERROR, and counts it. */
  refuseText(code: TextRefusal, about: ErrorAbout): void {
    this.services.counts.textsRefused[code]++;
    this.refuse(code, about.talkgroup_id, errorText(code, about));
  }

  refuse(code: string, talkgroupId: string | undefined, text: string): void {
    this.lastRefusal = { code, talkgroupId: readId(talkgroupId), atMs: this.services.nowMs() };
    this.send(text);
  }

  /** The engine has answered a ping, or brought a pong that answers none of ours. Too many of them are abuse. */
  pinged(): void {
    const nowMs = this.services.nowMs();
    this.heardAtMs = nowMs;
    if (this.allowance(nowMs).isFloodOfPings(nowMs)) this.close(closes.rate_limited);
  }

  /** It answers our ping, or one of the engine, which are empty and few. One that nothing asked for counts as a ping. */
  ponged(payload: ArrayBuffer): void {
    const nowMs = this.services.nowMs();
    const sinceMs = nowMs - this.heardAtMs;
    this.heardAtMs = nowMs;
    const isOfEngine = payload.byteLength === 0 && sinceMs >= EMPTY_PONGS_MS_MIN;
    if (isOfEngine || (payload.byteLength > 0 && this.reception.pong(payload, nowMs))) return;
    this.services.counts.strayPongs++;
    this.pinged();
  }

  missed(memberships?: ReadonlySet<Membership>): void {
    this.telling.resync(memberships);
  }

  /** From now on it hears the talkgroup this way, and talks there only in the mode `talk`. */
  subscribe(membership: Membership, subscription: Subscription, nowMs: number): void {
    const talk = this.talkAt(membership.talkgroup.number);
    if (talk !== undefined && subscription.mode !== 'talk')
      this.services.floor.release(talk, 'released', nowMs);
    this.reception.subscribe(membership, subscription);
  }

  hears(talkgroup: Talkgroup): boolean {
    return this.reception.subscriptionTo(talkgroup).mode !== 'none';
  }

  withdrawn(membership: Membership): void {
    withdraw(this, membership, this.services);
  }

  granted(membership: Membership): void {
    this.reception.hear(membership);
  }

  hearing(membership: Membership): void {
    followKeys(this, membership, this.services);
  }

  joined(membership: Membership): void {
    this.reception.hear(membership);
    this.send(talkgroupJoined(this.services.snapshot(membership)));
  }

  /** Ends a burst there, and forgets the talk. */
  left(membership: Membership, reason: 'left' | 'deleted'): void {
    const { talkgroup } = membership;
    this.reception.forget(membership);
    this.ownAllowance?.forget(talkgroup);
    const talk = this.talkAt(talkgroup.number);
    if (talk !== undefined) this.uplink.leave(talk, reason, this.services.nowMs());
    this.send(talkgroupLeft(talkgroup, reason));
  }

  get socket(): Peer | null {
    return this.peer;
  }

  get isLive(): boolean {
    return this.peer !== null;
  }

  later(act: () => void): void {
    this.services.later(this, act);
  }

  /** A text. If it does not fit into the buffer, the session ends in the next turn: no text is lost silently. */
  send(text: string): void {
    const { peer } = this;
    if (peer?.send(Buffer.from(text), false) !== DROPPED) return;
    this.later(() => {
      if (this.peer === peer) this.close(closes.slow_consumer);
    });
  }

  /** The handshake is complete: subscribes and says WELCOME. A socket that it still has is replaced. */
  open(peer: Peer, isResumed: boolean): void {
    const { services } = this;
    assert(!this.isOver, 'a session that ended has no socket again');
    this.letGo();
    this.peer = peer;
    peer.subscribe(SERVICE_TOPIC);
    this.reception.attach(peer);
    const nowMs = services.nowMs();
    this.heardAtMs = nowMs;
    const resume = { resume_token: services.parking.tokenFor(this), resumed: isResumed };
    this.send(welcomeText(this, resume, services, this.telling.begin()));
    this.telling.ask();
    // After WELCOME: what it is told of floor and queue concerns the session named there.
    for (const talk of this.talks()) services.floor.returned(talk, nowMs);
  }

  /** It goes on over another socket, here or at another relay: what is still in this one is dropped. */
  letGo(): void {
    const { peer: old } = this;
    if (old === null) return;
    this.detach();
    old.getUserData().session = null; // so the engine's callback counts nothing
    countClose(this.services.counts, closes.resumed.code);
    countOurClose(this.services.counts, closes.resumed.reason);
    old.end(closes.resumed.code, closes.resumed.reason);
  }

  /** Closes from our side. What may come back is kept for a while, all else ends. */
  close(close: Close, talkEnd: 'disconnected' | 'disabled' = 'disconnected'): void {
    const { peer } = this;
    if (this.isOver || (peer === null && close.isResumable)) return;
    const { code, reason } = close;
    if (peer !== null) countOurClose(this.services.counts, reason);
    try {
      if (close.isResumable) this.park();
      else this.end(talkEnd);
      this.services.log.info({ session: this.number, ...named(this.user), code, reason }, 'session closed');
    } finally {
      peer?.end(code, reason); // after a throw no other part knows the socket
    }
  }

  /** The socket is gone. Also called by the engine in the middle of `close`. */
  closed(code: number): void {
    if (this.peer === null) return;
    this.detach();
    const { log } = this.services;
    const about = { session: this.number, ...named(this.user), code };
    if (code === closes.normal.code) {
      this.end('disconnected'); // the client said that it will not come back
      log.info(about, 'connection closed by the client');
    } else {
      this.park();
      log.info(about, 'connection lost');
    }
  }

  private park(): void {
    const { services } = this;
    if (services.limits.resumeMs === 0) return this.end('disconnected');
    this.detach();
    const nowMs = services.nowMs();
    for (const talk of this.talks()) services.floor.lose(talk, false, nowMs);
    services.parking.park(this, nowMs);
  }

  private detach(): void {
    if (this.peer === null) return;
    this.peer = null;
    this.telling.stop();
    this.reception.detach();
  }

  /** No client can resume it any more. */
  end(talkEnd: 'disconnected' | 'disabled'): void {
    if (this.isOver) return;
    this.isOver = true;
    const { floor, parking, nowMs, ended } = this.services;
    const now = nowMs();
    for (const talk of this.talks()) {
      if (talkEnd === 'disabled') floor.remove(talk, 'disabled', now);
      else floor.lose(talk, true, now);
    }
    this.detach();
    parking.forget(this);
    this.user.sessions.delete(this);
    ended(this);
  }

  /** What is left to do when `end` threw, each part by itself. */
  abandoning(): (() => void)[] {
    const { floor, bursts, nowMs } = this.services;
    const now = nowMs();
    this.isOver = true;
    const feeds = [...this.user.memberships.values()].map(({ talkgroup }) => talkgroup.feed);
    return [
      ...[...this.talks()].flatMap((talk) => [() => floor.lose(talk, true, now), () => bursts.delete(talk)]),
      () => this.detach(),
      ...feeds.map((feed) => () => feed.exit(this.reception)),
    ];
  }
}
