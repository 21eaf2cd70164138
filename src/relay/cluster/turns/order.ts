// Decides which burst of a talkgroup a relay plays in `single` and `broadcast`: one at a time, in the order of their turns.
//
// Bursts of this relay pass through it as well as those of others. It has no clock, and sends nothing. A burst that comes
// before the end of the one that it follows is held back for a moment, because the two come from different relays.
import type { EndCode } from '../../../protocol/codes.js';
import { compareTurns, laterTurn, NO_TURN, type Turn } from '../../../protocol/turn.js';
import { PastFrames } from './cut.js';
import { type Held, heldBack, type On } from './held-back.js';
import { Playing } from './playing.js';
import {
  type BurstName,
  type Ended,
  type FrameFate,
  type FrameHead,
  hasMoved,
  isSame,
  type Placed,
  type Plays,
} from './plays.js';

/** A burst that its home has given the floor is held back for this time (ms): the difference of two ways, and a slow turn of the loop. */
export const ORDER_MS = 100;
/** A burst of a relay that takes another relay for the home is held back for this time (ms), until the two sides are one. */
export const MERGE_MS = 500;
/** Frames of a burst that is held back: more than are spoken within MERGE_MS. Of more than these the oldest are missed. */
const FRAMES_HELD_MAX = 32;

export class Order<B extends BurstName> extends Playing<B> {
  /** The home of the talkgroup by the view of this relay. */
  private readonly home: () => number;
  private next: Held<B> | null = null;
  private readonly pastFrames = new PastFrames();

  constructor(plays: Plays<B>, home: () => number) {
    super(plays);
    this.home = home;
  }

  /** The highest turn of a burst that was heard of. */
  get seen(): Turn {
    return this.next?.burst ? laterTurn(this.top, this.next.placed.turn) : this.top;
  }

  /** Something waits: `tick` must be called. */
  get isHolding(): boolean {
    return this.next !== null;
  }

  /** A burst of another relay began, or goes on with another turn. `frames` is the index of its last frame before. */
  started(burst: B, placed: Placed, frames: number, nowMs: number): void {
    const { running } = this;
    if (running !== null && isSame(running.burst, burst)) {
      if (!running.isOwn && hasMoved(running.burst, burst)) running.burst = burst;
      return this.renew(placed.turn, nowMs);
    }
    if (this.next?.burst && isSame(this.next.burst, burst)) {
      if (hasMoved(this.next.burst, burst)) this.next.burst = burst;
      if (compareTurns(placed.turn, this.next.placed.turn) > 0) this.next.placed = placed;
      return this.advance(nowMs);
    }
    if (this.isPast(placed.turn)) return;
    if (this.next !== null && compareTurns(placed.after, this.next.placed.turn) >= 0)
      this.followed(this.next, placed, nowMs);
    if (this.isPast(placed.turn)) return;
    const held = heldBack(burst, placed, frames, nowMs);
    if (this.running === null && compareTurns(placed.after, this.over) <= 0) this.begin(burst, held, nowMs);
    else this.hold(held, nowMs);
  }

  frame(head: FrameHead, message: ArrayBuffer, nowMs: number): FrameFate {
    const { running, next } = this;
    if (running !== null && isSame(running.burst, head)) {
      if (running.turn !== null && compareTurns(head, running.turn) > 0)
        this.renew({ count: head.count, home: head.home }, nowMs);
      return this.playFrame(running, message, head.index, nowMs);
    }
    if (next?.burst && isSame(next.burst, head)) return this.keep(next, message, head.index);
    if (!this.isPast(head)) return 'unknown';
    this.cut.frame(head, head.index, nowMs);
    return running === null && this.pastFrames.isTooMany(nowMs) ? 'fenced' : 'dropped';
  }

  private keep(held: Held<B>, message: ArrayBuffer, index: number): FrameFate {
    if (index <= held.index) return 'dropped';
    held.index = index;
    held.frames.push({ message, index });
    if (held.frames.length > FRAMES_HELD_MAX) held.frames.shift();
    return 'held';
  }

  /** A burst of another relay ended there. */
  ended(name: BurstName, turn: Turn, ended: Ended, nowMs: number): void {
    this.cut.end(name, ended.frames, nowMs);
    const { running, next } = this;
    if (running !== null && isSame(running.burst, name)) {
      if (running.turn !== null) running.turn = laterTurn(running.turn, turn);
      return this.finish(ended, nowMs);
    }
    if (next?.burst && isSame(next.burst, name)) next.ended = ended;
    else if (running === null) {
      this.over = laterTurn(this.over, turn);
      this.advance(nowMs);
    }
  }

  /** The relay cannot be reached any more, or has no members here: its burst ends, and what is held of it is not played. */
  gone(relay: number, nowMs: number, code: EndCode = 'disconnected'): void {
    if (this.next?.burst?.relay === relay) this.dropNext(nowMs);
    if (this.running?.burst.relay === relay) this.endRunning(code, nowMs);
    this.cut.forget();
    this.advance(nowMs);
  }

  /**
   * The home gave this relay's session the floor. `ready`: it may begin. `held`: `plays.ready` is called when it may.
   * `past`: it never may, because a later turn was played here. The home gives it another turn when it is told of `top`.
   */
  grant(placed: Placed, nowMs: number): 'ready' | 'held' | 'past' {
    const { turn, after } = placed;
    if (this.next?.burst === null && compareTurns(this.next.placed.turn, turn) === 0) return 'held';
    if (this.isPast(turn)) return 'past';
    if (this.next !== null && compareTurns(after, this.next.placed.turn) >= 0) this.force(nowMs);
    if (this.running === null && compareTurns(after, this.over) <= 0) return 'ready';
    this.hold(heldBack<B>(null, placed, 0, nowMs), nowMs);
    return 'held';
  }

  /** The grant was given up, or taken away. */
  withdraw(turn: Turn): void {
    if (this.next?.burst === null && compareTurns(this.next.placed.turn, turn) === 0) this.next = null;
  }

  /** Ends what plays, for a burst of this relay that begins without the word of a home. */
  interrupt(nowMs: number): void {
    if (this.running !== null && !this.running.isOwn) this.endRunning('preempted', nowMs);
  }

  /** A burst of this relay began. Its relay has announced it, and plays its frames. */
  ownStarted(burst: B, turn: Turn | null, nowMs: number): void {
    this.interrupt(nowMs);
    this.running = { burst, turn, isOwn: true, index: 0 };
    if (turn !== null) this.dropPast(nowMs);
  }

  /** A burst of another relay goes on as one of this relay, behind the frame with the index `frames`. */
  goesOnHere(burst: B, turn: Turn, frames: number, nowMs: number): void {
    this.cut.end(burst, frames, nowMs);
    const { running, next } = this;
    if (next?.burst && isSame(next.burst, burst)) this.dropNext(nowMs);
    if (running === null || !isSame(running.burst, burst)) this.interrupt(nowMs);
    const last = laterTurn(turn, this.running?.turn ?? NO_TURN);
    this.running = { burst, isOwn: true, turn: last, index: Number.POSITIVE_INFINITY };
    this.dropPast(nowMs);
  }

  /** The home gave the running burst of this relay a turn, or a later one. */
  ownRenewed(turn: Turn, nowMs: number): void {
    if (this.running?.isOwn) this.renew(turn, nowMs);
  }

  ownEnded(nowMs: number): void {
    if (!this.running?.isOwn) return;
    const { turn } = this.running;
    this.running = null;
    if (turn !== null) this.over = laterTurn(this.over, turn);
    this.advance(nowMs);
  }

  /** Gives up waiting when it has waited long enough. Called every 20 ms or more often. */
  tick(nowMs: number): void {
    const { next, running } = this;
    if (next === null) return;
    const waitedMs = nowMs - next.sinceMs;
    const isOurs = next.burst === null || next.placed.turn.home === this.home();
    if (running === null || isOurs) {
      if (waitedMs >= ORDER_MS) this.force(nowMs);
    } else if (waitedMs >= MERGE_MS) this.dropNext(nowMs);
  }

  private renew(turn: Turn, nowMs: number): void {
    const { running } = this;
    if (running === null) return;
    running.turn = running.turn === null ? turn : laterTurn(running.turn, turn);
    this.dropPast(nowMs);
  }

  private dropPast(nowMs: number): void {
    if (this.next !== null && this.isPast(this.next.placed.turn)) this.dropNext(nowMs);
  }

  private dropNext(nowMs: number): void {
    const { next } = this;
    this.next = null;
    if (next !== null) this.miss(next, nowMs);
  }

  private miss({ burst, from, index }: Held<B>, nowMs: number): void {
    if (burst !== null && index > from) this.plays.missed(burst, index - from, nowMs);
  }

  /**
   * The home of another burst knew of the held one: there is nothing left to wait for. A home that is not that of this
   * relay does not end what plays here.
   */
  private followed(next: Held<B>, { turn }: Placed, nowMs: number): void {
    const home = this.home();
    if (this.running === null || next.placed.turn.home === home || turn.home === home) this.force(nowMs);
    else this.dropNext(nowMs);
  }

  /** Of two that wait, the later turn is kept. */
  private hold(held: Held<B>, nowMs: number): void {
    if (this.next !== null && compareTurns(this.next.placed.turn, held.placed.turn) > 0) return;
    this.dropNext(nowMs);
    this.next = held;
  }

  /** The one that waits begins now. A burst of this relay goes on: it ends by the word of its home alone. */
  private force(nowMs: number): void {
    const { next, running } = this;
    if (next === null || running?.isOwn) return;
    const { after, afterCode } = next.placed;
    if (running?.turn) {
      const isAfter = compareTurns(running.turn, after) === 0;
      this.endRunning(isAfter ? afterCode : 'preempted', nowMs);
    }
    this.over = laterTurn(this.over, after);
    this.advance(nowMs);
  }

  private advance(nowMs: number): void {
    const { next } = this;
    if (next === null || this.running !== null || compareTurns(next.placed.after, this.over) > 0) return;
    this.next = null;
    if (this.isPast(next.placed.turn)) this.miss(next, nowMs);
    else if (next.burst === null) this.plays.ready(next.placed.turn, nowMs);
    else this.begin(next.burst, next, nowMs);
  }

  private begin(burst: B, held: Held<B>, nowMs: number): void {
    const { placed, frames, ended } = held;
    const running: On<B> = { burst, isOwn: false, turn: placed.turn, index: held.from };
    this.running = running;
    this.dropPast(nowMs);
    this.cut.end(burst, held.from, nowMs);
    this.plays.begin(burst, held.from, nowMs);
    for (const { message, index } of frames) this.playFrame(running, message, index, nowMs);
    if (ended !== null) this.finish(ended, nowMs);
  }

  /** The burst that plays ended where its talker is. */
  private finish(ended: Ended, nowMs: number): void {
    const { running } = this;
    if (running === null) return;
    if (ended.frames > running.index) this.plays.missed(running.burst, ended.frames - running.index, nowMs);
    this.stop(running, ended, nowMs);
    this.advance(nowMs);
  }
}
