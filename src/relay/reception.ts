// What one session hears: its subscriptions, and whether its socket keeps up with them.
import type { MissedAudio } from '../protocol/bodies.js';
import { closes } from '../protocol/closes.js';
import { type Feed, heldBy, topicOf } from './delivery/feed.js';
import type { Hearer } from './delivery/hearer.js';
import type { Peer } from './delivery/peer.js';
import type { House } from './house.js';
import type { Membership, Talkgroup } from './members/members.js';
import { say } from './messages.js';
import { came, went } from './presence.js';
import { Lag } from './reception/lag.js';
import { DEFAULT, isHeard, type Subscription } from './reception/subscription.js';
import type { Session } from './session.js';

/** A receiver slower than this is no use as a radio: without an answer for so long it is closed. */
const UNANSWERED_MS_MAX = 10_000;
/** Back from lagging: well below where it began, or it would go to and fro. */
const BACK_MS = 250;
const SYNC_MS_MIN = 1000;
/** Audio within the last second: the receiver is pinged. */
export const HEARD_MS = 1000;

/** While a receiver is out of the audio topics: since when, and what had been passed on to it by then. */
interface Behind {
  readonly sinceMs: number;
  /** The engine dropped a text for this socket, or may have. */
  lostText: boolean;
  readonly heard: Map<Talkgroup, number>;
  /** Frames of each that it missed and that are in the counts. */
  readonly counted: Map<Talkgroup, number>;
}

/** One for each session; it outlives the socket, the lag does not. */
export class Reception implements Hearer {
  readonly session: Session;
  private readonly house: House;
  private peer: Peer | null = null;
  /** By talkgroup number, where it is not the default. */
  private subscriptions: Map<number, Subscription> | null = null;
  private lag = new Lag();
  /** Its last ping came behind a frame, as those of receivers of live audio do. */
  private isAskedByFrames = false;
  private behind: Behind | null = null;
  /** When it was last given a snapshot on request, by talkgroup number. */
  private syncedAtMs: Map<number, number> | null = null;

  constructor(session: Session, house: House) {
    this.session = session;
    this.house = house;
  }

  /** A new socket: hears what the session subscribes to, or, when it lagged on the one before, does so once it answers. */
  attach(peer: Peer): void {
    this.peer = peer;
    this.lag = new Lag();
    // Nothing was sent on this socket before, so the very first answer will do, even one to a ping of this millisecond.
    if (this.behind !== null) {
      this.behind.lostText = false; // WELCOME shows what is so now
      this.house.counts.behind++;
      this.lag.overrun(this.fairMs() - 1);
    }
    for (const membership of this.session.user.memberships.values()) {
      if (membership.granted) this.hear(membership);
    }
  }

  /** The socket is gone, and its topics with it. */
  detach(): void {
    if (this.peer !== null && this.behind !== null) {
      this.house.counts.behind--;
      this.countMissed(this.behind);
    }
    this.peer = null;
    this.house.unanswered.delete(this.session);
    for (const membership of this.session.user.memberships.values()) {
      const { talkgroup, granted } = membership;
      talkgroup.feed.exit(this);
      for (const held of talkgroup.feed.held ?? []) held.forget(this);
      if (granted && this.subscriptionTo(talkgroup).mode !== 'none') went(this.session, membership);
    }
  }

  /** Number of its session. */
  get number(): number {
    return this.session.number;
  }

  subscriptionTo(talkgroup: Talkgroup): Subscription {
    return this.subscriptions?.get(talkgroup.number) ?? DEFAULT;
  }

  /** From here on it hears the talkgroup this way. */
  subscribe(membership: Membership, subscription: Subscription): void {
    const { talkgroup } = membership;
    // Before it goes and comes itself, which is nobody's news.
    if (subscription.presence) this.house.presence.watch(talkgroup);
    // What is held for it until now is still its own.
    const { mode, hold } = this.subscriptionTo(talkgroup);
    if (this.behind === null && membership.granted && isHeard(mode))
      heldBy(talkgroup.feed, hold)?.leave(this);
    if (membership.granted) this.unhear(membership);
    this.subscriptions ??= new Map();
    this.subscriptions.set(talkgroup.number, subscription);
    if (!isHeard(subscription.mode)) this.forgetMissed(talkgroup);
    if (membership.granted) this.hear(membership);
  }

  /** The membership is gone for good. */
  forget(membership: Membership): void {
    const { talkgroup } = membership;
    this.unhear(membership);
    this.subscriptions?.delete(talkgroup.number);
    this.syncedAtMs?.delete(talkgroup.number);
    this.forgetMissed(talkgroup);
  }

  /** Whether SYNC is answered: one for each talkgroup and second. */
  maySync({ number }: Talkgroup, nowMs: number): boolean {
    this.syncedAtMs ??= new Map();
    if (nowMs - (this.syncedAtMs.get(number) ?? Number.NEGATIVE_INFINITY) < SYNC_MS_MIN) return false;
    this.syncedAtMs.set(number, nowMs);
    return true;
  }

  /** Subscribes to what it chose to hear of the talkgroup; its audio has to wait while it is behind. */
  hear(membership: Membership): void {
    const { talkgroup } = membership;
    const { mode, presence } = this.subscriptionTo(talkgroup);
    if (this.peer === null || mode === 'none') return;
    if (presence) {
      this.house.presence.watch(talkgroup);
      this.peer.subscribe(talkgroup.feed.presenceTopic);
    }
    if (this.peer.subscribe(talkgroup.feed.eventTopic)) came(this.session, membership);
    if (!isHeard(mode)) return;
    if (this.behind === null) this.enterAudio(talkgroup);
    else if (!this.behind.heard.has(talkgroup)) this.behind.heard.set(talkgroup, this.relayedIn(talkgroup));
  }

  private enterAudio(talkgroup: Talkgroup): void {
    const { hold } = this.subscriptionTo(talkgroup);
    if (hold !== null) return this.house.holding.open(talkgroup.feed, hold).enter(this);
    this.peer?.subscribe(talkgroup.feed.audioTopic);
    talkgroup.feed.enter(this);
  }

  /** What waited as it entered a window has left. */
  arrive(topic: string): void {
    this.peer?.subscribe(topic);
  }

  private exitAudio(talkgroup: Talkgroup): void {
    const { hold } = this.subscriptionTo(talkgroup);
    this.peer?.unsubscribe(topicOf(talkgroup.feed, hold));
    heldBy(talkgroup.feed, hold)?.forget(this);
    talkgroup.feed.exit(this);
  }

  /** Nothing of the talkgroup goes to its socket any more. */
  unhear(membership: Membership): void {
    const { talkgroup } = membership;
    if (this.peer === null || this.subscriptionTo(talkgroup).mode === 'none') return;
    this.exitAudio(talkgroup);
    this.peer.unsubscribe(talkgroup.feed.presenceTopic);
    if (this.peer.unsubscribe(talkgroup.feed.eventTopic)) went(this.session, membership);
  }

  /** Frames of others ever relayed there. */
  private relayedIn(talkgroup: Talkgroup): number {
    return talkgroup.feed.relayed - this.ownIn(talkgroup);
  }

  /** The same without those that are held for it. */
  private passedIn(talkgroup: Talkgroup): number {
    const { hold } = this.subscriptionTo(talkgroup);
    return this.relayedIn(talkgroup) - (heldBy(talkgroup.feed, hold)?.waitingFor(this) ?? 0);
  }

  /** The same at the last pulse or a little before it; never more than it was given. */
  private passedAtMark(talkgroup: Talkgroup): number {
    const { hold } = this.subscriptionTo(talkgroup);
    const passed = heldBy(talkgroup.feed, hold)?.passedAtMark ?? talkgroup.feed.relayedAtMark;
    return passed - this.ownIn(talkgroup);
  }

  private ownIn(talkgroup: Talkgroup): number {
    return this.session.talkAt(talkgroup)?.relayed ?? 0;
  }

  /**
   * Called about once in `LAG_PING_MS`; `text` is the fair time that all pings of this moment carry. A receiver that was
   * pinged behind a frame since `leftToFramesMs` (fair time) is due behind another one.
   */
  ask(nowMs: number, text: string, leftToFramesMs: number): void {
    if (this.peer === null) return;
    if (this.behind === null) {
      if (this.isAskedByFrames && this.lag.newestPingMs > leftToFramesMs) return;
      if (!this.hearsAudio(nowMs)) return;
    }
    this.isAskedByFrames = false;
    this.ping(text);
  }

  /** Called when it is due behind a frame of the talkgroup, unless it was pinged since `latelyMs` (fair time). */
  askBehindFrame(talkgroup: Pick<Talkgroup, 'number'>, text: string, latelyMs: number): void {
    if (this.peer === null || this.lag.newestPingMs > latelyMs || this.talksAlone(talkgroup)) return;
    this.isAskedByFrames = true;
    this.ping(text);
  }

  private hearsAudio(nowMs: number): boolean {
    for (const { talkgroup, granted } of this.session.user.memberships.values()) {
      if (!granted || nowMs - talkgroup.feed.heardAtMs > HEARD_MS || this.talksAlone(talkgroup)) continue;
      if (isHeard(this.subscriptionTo(talkgroup).mode)) return true;
    }
    return false;
  }

  /** Its own frames do not come back to it. */
  private talksAlone(talkgroup: Pick<Talkgroup, 'number'>): boolean {
    const own = this.session.talkAt(talkgroup);
    return own?.isTalking === true && own.talkgroup.talking.size === 1;
  }

  /**
   * A ping behind everything written before. One that the engine had no room for is due like any other, for its
   * receiver reads nothing; the answer to a later one is the answer to it.
   */
  ping(text: string): void {
    if (this.peer === null) return;
    this.peer.ping(text);
    this.lag.pinged(Number(text));
    this.house.unanswered.add(this.session);
  }

  /** A frame at once, unless it is its own; one that the engine has no room for is dropped, as in a publish. */
  give(frame: ArrayBuffer, from: Peer | null): void {
    if (this.peer !== from) this.peer?.send(frame, true);
  }

  /** false: it answers no ping of ours. */
  pong(payload: ArrayBuffer, nowMs: number): boolean {
    const fairMs = this.house.fair.at(nowMs);
    const sentAtMs = readDecimal(payload);
    const answered = this.lag.answered(sentAtMs, fairMs, this.house.fair.stoodAtMs);
    if (answered === 'stray') return false;
    if (answered === 'newest') this.house.unanswered.delete(this.session);
    this.judge(fairMs);
    if (answered === 'newest' && this.behind !== null) this.ping(String(fairMs));
    this.session.telling.answered(sentAtMs);
    return true;
  }

  /** How late it is, as section 4 reckons it. */
  lagMs(fairMs: number): number {
    return this.lag.lagMs(fairMs);
  }

  /** Called while an answer is due, after the sockets were read. */
  judge(fairMs: number): void {
    if (this.lag.oldestOpenMs(fairMs) >= UNANSWERED_MS_MAX) return this.session.close(closes.slow_consumer);
    const change = this.lag.judge(fairMs, { backlogMs: this.house.limits.backlogMs, backMs: BACK_MS });
    if (change === 'slow') {
      this.fallBehind((talkgroup) => this.passedIn(talkgroup), false);
      this.leaveAudio();
    } else if (change === 'caught_up') this.catchUp();
  }

  /**
   * The engine dropped something meant for this socket. What was relayed since the last mark may be part of it.
   * `isText`: it named a text. The engine names the first message that it drops of a batch, not those behind it. The
   * topics are left in a moment: not in the middle of the engine's own walk through them.
   */
  overrun(isText: boolean): void {
    const { peer, house } = this;
    if (peer === null) return;
    this.lag.overrun(this.fairMs());
    const lostText = isText || house.fanout.mayDropText(this.feeds());
    if (this.behind !== null) {
      this.behind.lostText ||= lostText;
      return;
    }
    this.fallBehind((talkgroup) => this.passedAtMark(talkgroup), lostText);
    this.house.later(this.session, () => {
      if (this.peer === peer) this.leaveAudio();
    });
  }

  /** Of all talkgroups of its user, withdrawn and unsubscribed ones too. */
  private *feeds(): Iterable<Feed> {
    for (const { talkgroup } of this.session.user.memberships.values()) yield talkgroup.feed;
  }

  /** All that was written has left the engine's buffer: the sooner it is asked, the sooner it is back. */
  drained(): void {
    if (this.behind !== null) this.ping(String(this.fairMs()));
  }

  /** From here on audio is missed, and counted. */
  private fallBehind(passed: (talkgroup: Talkgroup) => number, lostText: boolean): void {
    const heard = new Map<Talkgroup, number>();
    for (const { talkgroup, granted } of this.session.user.memberships.values()) {
      const { mode } = this.subscriptionTo(talkgroup);
      if (!granted || !isHeard(mode)) continue;
      heard.set(talkgroup, passed(talkgroup));
    }
    this.behind = { sinceMs: this.house.nowMs(), lostText, heard, counted: new Map() };
    this.house.counts.lagging++;
    this.house.counts.behind++;
    this.house.log.info({ session: this.session.number }, 'receiver lagging, audio paused');
  }

  /** No more audio for it until it has caught up; control messages go on. */
  private leaveAudio(): void {
    for (const talkgroup of this.behind?.heard.keys() ?? []) this.exitAudio(talkgroup);
  }

  /** It has read everything: told what it missed, and live again. */
  private catchUp(): void {
    const { behind } = this;
    if (behind === null) return;
    this.behind = null;
    this.house.counts.behind--;
    const missed = this.countMissed(behind);
    const sinceMs = Math.round(this.house.nowMs() - behind.sinceMs);
    this.session.send(say.lag(missed, sinceMs));
    // Who left by time was sent every text.
    if (behind.lostText) this.session.telling.resync();
    const { memberships } = this.session.user;
    for (const talkgroup of behind.heard.keys()) {
      // A right withdrawn meanwhile is not given back here: `hear` comes with the read that confirms it.
      if (memberships.get(talkgroup.number)?.granted) this.enterAudio(talkgroup);
    }
    this.house.log.info({ session: this.session.number, sinceMs }, 'receiver caught up, audio resumed');
  }

  /** What LAG says; each frame is counted once, though the socket may have died in between. */
  private countMissed(behind: Behind): MissedAudio[] {
    const missed: MissedAudio[] = [];
    for (const [talkgroup, heard] of behind.heard) {
      const frames = this.relayedIn(talkgroup) - heard; // also what is held: it enters behind that
      if (frames <= 0) continue;
      missed.push({ talkgroup_id: talkgroup.id, missed: frames });
      this.house.counts.missed += frames - (behind.counted.get(talkgroup) ?? 0);
      behind.counted.set(talkgroup, frames);
    }
    return missed;
  }

  /** What it missed there it is not told any more: it left, or wants no audio of it. */
  private forgetMissed(talkgroup: Talkgroup): void {
    if (this.behind === null) return;
    this.countMissed(this.behind);
    this.behind.heard.delete(talkgroup);
    this.behind.counted.delete(talkgroup);
  }

  private fairMs(): number {
    return this.house.fair.at(this.house.nowMs());
  }
}

/** Of integers in milliseconds; more digits are not ours. */
const DIGITS_MAX = 15;

/** NaN: it is none. By hand, for a text would be made of every answer of every receiver first. */
function readDecimal(payload: ArrayBuffer): number {
  const bytes = new Uint8Array(payload);
  if (bytes.length > DIGITS_MAX) return Number.NaN;
  let value = 0;
  for (const byte of bytes) {
    if (byte < ZERO || byte > NINE) return Number.NaN;
    value = 10 * value + byte - ZERO;
  }
  return value;
}

const ZERO = 0x30;
const NINE = 0x39;
