// Keeps what one session hears: its subscriptions, and whether its socket keeps up with them.
import { closes } from '../../protocol/closes.js';
import { type Feed, heldBy, passedAtMark, passedTo, topicOf } from '../delivery/feed.js';
import type { Hearer } from '../delivery/hearer.js';
import type { Hold } from '../delivery/held.js';
import type { Peer, Voice } from '../delivery/peer.js';
import { type Membership, named, type Talkgroup } from '../members/members.js';
import { Behind, lagText } from './behind.js';
import { readDecimal } from './decimal.js';
import { hearsAudio, isMeantToHear } from './hearing.js';
import { Lag } from './lag.js';
import type { Receiver, ReceptionServices, Unanswered } from './receiver.js';
import { DEFAULT, isHeard, type Subscription } from './subscription.js';

/** Without an answer for this time (ms) a receiver is closed: it is of no use as a radio. */
const UNANSWERED_MS_MAX = 10_000;
/** Lag (ms) at which audio resumes: well below where it stopped, or the state would flap. */
const BACK_MS = 250;

/** One for each session. It outlives the socket, the lag does not. */
export class Reception implements Hearer, Unanswered {
  readonly receiver: Receiver;
  private readonly services: ReceptionServices;
  private peer: Peer | null = null;
  /** By talkgroup number, where it is not the default. */
  subscriptions: Map<number, Subscription> | null = null;
  lag = new Lag();
  /** Its last ping came behind a frame, as those of receivers of live audio do. */
  private isAskedByFrames = false;
  behind: Behind | null = null;

  constructor(receiver: Receiver, services: ReceptionServices) {
    this.receiver = receiver;
    this.services = services;
  }

  /** A new socket: hears what the session subscribes to, or, when it lagged on the one before, does so once it answers. */
  attach(peer: Peer): void {
    this.peer = peer;
    this.lag = new Lag();
    // Nothing was sent on this socket before, so the very first answer will do, even one to a ping of this millisecond.
    if (this.behind !== null) {
      this.behind.lostText = false; // WELCOME shows what is so now
      this.services.counts.behind++;
      this.lag.overrun(this.fairMs() - 1);
    }
    for (const membership of this.receiver.user.memberships.values()) {
      if (membership.granted) this.hear(membership);
    }
  }

  /** The socket is gone, and its topics with it. */
  detach(): void {
    if (this.peer !== null && this.behind !== null) {
      this.services.counts.behind--;
      this.behind.countMissed();
    }
    this.peer = null;
    this.services.unanswered.delete(this);
    for (const membership of this.receiver.user.memberships.values()) {
      const { talkgroup, granted } = membership;
      talkgroup.feed.exit(this);
      for (const held of talkgroup.feed.held ?? []) held.forget(this);
      if (granted && this.subscriptionTo(talkgroup).mode !== 'none')
        this.services.presence.went(this.receiver, membership);
    }
  }

  /** Number of its session. */
  get number(): number {
    return this.receiver.number;
  }

  subscriptionTo(talkgroup: Talkgroup): Subscription {
    return this.subscriptions?.get(talkgroup.number) ?? DEFAULT;
  }

  /** From here on it hears the talkgroup this way. */
  subscribe(membership: Membership, subscription: Subscription): void {
    const { talkgroup } = membership;
    const { mode, presence, hold } = this.subscriptionTo(talkgroup);
    // Else a user could let the audio that waits for others leave as often as it asks.
    if (mode === subscription.mode && presence === subscription.presence && hold === subscription.hold)
      return;
    // First: below it leaves and comes itself, which is no change for others.
    if (subscription.presence) this.services.presence.watch(talkgroup);
    // It still gets the audio that is buffered for it.
    if (this.behind === null && membership.granted && membership.mayHear && isHeard(mode) && hold !== null)
      heldBy(talkgroup.feed, hold)?.leave(this);
    if (membership.granted) this.unhear(membership);
    this.subscriptions ??= new Map();
    this.subscriptions.set(talkgroup.number, subscription);
    if (membership.granted) this.hear(membership);
  }

  /** The membership is gone for good. */
  forget(membership: Membership): void {
    const { talkgroup } = membership;
    this.unhear(membership);
    this.subscriptions?.delete(talkgroup.number);
  }

  /** Subscribes to what it chose to hear of the talkgroup. Its audio has to wait while it is behind. */
  hear(membership: Membership): void {
    const { talkgroup } = membership;
    const { mode, presence } = this.subscriptionTo(talkgroup);
    if (this.peer === null || mode === 'none') return;
    if (presence) {
      this.services.presence.watch(talkgroup);
      this.peer.subscribe(talkgroup.feed.presenceTopic);
    }
    if (this.peer.subscribe(talkgroup.feed.eventTopic))
      this.services.presence.came(this.receiver, membership);
    if (isHeard(mode) && membership.mayHear) this.enterAudio(talkgroup);
  }

  /** Whether it gets the talkgroup's audio may have changed. Events go on. */
  followKeys(membership: Membership): void {
    const { talkgroup, granted } = membership;
    const { mode, hold } = this.subscriptionTo(talkgroup);
    if (!granted || this.peer === null || !isHeard(mode)) return;
    // To leave and enter would cost it what is buffered. `subscribe` answers false for what it is subscribed to.
    const { feed } = talkgroup;
    const enters = hold !== null && heldBy(feed, hold)?.isEntering(this);
    const hears = enters || (hold === null ? feed.live.has(this) : !this.peer.subscribe(topicOf(feed, hold)));
    if (hears && membership.mayHear) return;
    this.exitAudio(talkgroup);
    this.behind?.stop(talkgroup);
    if (membership.mayHear) this.enterAudio(talkgroup);
  }

  /** While it is behind, it misses what is relayed from now on. */
  private enterAudio(talkgroup: Talkgroup): void {
    if (this.behind !== null) return this.behind.miss(talkgroup, this.relayedIn(talkgroup));
    const { hold } = this.subscriptionTo(talkgroup);
    if (hold !== null) return this.services.holding.open(talkgroup.feed, hold).enter(this);
    // Audio that waits under load came before this receiver.
    talkgroup.feed.waiting?.flush();
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
    this.behind?.stop(talkgroup);
    if (this.peer === null || this.subscriptionTo(talkgroup).mode === 'none') return;
    const { feed } = talkgroup;
    // Said before: without load it would have been written by now.
    if (feed.live.has(this)) feed.waiting?.leave(this);
    this.exitAudio(talkgroup);
    this.peer.unsubscribe(talkgroup.feed.presenceTopic);
    if (this.peer.unsubscribe(talkgroup.feed.eventTopic))
      this.services.presence.went(this.receiver, membership);
  }

  /** Frames of others ever relayed there. */
  private relayedIn(talkgroup: Talkgroup): number {
    return talkgroup.feed.relayed - this.receiver.ownFrames(talkgroup);
  }

  /**
   * Called about once in `LAG_PING_MS`. `text` is the fair time that all pings of this moment carry. A receiver is left out
   * that was pinged since `latelyMs`, or behind a frame since `leftToFramesMs` (fair time): it is due behind another one.
   */
  ask(nowMs: number, text: string, latelyMs: number, leftToFramesMs: number): void {
    if (this.peer === null) return;
    if (this.behind === null) {
      if (this.wasPingedSince(this.isAskedByFrames ? leftToFramesMs : latelyMs)) return;
      if (!hearsAudio(this, nowMs)) return;
    }
    this.isAskedByFrames = false;
    this.ping(text);
  }

  /** Called when it is due behind a frame of the talkgroup, unless it was pinged since `latelyMs` (fair time). */
  askBehindFrame({ number }: { readonly number: number }, text: string, latelyMs: number): void {
    if (this.peer === null || this.wasPingedSince(latelyMs) || this.receiver.talksAlone(number)) return;
    this.isAskedByFrames = true;
    this.ping(text);
  }

  /** A receiver that answers at once is pinged half as often: a ping and its pong cost as much as some deliveries. */
  private wasPingedSince(fairMs: number): boolean {
    const { lagPingMs } = this.services.limits;
    return this.lag.newestPingMs > (this.lag.isPrompt ? fairMs - lagPingMs : fairMs);
  }

  /**
   * A ping behind everything written before. One that the engine had no room for is due like any other, for its
   * receiver reads nothing. The answer to a later one is the answer to it.
   */
  ping(text: string): void {
    if (this.peer === null) return;
    this.peer.ping(text);
    this.lag.pinged(Number(text));
    this.services.unanswered.add(this);
  }

  /** A frame at once, unless it is its own. One that the engine has no room for is dropped, as in a publish. */
  give(frame: ArrayBuffer, from: Voice): void {
    if (this.peer !== from) this.peer?.send(frame, true);
  }

  /** false: it answers no ping of ours. */
  pong(payload: ArrayBuffer, nowMs: number): boolean {
    const fairMs = this.services.fair.at(nowMs);
    const sentAtMs = readDecimal(payload);
    const answered = this.lag.answered(sentAtMs, fairMs, this.services.fair.stoodAtMs);
    if (answered === 'stray') return false;
    if (answered === 'newest') this.services.unanswered.delete(this);
    this.judge(fairMs);
    if (answered === 'newest' && this.behind !== null) this.ping(String(fairMs));
    this.receiver.telling.answered(sentAtMs);
    return true;
  }

  /** How late it is, as section 4 reckons it. */
  lagMs(fairMs: number): number {
    return this.lag.lagMs(fairMs);
  }

  /** Called while an answer is due, after the sockets were read. */
  judge(fairMs: number): void {
    if (this.lag.oldestOpenMs(fairMs) >= UNANSWERED_MS_MAX) return this.receiver.close(closes.slow_consumer);
    const change = this.lag.judge(fairMs, { backlogMs: this.services.limits.backlogMs, backMs: BACK_MS });
    if (change === 'slow') {
      this.fallBehind((feed, hold) => passedTo(feed, hold, this), false);
      this.leaveAudio();
    } else if (change === 'caught_up') this.catchUp();
  }

  /**
   * The engine dropped something meant for this socket. What was relayed since the last mark may be part of it.
   * `isText`: it named a text. The engine names the first message that it drops of a batch, not those behind it. The
   * topics are left in a moment: not in the middle of the engine's own walk through them.
   */
  overrun(isText: boolean): void {
    const { peer, services } = this;
    if (peer === null) return;
    this.lag.overrun(this.fairMs());
    const lostText = isText || services.fanout.mayDropText(this.feeds());
    if (this.behind !== null) {
      this.behind.lostText ||= lostText;
      return;
    }
    this.fallBehind(passedAtMark, lostText);
    this.receiver.later(() => {
      if (this.peer === peer) this.leaveAudio();
    });
  }

  /** Of all talkgroups of its user, withdrawn and unsubscribed ones too. */
  private *feeds(): Iterable<Feed> {
    for (const { talkgroup } of this.receiver.user.memberships.values()) yield talkgroup.feed;
  }

  /** All that was written has left the engine's buffer: the sooner it is asked, the sooner it is back. */
  drained(): void {
    if (this.behind !== null) this.ping(String(this.fairMs()));
  }

  /** From now on audio is missed, and counted. `passed`: frames of a talkgroup that were certainly sent to it. */
  private fallBehind(passed: (feed: Feed, hold: Hold | null) => number, lostText: boolean): void {
    const { counts, nowMs, log } = this.services;
    const behind = new Behind((talkgroup) => this.relayedIn(talkgroup), counts, nowMs(), lostText);
    for (const membership of this.receiver.user.memberships.values()) {
      if (!isMeantToHear(this, membership)) continue;
      const { talkgroup } = membership;
      const { hold } = this.subscriptionTo(talkgroup);
      behind.miss(talkgroup, passed(talkgroup.feed, hold) - this.receiver.ownFrames(talkgroup));
    }
    this.behind = behind;
    counts.lagging++;
    counts.behind++;
    log.info({ ...named(this.receiver.user), session: this.number }, 'receiver lagging, audio paused');
  }

  /** No more audio for it until it has caught up. Control messages go on. */
  private leaveAudio(): void {
    for (const talkgroup of this.behind?.talkgroups ?? []) this.exitAudio(talkgroup);
  }

  /** It has read everything: told what it missed, and live again. */
  private catchUp(): void {
    const { behind } = this;
    if (behind === null) return;
    this.behind = null;
    this.services.counts.behind--;
    const missed = behind.countMissed();
    const sinceMs = Math.round(this.services.nowMs() - behind.sinceMs);
    this.receiver.send(lagText(missed, sinceMs));
    // A receiver that was only late got every text.
    if (behind.lostText) this.receiver.missed();
    const { memberships } = this.receiver.user;
    for (const talkgroup of behind.talkgroups) {
      // A right withdrawn meanwhile is not given back here: `hear` comes with the read that confirms it.
      const membership = memberships.get(talkgroup.number);
      if (membership?.granted && membership.mayHear) this.enterAudio(talkgroup);
    }
    this.services.log.info({ session: this.receiver.number, sinceMs }, 'receiver caught up, audio resumed');
  }

  private fairMs(): number {
    return this.services.fair.at(this.services.nowMs());
  }
}
