// One relay in virtual time: the shared authority and the order of turns, with beacons and sessions as a node has them.

import { NO_TURN, type Turn } from '../../../src/protocol/turn.js';
import { newCounts } from '../../../src/relay/figures/counts.js';
import type { Verdict } from '../../../src/relay/floor/authority.js';
import { type Claim, rankOf } from '../../../src/relay/floor/claim.js';
import { Talkgroup } from '../../../src/relay/members/members.js';
import type { Beacon } from '../../../src/relay/nodes/beacon.js';
import { Peers } from '../../../src/relay/nodes/peers/peers.js';
import { createSharedAuthority, type SharedAuthority } from '../../../src/relay/shared-floor/authority.js';
import type { Part, PartVerdicts, Placed, Settings } from '../../../src/relay/shared-floor/bodies.js';
import { homeOf } from '../../../src/relay/shared-floor/home.js';
import type { FloorLink } from '../../../src/relay/shared-floor/link.js';
import { Order } from '../../../src/relay/shared-floor/turns/order.js';
import type { PlayedTalk } from '../../../src/relay/shared-floor/turns/plays.js';
import {
  type BurstName,
  type Ended,
  type FrameHead,
  isSame,
} from '../../../src/relay/shared-floor/turns/plays.js';
import { talkgroupRow } from '../relay/rows.js';
import type { Fault } from './faults.js';
import type { Judge } from './judge.js';
import { SimSession } from './sim-session.js';
import type { Network, Schedule, Station } from './world.js';

/** A burst with what its start tells. */
export interface SimBurst extends BurstName {
  readonly claim: Claim;
  readonly startedAtMs: number;
}

interface Running {
  readonly burst: SimBurst;
  readonly placed: Placed;
  readonly index: number;
}

type Message =
  | { readonly kind: 'beacon'; readonly from: number; readonly at: number; readonly beacon: Beacon }
  | { readonly kind: 'hello' | 'bye' | 'listed'; readonly from: number }
  | {
      readonly kind: 'hold' | 'here';
      readonly from: number;
      readonly holds: boolean;
      readonly running: readonly Running[];
    }
  | { readonly kind: 'started'; readonly from: number; readonly running: Running }
  | {
      readonly kind: 'frame';
      readonly from: number;
      readonly head: FrameHead;
      readonly inEmergency: boolean;
    }
  | {
      readonly kind: 'ended';
      readonly from: number;
      readonly name: BurstName;
      readonly turn: Turn;
      readonly ended: Ended;
    }
  | { readonly kind: 'want'; readonly from: number; readonly settings: Settings }
  | { readonly kind: 'part'; readonly from: number; readonly part: Part }
  | { readonly kind: 'verdicts'; readonly from: number; readonly verdicts: PartVerdicts };

export const TALKGROUP = 7;
const NO_AUDIO = new ArrayBuffer(0);
const TICK_MS = 20;
const EXPIRE_MS = 50;
const BEACON_MS = 250;
const ASK_MS = 100;
/** It says this often that it has members. */
const LIST_MS = 5000;
/** A burst of another relay is asked about after this time without a frame (ms). */
const SILENT_MS = 2500;
/** T1. */
export const SILENCE_MS = 2000;

export interface SimOptions {
  readonly schedule: Schedule;
  readonly network: Network;
  readonly judge: Judge;
  readonly settings: Settings;
  readonly fault: Fault | null;
  /** Added to the clock of this relay (ms), and how fast it runs. */
  readonly origin: number;
  readonly rate: number;
}

export class SimRelay implements Station {
  readonly id: number;
  readonly sessions = new Map<number, SimSession>();
  readonly order: Order<SimBurst>;
  readonly authority: SharedAuthority;
  readonly talkgroup: Talkgroup;
  readonly options: SimOptions;
  settings: Settings;
  isDead = false;
  private readonly peers: Peers;
  private readonly holders = new Set<number>();
  /** Relays that were asked what they hold, and did not answer yet. */
  private readonly unanswered = new Set<number>();
  /** When a relay could be reached again (ms). */
  private readonly upAtMs = new Map<number, number>();
  private readonly nextAsk = new Map<number, number>();
  /** Bursts of other relays that play here in `open`. */
  private readonly open = new Map<number, SimBurst>();
  /** When a frame of another relay last came. */
  private heardAtMs = 0;
  /** When a frame of the burst of another relay was last played. */
  frameAtMs = 0;
  /** What that frame showed of its talker. */
  private lastPlayed = { session: 0, burst: 0, inEmergency: false };
  private stoodMs = 0;
  /** When it last went on after a stop (virtual ms). */
  wokeAtMs = Number.NEGATIVE_INFINITY;
  /** For how long (ms) before that. */
  lastStoodMs = 0;
  private stoppedAtMs = 0;
  /** When it last was the home (virtual ms). */
  private wasHomeAtMs = Number.NEGATIVE_INFINITY;

  constructor(id: number, options: SimOptions) {
    this.id = id;
    this.options = options;
    this.settings = options.settings;
    this.peers = new Peers(id);
    const { revision, mode, maxTalkMs } = options.settings;
    this.talkgroup = new Talkgroup(talkgroupRow({ revision, floor_mode: mode, max_talk_ms: maxTalkMs }));
    this.order = this.newOrder();
    this.authority = createSharedAuthority({
      counts: newCounts().floor,
      limits: { talkersMax: 32, talksPerUser: 2 },
      bursts: { remoteIn: () => new Set<never>() },
      onVerdicts: (_talkgroup: Talkgroup, verdicts: readonly Verdict[], nowMs: number) =>
        this.carryOut(verdicts, nowMs),
      link: this.newLink(),
    });
    options.network.join(this);
    this.beat();
    this.every(LIST_MS, () => this.isHere && this.sayAll({ kind: 'listed', from: this.id }));
    this.tick();
    this.expire();
  }

  now(): number {
    return this.options.origin + this.options.schedule.now() * this.options.rate;
  }

  private get isHere(): boolean {
    return this.sessions.size > 0;
  }

  get view() {
    const relays = [this.id, ...[...this.holders].filter((relay) => this.peers.isUp(relay))];
    const { fault } = this.options;
    const number = fault === 'two relays find different homes' ? TALKGROUP + (this.id % 2) : TALKGROUP;
    const home = homeOf(relays, number);
    if (this.options.fault !== 'a relay answers that is not the home') return { home, relays };
    const nowMs = this.options.schedule.now();
    if (home === this.id) this.wasHomeAtMs = nowMs;
    return { home: nowMs - this.wasHomeAtMs < 2000 ? this.id : home, relays };
  }

  private get isOpen(): boolean {
    return this.settings.mode === 'open';
  }

  private newOrder(): Order<SimBurst> {
    const { judge } = this.options;
    return new Order<SimBurst>(
      {
        begin: (burst) => {
          this.frameAtMs = this.now();
          judge.began(this, burst, this.order.on?.turn ?? null);
        },
        frame: (burst, _message, index) => {
          this.frameAtMs = this.now();
          judge.played(this, burst, index, this.order.on?.turn ?? null);
        },
        missed() {},
        end: (burst, ended) => judge.ended(this, burst, ended.code),
        ready: (turn, nowMs) => this.authority.ready(this.talkgroup, turn, nowMs),
      },
      { home: () => this.view.home, rankOf: (burst) => rankOf(this.claimNow(burst)) },
    );
  }

  /** An emergency may be raised or cleared in the midst of a burst. */
  private claimNow({ session, burst, claim }: SimBurst): Claim {
    const { lastPlayed } = this;
    const isHeard = lastPlayed.session === session && lastPlayed.burst === burst;
    return isHeard ? { ...claim, inEmergency: lastPlayed.inEmergency } : claim;
  }

  private newLink(): FloorLink {
    const { id, order } = this;
    const { fault } = this.options;
    const played = (): PlayedTalk | null => {
      const { on } = order;
      if (on === null || on.burst.relay === id || on.turn === null) return null;
      const { relay, startedAtMs } = on.burst;
      return { relay, claim: this.claimNow(on.burst), turn: on.turn, startedAtMs, frameAtMs: this.frameAtMs };
    };
    const turns = {
      get top() {
        return order.top;
      },
      get seen() {
        return order.seen;
      },
      get played() {
        return played();
      },
      isPast: (turn: Turn) => order.isPast(turn),
      grant: (placed: Placed, rank: number, nowMs: number) =>
        fault === 'a grant is not held back' ? ('ready' as const) : order.grant(placed, rank, nowMs),
      withdraw: (turn: Turn) => order.withdraw(turn),
      interrupt: (nowMs: number) => order.interrupt(nowMs),
    };
    return {
      relay: id,
      view: () => this.view,
      turns: () => turns,
      adopt: (_talkgroup, settings) => this.read(settings),
      sendPart: (_talkgroup, to, part) => this.sendPart(to, part),
      sendVerdicts: (_talkgroup, to, verdicts) => this.say(to, { kind: 'verdicts', from: id, verdicts }),
      want: (_talkgroup, to, settings) => this.say(to, { kind: 'want', from: id, settings }),
      doubt: (_talkgroup, home) => this.ask(home),
      renewed: (_talkgroup, session, placed, nowMs) => this.renewed(session, placed, nowMs),
      busy() {},
    };
  }

  private sendPart(to: number, part: Part): void {
    const { fault } = this.options;
    let told = part;
    if (fault === 'no top') told = { ...told, top: NO_TURN, isFenced: false };
    if (fault === 'a fenced burst is not told') told = { ...told, isFenced: false };
    if (fault === 'an emergency counts as other speech')
      told = { ...told, claims: told.claims.map((claim) => ({ ...claim, inEmergency: false })) };
    this.say(to, { kind: 'part', from: this.id, part: told });
  }

  private say(to: number, message: Message): void {
    if (message.kind === 'part' || message.kind === 'verdicts') this.options.judge.partsSent++;
    this.options.network.send(this.id, to, 'relay', message);
  }

  private sayAll(message: Message): void {
    this.options.network.publish(this.id, message.kind === 'beacon' ? 'all' : 'talkgroup', message);
  }

  // Time

  private every(ms: number, act: () => void): void {
    const { schedule, network } = this.options;
    const again = () => {
      if (this.isDead) return;
      if (!network.isStopped(this.id)) act();
      schedule.in(ms, again);
    };
    schedule.in(ms * ((this.id % 7) / 7), again);
  }

  private beat(): void {
    this.every(BEACON_MS, () => this.beacon());
  }

  private beacon(): void {
    const nowMs = this.now();
    this.sayAll({ kind: 'beacon', from: this.id, at: Math.floor(nowMs), beacon: this.peers.heardNow(nowMs) });
    for (const relay of this.unanswered)
      this.say(relay, { kind: 'hold', from: this.id, holds: this.isHere, running: this.running });
    for (const gone of this.peers.expire({ nowMs, fairMs: nowMs - this.stoodMs })) this.lose(gone);
  }

  private tick(): void {
    this.every(TICK_MS, () => {
      const nowMs = this.now();
      this.order.tick(nowMs);
      this.watch(nowMs);
      for (const each of this.authority.repeating()) this.authority.repeat(each, nowMs);
    });
  }

  /** A burst without frames may have ended. */
  private watch(nowMs: number): void {
    const { on } = this.order;
    if (on === null || on.burst.relay === this.id || nowMs - this.heardAtMs < SILENT_MS) return;
    this.heardAtMs = nowMs - SILENT_MS / 2;
    this.ask(on.burst.relay);
  }

  private expire(): void {
    this.every(EXPIRE_MS, () => {
      const nowMs = this.now();
      for (const session of this.sessions.values())
        if (session.claim === 'talks' && session.isLive && nowMs - session.frameAtMs >= SILENCE_MS)
          session.release('silence');
      for (const talkgroup of this.authority.active()) this.authority.expire(talkgroup, nowMs);
    });
  }

  stop(): void {
    if (this.options.network.isStopped(this.id)) return;
    this.stoppedAtMs = this.now();
    this.options.network.stop(this.id);
  }

  wake(): void {
    this.lastStoodMs = this.now() - this.stoppedAtMs;
    this.stoodMs += this.lastStoodMs;
    this.wokeAtMs = this.options.schedule.now();
    for (const session of this.sessions.values()) session.excuse();
  }

  woke(): void {
    this.beacon();
  }

  // Members

  seat(number: number, user: number, isAdmin: boolean): SimSession {
    const session = new SimSession(this, number, user, isAdmin);
    const isFirst = !this.isHere;
    this.sessions.set(number, session);
    if (isFirst) this.hello();
    return session;
  }

  private hello(): void {
    const { schedule } = this.options;
    const say = () => {
      if (!this.isDead && this.isHere) this.sayAll({ kind: 'hello', from: this.id });
    };
    say();
    for (const relay of this.peers.up) this.unanswered.add(relay);
    for (const ms of [20, 60, 150]) schedule.in(ms, say);
    this.viewed();
  }

  unseat(session: SimSession): void {
    session.end();
    this.sessions.delete(session.number);
    if (this.isHere) return;
    this.sayAll({ kind: 'bye', from: this.id });
    this.authority.forget(this.talkgroup);
    const { on } = this.order;
    if (on !== null && on.burst.relay !== this.id) this.order.gone(on.burst.relay, this.now());
  }

  kill(): void {
    this.isDead = true;
    this.options.network.leave(this.id);
  }

  // Settings

  read(settings: Settings): void {
    if (settings.revision <= this.settings.revision) return;
    const wasOpen = this.isOpen;
    this.settings = settings;
    this.talkgroup.floorMode = settings.mode;
    this.talkgroup.maxTalkMs = settings.maxTalkMs;
    this.talkgroup.revision = settings.revision;
    const nowMs = this.now();
    if (this.isOpen && !wasOpen) this.endPlayed(nowMs);
    if (wasOpen && !this.isOpen) {
      for (const burst of this.open.values()) this.options.judge.ended(this, burst, 'mode');
      this.open.clear();
    }
    this.authority.change(this.talkgroup, nowMs);
    for (const session of this.sessions.values()) {
      if (session.burst === null || session.claim !== 'talks') continue;
      if (wasOpen && !this.isOpen)
        this.order.ownStarted(session.burst, this.placedOf(session)?.turn ?? null, nowMs);
      if (!wasOpen && this.isOpen) this.order.ownEnded(nowMs);
    }
  }

  /** And what is held back. */
  private endPlayed(nowMs: number): void {
    for (const relay of this.holders) this.order.gone(relay, nowMs, 'mode');
  }

  // Other relays

  private lose(relay: number): void {
    this.unanswered.delete(relay);
    this.holders.delete(relay);
    this.order.gone(relay, this.now());
    const burst = this.open.get(relay);
    if (burst !== undefined) this.options.judge.ended(this, burst, 'disconnected');
    this.open.delete(relay);
    this.viewed();
  }

  private viewed(): void {
    if (this.isHere) this.authority.viewed(this.talkgroup, this.now());
  }

  private holds(relay: number, holds: boolean): void {
    const had = this.holders.has(relay);
    if (had === holds || (holds && this.isSeenLate(relay))) return;
    if (holds) this.holders.add(relay);
    else {
      this.holders.delete(relay);
      this.order.gone(relay, this.now());
    }
    this.viewed();
  }

  /** 450 ms late, and the two are one again after more than 500. */
  private isSeenLate(relay: number): boolean {
    if (this.options.fault !== 'a healed split is seen late') return false;
    return this.now() - (this.upAtMs.get(relay) ?? Number.NEGATIVE_INFINITY) < 450;
  }

  private ask(relay: number): void {
    const nowMs = this.now();
    if (nowMs < (this.nextAsk.get(relay) ?? Number.NEGATIVE_INFINITY)) return;
    this.nextAsk.set(relay, nowMs + ASK_MS);
    this.say(relay, { kind: 'hold', from: this.id, holds: this.isHere, running: this.running });
  }

  private get running(): Running[] {
    return [...this.sessions.values()].flatMap((session) => {
      const { burst, frames } = session;
      const placed = this.placedOf(session);
      if (session.claim !== 'talks' || burst === null || placed === null) return [];
      // As it is now: the list of a relay says whether its talker is in an emergency (history 3100159871).
      const claim = { ...burst.claim, inEmergency: session.inEmergency };
      return [{ burst: { ...burst, claim }, placed, index: frames }];
    });
  }

  /** By a home. A user in an emergency begins without one, when none answers. */
  isGranted(session: SimSession): boolean {
    const { claim } = session;
    return (claim === 'has' || claim === 'talks') && this.placedOf(session) !== null;
  }

  private placedOf({ number }: SimSession): Placed | null {
    if (this.isOpen) return { turn: NO_TURN, after: NO_TURN, afterCode: 'released' };
    return this.authority.placedOf(this.talkgroup, number);
  }

  receive(given: unknown): void {
    if (this.isDead) return;
    const message = given as Message;
    const { from } = message;
    const nowMs = this.now();
    if (message.kind === 'beacon') return this.hear(from, message.at, message.beacon, nowMs);
    if (!this.peers.isUp(from)) return;
    if (message.kind === 'bye') return this.holds(from, false);
    if (message.kind === 'hold' || message.kind === 'here') {
      this.holds(from, message.holds);
      if (message.kind === 'hold')
        this.say(from, { kind: 'here', from: this.id, holds: this.isHere, running: this.running });
      else {
        this.unanswered.delete(from);
        this.learn(from, message.running, nowMs);
      }
      return;
    }
    if (message.kind === 'listed') {
      if (this.isHere && !this.holders.has(from)) this.ask(from);
      return;
    }
    this.holds(from, true);
    if (!this.isHere) {
      // A bye was lost: the other one takes this relay for one with members.
      if (message.kind === 'part' || message.kind === 'want')
        this.say(from, { kind: 'here', from: this.id, holds: false, running: [] });
      return;
    }
    switch (message.kind) {
      case 'hello':
        return this.say(from, { kind: 'here', from: this.id, holds: true, running: this.running });
      case 'started':
        return this.begin(message.running, nowMs);
      case 'frame':
        return this.play(message.head, message.inEmergency, nowMs);
      case 'ended':
        return this.endOf(message.name, message.turn, message.ended, nowMs);
      case 'want':
        return this.authority.wanted(this.talkgroup, from, message, nowMs);
      case 'part':
        return this.takePart(from, message.part, nowMs);
      case 'verdicts':
        return this.takeVerdicts(from, message.verdicts, nowMs);
    }
  }

  private takePart(from: number, part: Part, nowMs: number): void {
    this.authority.receivePart(this.talkgroup, from, part, nowMs);
  }

  private takeVerdicts(from: number, verdicts: PartVerdicts, nowMs: number): void {
    const { fault } = this.options;
    const kept = verdicts.verdicts.filter(({ is }) => is !== 'revoked');
    const taken = fault === 'a revoked grant goes on' ? { ...verdicts, verdicts: kept } : verdicts;
    this.authority.receiveVerdicts(this.talkgroup, from, taken, nowMs);
  }

  private hear(from: number, at: number, beacon: Beacon, nowMs: number): void {
    const isHeard = beacon.heard.some(([id]) => id === this.id);
    const echo: Beacon =
      this.options.fault === 'no mutual hearing' && !isHeard
        ? { ...beacon, heard: [[this.id, Math.floor(nowMs), 0]] }
        : beacon;
    const news = this.peers.heard(from, echo, { way: 0, at }, { nowMs, fairMs: nowMs - this.stoodMs });
    if (news === 'known') return;
    if (news === 'down') this.lose(from);
    if (news === 'up') this.upAtMs.set(from, nowMs);
    if (news === 'up') this.unanswered.add(from);
    if (news === 'up')
      this.say(from, { kind: 'hold', from: this.id, holds: this.isHere, running: this.running });
    this.sayAll({ kind: 'beacon', from: this.id, at: Math.floor(nowMs), beacon: this.peers.heardNow(nowMs) });
    if (news === 'up') this.viewed();
  }

  private learn(from: number, running: readonly Running[], nowMs: number): void {
    if (!this.isHere) return;
    const { on } = this.order;
    const isOver = on?.burst.relay === from && !running.some(({ burst }) => isSame(burst, on.burst));
    if (isOver && on.turn !== null && nowMs - on.burst.startedAtMs > 50)
      this.order.ended(on.burst, on.turn, { code: 'disconnected', durationMs: null, frames: 0 }, nowMs);
    for (const one of running) this.begin(one, nowMs);
  }

  // Bursts of others

  /** It plays here in `open`. */
  private isOpenBurst(name: BurstName): boolean {
    const burst = this.open.get(name.relay);
    return burst !== undefined && isSame(burst, name);
  }

  private begin({ burst, placed, index }: Running, nowMs: number): void {
    const { judge } = this.options;
    const heard = { ...burst, startedAtMs: nowMs };
    const isTurned = placed.turn.count > 0;
    if (this.isOpen || !isTurned) {
      if (!this.isOpen || isTurned || this.isOpenBurst(burst)) return;
      const before = this.open.get(burst.relay);
      if (before !== undefined) judge.ended(this, before, 'disconnected');
      this.open.set(burst.relay, heard);
      judge.began(this, heard, null);
      return;
    }
    this.heardAtMs = nowMs;
    this.order.started(heard, placed, index, nowMs);
  }

  private play(head: FrameHead, inEmergency: boolean, nowMs: number): void {
    if (this.isOpen || head.count === 0) {
      if (this.isOpenBurst(head)) this.options.judge.played(this, head, head.index, null);
      else this.ask(head.relay);
      return;
    }
    this.heardAtMs = nowMs;
    const fate = this.order.frame(head, NO_AUDIO, nowMs);
    if (fate === 'played') this.lastPlayed = { burst: head.burst, session: head.session, inEmergency };
    if (fate === 'unknown') this.ask(head.relay);
    if (fate === 'fenced') this.authority.fenced(this.talkgroup, nowMs);
  }

  private endOf(name: BurstName, turn: Turn, ended: Ended, nowMs: number): void {
    if (this.isOpenBurst(name)) {
      this.open.delete(name.relay);
      this.options.judge.ended(this, name, ended.code);
      return;
    }
    if (turn.count === 0) return;
    this.order.ended(name, turn, ended, nowMs);
    this.authority.ended(this.talkgroup, { session: name.session, turn, code: ended.code }, nowMs);
  }

  // Bursts of this relay

  private carryOut(verdicts: readonly Verdict[], nowMs: number): void {
    for (const verdict of verdicts) {
      const number = 'holder' in verdict ? verdict.holder.claim.session : verdict.session;
      this.sessions.get(number)?.hear(verdict, nowMs);
    }
  }

  started(session: SimSession, burst: SimBurst, nowMs: number): void {
    const placed = this.placedOf(session);
    if (!this.isOpen) this.order.ownStarted(burst, placed?.turn ?? null, nowMs);
    this.options.judge.began(this, burst, placed?.turn ?? null);
    if (placed !== null)
      this.sayAll({ kind: 'started', from: this.id, running: { burst, placed, index: 0 } });
  }

  frame(session: SimSession): void {
    const { burst, frames } = session;
    if (burst === null) return;
    this.options.judge.played(this, burst, frames, this.order.on?.turn ?? null);
    const placed = this.placedOf(session);
    if (placed === null) return;
    const { count, home } = placed.turn;
    const { relay, session: number, burst: name } = burst;
    this.sayAll({
      kind: 'frame',
      from: this.id,
      head: { relay, session: number, burst: name, count, home, index: frames },
      inEmergency: session.inEmergency,
    });
  }

  ended(session: SimSession, burst: SimBurst, code: Ended['code'], nowMs: number): void {
    const placed = this.placedOf(session);
    this.options.judge.ended(this, burst, code);
    if (placed !== null) {
      const ended = { code, durationMs: nowMs - burst.startedAtMs, frames: session.frames };
      this.sayAll({ kind: 'ended', from: this.id, name: burst, turn: placed.turn, ended });
    }
    if (!this.isOpen) this.order.ownEnded(nowMs);
  }

  private renewed(number: number, placed: Placed, nowMs: number): void {
    const session = this.sessions.get(number);
    if (session?.burst == null || session.claim !== 'talks') return;
    this.order.ownRenewed(placed.turn, nowMs);
    this.options.judge.renewed(this, placed.turn);
    this.sayAll({
      kind: 'started',
      from: this.id,
      running: { burst: session.burst, placed, index: session.frames },
    });
  }
}
