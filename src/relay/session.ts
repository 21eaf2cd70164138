// A session: one radio's connection from WELCOME to close. The hot path, receiveAudio, comes first.
import type { DeviceId } from '../ids.js';
import type { Account } from '../talk/store.js';
import { type Close, closes } from './closes.js';
import { Control } from './control.js';
import type { Counts, DropReason } from './counts.js';
import { type Fanout, type Peer, SERVICE_TOPIC } from './fanout.js';
import { Flood } from './flood.js';
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
} from './frame.js';
import { mayTalk, type Talkgroup, type User } from './members.js';
import { type ErrorCode, type Limits, say, snapshotOf } from './messages.js';
import { Refusals } from './refusals.js';
import { Talk, type TalkEnd } from './talk.js';

/** What every session of a relay shares. */
export interface House {
  readonly limits: Limits & { readonly controlPerSecond: number; readonly talkSilenceMs: number };
  readonly fanout: Fanout;
  readonly counts: Counts;
  readonly log: { info(fields: object, message: string): void; error(fields: object, message: string): void };
  /** Monotonic milliseconds. */
  readonly nowMs: () => number;
  /** false: no such device. Rejects when the fix could not be stored. */
  readonly storeFix: (fix: { deviceId: DeviceId; lat: number; lng: number; alt: number }) => Promise<boolean>;
  /** Whether a talkgroup has this number, for the error of somebody who is no member of it. */
  readonly talkgroupExists: (number: number) => Promise<boolean>;
  /** Called once, when the session is over. */
  readonly ended: (session: Session) => void;
}

/** A dispatcher's multi-select: each frame is sent once per talkgroup. */
const TALKGROUPS_TALKING_MAX = 8;
/** After too many bursts. */
const MUTED_MS = 2000;

/** Thousands live at once: one class, its rarely used parts made when first needed. */
export class Session {
  readonly number: number;
  readonly user: User;
  /** Unix seconds of the token, compared with the user's valid_from at every read. */
  readonly issuedAt: number;
  /** When this socket last sent anything (monotonic ms). */
  heardAtMs: number;
  private readonly house: House;
  /** null before the handshake completes and after the close: the engine's socket must not be touched then. */
  private peer: Peer | null = null;
  /** The talk of the last accepted frame: a radio rarely changes its talkgroup between two frames. */
  private lastTalk: Talk | null = null;
  private talks: Map<number, Talk> | null = null;
  private talking = 0;
  private burstsStarted = 0;
  private control: Control | null = null;
  private refusals: Refusals | null = null;
  private flood: Flood | null = null;
  private missedSome = false;

  constructor(house: House, number: number, user: User, issuedAt: number) {
    this.house = house;
    this.number = number;
    this.user = user;
    this.issuedAt = issuedAt;
    this.heardAtMs = house.nowMs();
  }

  /** One binary message; true: relayed. `message` dies when this returns: the engine takes its buffer back. */
  receiveAudio(message: ArrayBuffer): boolean {
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
    if (talk === null || talk.membership.talkgroup.number !== number) {
      talk = this.talkIn(number, nowMs);
      if (talk === null) return this.refuseFrame('not_member', number, flags, nowMs);
      this.lastTalk = talk;
    }
    if (!mayTalk(talk.membership)) return this.drop('withdrawn');
    if (!talk.bucket.take(nowMs)) return this.refuseFrame('rate_limited', number, flags, nowMs);

    let started = 0;
    if (talk.burst === 0 || (flags & START) !== 0) {
      if (!this.startBurst(talk, view, flags, nowMs)) return false;
      started = START;
    }
    talk.frames++;
    talk.lastFrameAtMs = nowMs;
    talk.sequence = unwrapSequence(talk.sequence, readSequence(view));
    stampFrame(view, VERSION_1 | started | (flags & (END | ENCRYPTED)), this.number, talk.burst);
    house.counts.framesRelayed++;
    house.fanout.audio(peer, talk.membership.talkgroup, message);
    if ((flags & END) !== 0) this.endBurst(talk, 'released');
    return true;
  }

  private talkIn(number: number, nowMs: number): Talk | null {
    const known = this.talks?.get(number);
    if (known !== undefined) return known;
    const membership = this.user.memberships.get(number);
    if (membership === undefined) return null;
    const talk = new Talk(this, membership, this.house.limits.framesPerSecond, nowMs);
    this.talks ??= new Map();
    this.talks.set(number, talk);
    return talk;
  }

  /** false: no burst begins with this frame, and the talker was told why if there was something to tell. */
  private startBurst(talk: Talk, view: DataView, flags: number, nowMs: number): boolean {
    const { talkgroup } = talk.membership;
    // What is left of a burst that silence ended: no speech in it, so no burst is begun for it.
    if (talk.burst === 0 && (flags & END) !== 0 && view.byteLength === HEADER_BYTES)
      return this.drop('no_burst');
    if (nowMs < talk.mutedUntilMs) return this.drop('muted');
    if (talk.burst !== 0) this.endBurst(talk, 'released');
    if (this.talking >= TALKGROUPS_TALKING_MAX)
      return this.refuseFrame('too_many_talkgroups', talkgroup.number, flags, nowMs);
    if (!talk.mayStart(nowMs)) {
      talk.mutedUntilMs = nowMs + MUTED_MS;
      return this.refuseFrame('rate_limited', talkgroup.number, flags, nowMs);
    }
    this.refusals?.forget(talkgroup.number);
    talk.burst = ++this.burstsStarted;
    talk.startedAt = Date.now();
    talk.startedAtMs = nowMs;
    talk.frames = 0;
    talk.sequence = readSequence(view);
    this.talking++;
    talkgroup.talking.add(talk);
    this.house.counts.bursts++;
    this.house.fanout.event(talkgroup, (event) => say.talkStarted(talk, event));
    return true;
  }

  /** Ends the running burst of a talk and tells every member; without one it does nothing. */
  endBurst(talk: Talk, code: TalkEnd): void {
    if (talk.burst === 0) return;
    const { talkgroup } = talk.membership;
    const durationMs = this.house.nowMs() - talk.startedAtMs;
    this.house.fanout.event(talkgroup, (event) => say.talkEnded(talk, event, code, durationMs));
    talkgroup.talking.delete(talk);
    talk.burst = 0;
    this.talking--;
  }

  private drop(reason: DropReason): false {
    this.house.counts.dropped[reason]++;
    return false;
  }

  /** Drops the frame; its stream, until its next START or 2 s of silence, hears of it once. */
  private refuseFrame(
    code: 'bad_frame' | 'not_member' | 'rate_limited' | 'too_many_talkgroups',
    number: number,
    flags: number,
    nowMs: number,
  ): false {
    this.drop(code);
    this.flood ??= new Flood(this.house.limits.framesPerSecond);
    if (this.flood.hit(nowMs)) {
      this.close(closes.rate_limited);
      return false;
    }
    this.refusals ??= new Refusals();
    if (this.refusals.isNews(number, (flags & START) !== 0, nowMs) && this.controlled().take(nowMs)) {
      this.tellRefusal(code, number);
    }
    return false;
  }

  private tellRefusal(code: ErrorCode, number: number): void {
    const talkgroup_id = this.talks?.get(number)?.membership.talkgroup.id;
    if (code !== 'not_member') return this.send(say.error(code, { talkgroup_id }));
    // Far from the hot path: once per stream, and only for somebody who is no member.
    this.house.talkgroupExists(number).then(
      (exists) => this.send(say.error(exists ? 'not_member' : 'unknown_talkgroup', { number })),
      () => this.send(say.error('not_member', { number })), // expected while the database is away
    );
  }

  /** One text message. */
  receiveText(message: ArrayBuffer): void {
    const nowMs = this.house.nowMs();
    this.heardAtMs = nowMs;
    this.controlled().receive(message, nowMs);
  }

  private controlled(): Control {
    this.control ??= new Control(this, this.house);
    return this.control;
  }

  /** The handshake is complete: subscribes to all talkgroups and says WELCOME. */
  open(peer: Peer, account: Account): void {
    this.peer = peer;
    peer.subscribe(SERVICE_TOPIC);
    const memberships = [...this.user.memberships.values()];
    for (const { talkgroup } of memberships) this.hear(talkgroup);
    const snapshots = memberships.map(({ talkgroup }) => this.snapshot(talkgroup));
    this.send(say.welcome(this.number, account, this.house.limits, snapshots));
  }

  hear(talkgroup: Talkgroup): void {
    this.peer?.subscribe(talkgroup.audioTopic);
    this.peer?.subscribe(talkgroup.eventTopic);
  }

  unhear(talkgroup: Talkgroup): void {
    this.peer?.unsubscribe(talkgroup.audioTopic);
    this.peer?.unsubscribe(talkgroup.eventTopic);
  }

  /** The engine dropped something meant for this socket, and says not what. */
  overrun(): void {
    this.missedSome = true;
  }

  /** All that was written has left the engine's buffer. */
  drained(): void {
    if (!this.missedSome) return;
    this.missedSome = false;
    this.resync();
  }

  /** Fresh snapshots of everything, for a client that missed events. */
  resync(): void {
    const held = [...this.user.memberships.values()].filter(({ granted }) => granted);
    this.send(say.subscribed(held.map(({ talkgroup }) => this.snapshot(talkgroup))));
  }

  /** The engine has answered a ping; too many of them are abuse. */
  pinged(): void {
    this.controlled().pinged(this.house.nowMs());
  }

  snapshot(talkgroup: Talkgroup) {
    return snapshotOf(talkgroup, this.house.fanout.online(talkgroup));
  }

  /** The membership is gone for good: ends a burst there and forgets the talk. */
  forget(talkgroup: Talkgroup, code: 'left' | 'deleted'): void {
    const talk = this.talks?.get(talkgroup.number);
    if (talk === undefined) return;
    this.endBurst(talk, code);
    this.talks?.delete(talkgroup.number);
    if (this.lastTalk === talk) this.lastTalk = null;
  }

  /** A control message; one that does not fit any more ends the session, for none is lost silently. */
  send(text: string): void {
    if (this.peer?.send(text, false) === 2) this.close(closes.slow_consumer);
  }

  /** Ends the running bursts with `code` and closes from our side. */
  close({ code, reason }: Close, talkEnd: TalkEnd = 'disconnected'): void {
    const { peer } = this;
    if (peer === null) return;
    this.leave(talkEnd);
    this.house.log.info({ session: this.number, user: this.user.id, code, reason }, 'closed');
    peer.end(code, reason);
  }

  /** The socket is gone; also called by the engine in the middle of `close`. */
  closed(code: number): void {
    if (this.peer === null) return;
    this.leave('disconnected');
    this.house.log.info({ session: this.number, user: this.user.id, code }, 'gone');
  }

  private leave(talkEnd: TalkEnd): void {
    this.peer = null;
    for (const talk of this.talks?.values() ?? []) this.endBurst(talk, talkEnd);
    this.user.sessions.delete(this);
    this.house.ended(this);
  }
}
