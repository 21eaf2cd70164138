// What this relay says to the others about one talkgroup: numbers its messages, and tells of its bursts.

import type { RunningTalker } from '../../protocol/bodies.js';
import type { EndCode } from '../../protocol/codes.js';
import type { Draft } from '../../protocol/server-messages.js';
import { NO_TURN, type Turn } from '../../protocol/turn.js';
import type { Elsewhere, OwnBurst, OwnTurns } from '../delivery/elsewhere.js';
import { runningBody } from '../floor/messages.js';
import type { Talkgroup } from '../members/members.js';
import { bodyOf } from '../nodes/body.js';
import { type Subject, talkgroupSubject } from '../nodes/bus.js';
import { type Kind, kinds } from '../nodes/header.js';
import type { Placed } from '../shared-floor/bodies.js';
import type { AskedWith, PlayedBurst } from '../shared-floor/turns/plays.js';
import type { Turns } from '../shared-floor/turns/turns.js';
import type { Here, Started } from './bodies.js';
import { PastBursts } from './past.js';
import { type StreamServices, settingsBody } from './services.js';

/** A burst that went to another relay is not listed here, and has not ended: its new relay tells of it within this time (ms). */
const GIVEN_MS = 2000;
/** Bursts in one answer: 350 KiB with names and codecs of the greatest length. */
const BURSTS_MAX = 500;

export class Outgoing implements Elsewhere, OwnTurns {
  /** Of the last message sent. A message that the bus does not take has a number, too, so that it is missed. */
  seq: number;
  readonly past = new PastBursts();
  private readonly services: StreamServices;
  private readonly talkgroup: Talkgroup;
  private readonly subject: Subject;
  private readonly turns: Turns;
  /** Of the burst of this relay. null: it has none, or the others do not hear it. */
  private turn: Turn | null = null;
  /** All other relays with receivers are of this node. One of another node asks before it can play a frame. */
  private isNear = false;
  /** Frames of it that the others did not hear, because no home had placed it. */
  private alone = 0;
  /** The others have heard of it in `open`, and no home has placed it since. */
  private isOfOpen = false;
  /** Bursts that went to other relays with their sessions within GIVEN_MS, and when (monotonic ms). */
  private given: readonly { readonly session: number; readonly burst: number; readonly atMs: number }[] = [];

  /** The numbers of its messages follow `lastSeq`. */
  constructor(services: StreamServices, talkgroup: Talkgroup, turns: Turns, lastSeq: number) {
    this.services = services;
    this.seq = lastSeq;
    this.talkgroup = talkgroup;
    this.subject = talkgroupSubject(talkgroup.number);
    this.turns = turns;
    this.begin();
  }

  private get isOpen(): boolean {
    return this.talkgroup.floorMode === 'open';
  }

  /** From now on in this floor mode. Bursts of this relay may run already. */
  begin(): void {
    const { nowMs } = this.services.clock;
    this.turns.ownEnded(nowMs());
    this.turn = this.isOpen ? NO_TURN : null;
    this.alone = 0;
    const [running] = this.running;
    this.isOfOpen = false;
    if (this.isOpen || running === undefined) return;
    const { session: sender, burst, frames } = running;
    this.place({ sender, burst, frames }, nowMs());
    this.isOfOpen = this.turn === null;
  }

  /** The other relays with receivers have changed. */
  goesTo(relays: readonly number[]): void {
    this.isNear = relays.length > 0 && relays.every(this.services.isNear);
  }

  say(kind: Kind, index: number, body: Uint8Array, turn?: Turn): void {
    const { bus, writer, clock } = this.services;
    bus.publish(this.subject, writer.write(kind, ++this.seq, clock.nowMs(), index, turn), body);
  }

  starting(burst: OwnBurst, nowMs: number): void {
    if (this.isOpen) return;
    this.turns.endKept();
    this.place(burst, nowMs);
  }

  private place(burst: OwnBurst, nowMs: number): void {
    this.isOfOpen = false;
    this.turn = this.placedOf(burst.sender)?.turn ?? null;
    this.alone = 0;
    this.turns.ownStarted(burst, this.turn, nowMs);
  }

  started(burst: Draft<RunningTalker>): void {
    if (this.turn === null) return;
    const body = { ...this.bodyOf(burst), previous: this.past.before(burst) };
    this.say(kinds.started, 0, bodyOf(body), this.turn);
  }

  frame({ frames }: OwnBurst, message: ArrayBuffer, nowMs: number): void {
    const { turn } = this;
    if (turn === null) return;
    const { bus, writer, counts } = this.services;
    const head = writer.write(kinds.frame, ++this.seq, nowMs, frames, turn);
    if (bus.publish(this.subject, head, message, this.isNear)) counts.framesOut++;
  }

  /** The home gave the running burst of this session a turn, or a later one. */
  renewed(session: number, { turn }: Placed, nowMs: number): void {
    const burst = this.running.find((one) => one.session === session);
    if (burst === undefined) return;
    if (this.turn === null) this.alone = burst.frames;
    this.turn = turn;
    this.isOfOpen = false;
    this.turns.endKept();
    this.turns.ownRenewed(turn, nowMs);
    this.started(burst);
  }

  ended({ sender, burst, frames }: OwnBurst, code: EndCode, durationMs: number): void {
    const turn = this.turn ?? (this.isOfOpen ? NO_TURN : null);
    if (turn === null) return;
    const body = { session: sender, burst, code, duration_ms: Math.round(durationMs) };
    const placed = turn.count === 0 ? {} : { turn };
    this.past.add({ ...body, frames, ...placed }, this.services.clock.nowMs());
    this.say(kinds.ended, frames, bodyOf(body), turn);
  }

  mayGoOn(burst: OwnBurst, turn: Turn): boolean {
    return this.isOpen || this.turns.mayGoOn(burst, turn);
  }

  goesOnHere(burst: OwnBurst, nowMs: number): void {
    this.isOfOpen = false;
    this.turn = this.placedOf(burst.sender)?.turn ?? null;
    this.alone = 0;
    if (this.turn === null) this.turns.ownStarted(burst, null, nowMs);
    else this.turns.goesOnHere(burst, this.turn, nowMs);
  }

  endedBefore({ sender, burst, frames }: OwnBurst, turn: Turn, code: EndCode, durationMs: number): void {
    const body = { session: sender, burst, code, duration_ms: Math.round(durationMs) };
    this.say(kinds.ended, frames, bodyOf(body), turn);
  }

  /** The session of the burst goes to another relay with it, which will tell of it. */
  gave({ session, burst }: Pick<RunningTalker, 'session' | 'burst'>, nowMs: number): void {
    this.given = [...this.givenLately(nowMs), { session, burst, atMs: nowMs }];
  }

  private givenLately(nowMs: number): typeof this.given {
    return this.given.filter(({ atMs }) => nowMs - atMs < GIVEN_MS);
  }

  /** Such a burst is on its way: others must not take this relay for one without receivers, and the burst for ended. */
  hasGiven(nowMs: number): boolean {
    return this.givenLately(nowMs).length > 0;
  }

  /** The burst of this relay goes on as one of that relay, and `played` plays it. */
  goesOnThere(to: number, talker: RunningTalker, played: PlayedBurst, nowMs: number): void {
    this.isOfOpen = false;
    this.turn = null;
    const claim = this.askedWith(talker.session);
    const moves = this.services.movesOf(talker.session) ?? 0;
    this.turns.goesOnThere({ relay: to, moves, claim }, talker, played, nowMs);
  }

  over(nowMs: number): void {
    const isOneOfSeveral = this.turn?.count === 0; // all bursts of `open` end when the mode changes
    if (this.isOpen || isOneOfSeveral) return;
    this.turn = null;
    this.isOfOpen = false;
    this.turns.ownEnded(nowMs);
  }

  /** The running bursts that others are to hear, those that went to another relay lately, and those that ended. */
  get bursts(): Pick<Draft<Here['talkgroups'][number]>, 'bursts' | 'isWhole' | 'moved' | 'ended'> {
    const { past } = this;
    const isHeard = this.turn !== null || this.isOfOpen;
    const running = isHeard ? this.running : [];
    const bursts = running.slice(0, BURSTS_MAX).map((burst) => this.bodyOf(burst));
    const moved = this.givenLately(this.services.clock.nowMs()).slice(0, BURSTS_MAX);
    return {
      ...{ bursts, isWhole: running.length <= BURSTS_MAX, ended: past.without(running) },
      ...(moved.length > 0 && { moved: moved.map(({ session, burst }) => ({ session, burst })) }),
    };
  }

  private bodyOf(burst: Draft<RunningTalker>): Draft<Started> {
    const { talkgroup, services, alone } = this;
    const settings = settingsBody(talkgroup);
    const placed = this.isOpen ? null : this.placedOf(burst.session);
    const moves = services.movesOf(burst.session) ?? 0;
    const claim = placed && this.askedWith(burst.session);
    const turned = { ...(placed && { placed }), ...(claim && { claim }), ...(alone > 0 && { alone }) };
    return { ...burst, settings, ...turned, ...(moves > 0 && { moves }) };
  }

  private get running(): readonly Draft<RunningTalker>[] {
    return [...this.services.remote.bursts.in(this.talkgroup)].map(runningBody);
  }

  /** What the session of this relay asked for the floor with. null: it does not have it. */
  private askedWith(session: number): AskedWith | null {
    const claim = this.services.floors.claimOf(this.talkgroup, session);
    return claim && { priority: claim.priority, isAdmin: claim.isAdmin };
  }

  private placedOf(session: number): Placed | null {
    const placed = this.services.floors.placedOf(this.talkgroup, session);
    if (placed === null) return null;
    const { turn, after, afterCode } = placed; // a verdict has more
    return { turn, after, afterCode };
  }
}
