// Decides which burst of a talkgroup a relay plays in `single` and `broadcast`: one at a time, in the order of their turns.
//
// Bursts of this relay pass through it as well as those of others. It has no clock, and sends nothing. A burst that comes
// before the end of the one that it follows is held back for a moment, because the two come from different relays.
import type { EndCode } from '../../../protocol/codes.js';
import { compareTurns, laterTurn, NO_TURN, type Turn } from '../../../protocol/turn.js';
import type { Placed } from '../bodies.js';
import { Cut, PastFrames } from './cut.js';
import { type Held, HeldBack, heldBack, keepFrame, type On } from './held-back.js';
import {
  type BurstName,
  type Ended,
  type FrameFate,
  type FrameHead,
  hasMoved,
  isSame,
  type Plays,
  type Views,
} from './plays.js';

export class Order<B extends BurstName> {
  private readonly plays: Plays<B>;
  private running: On<B> | null = null;
  /** The highest turn known to have ended. */
  private over: Turn = NO_TURN;
  private readonly cut: Cut<B>;
  private readonly views: Views<B>;
  private readonly held: HeldBack<B>;
  private readonly pastFrames = new PastFrames();

  constructor(plays: Plays<B>, views: Views<B>) {
    this.plays = plays;
    this.views = views;
    this.cut = new Cut((...missed) => plays.missed(...missed));
    this.held = new HeldBack(views);
  }

  /** The highest turn that plays or ended here. */
  get top(): Turn {
    return this.running?.turn ? laterTurn(this.over, this.running.turn) : this.over;
  }

  /** The burst that plays. */
  get on(): { readonly burst: B; readonly turn: Turn | null } | null {
    return this.running;
  }

  /** The turn is not above what plays and what ended here: a burst with it is never played. */
  isPast(turn: Turn): boolean {
    return compareTurns(turn, this.top) <= 0;
  }

  /** Whether the burst of a session that comes here may go on: it plays, or may begin now. */
  mayGoOn(burst: BurstName, turn: Turn): boolean {
    const { running } = this;
    return (running !== null && isSame(running.burst, burst)) || !(running?.isOwn || this.isPast(turn));
  }

  /** What plays goes on without a turn from now on: the floor mode is `open`. */
  release(): On<B> | null {
    const { running } = this;
    this.running = null;
    if (running?.turn) this.over = laterTurn(this.over, running.turn);
    return running;
  }

  /** The burst of this relay goes on as one of another relay. false: it does not play. */
  goesOnThere(burst: B, index: number): boolean {
    const { running } = this;
    if (!running?.isOwn || !isSame(running.burst, burst)) return false;
    this.running = { burst, isOwn: false, turn: running.turn, index };
    return true;
  }

  /** The highest turn of a burst that was heard of. */
  get seen(): Turn {
    return this.held.latest(this.top);
  }

  /** Something waits: `tick` must be called. */
  get isHolding(): boolean {
    return this.held.first !== null;
  }

  /** A burst of another relay began, or goes on with another turn. `frames` is the index of its last frame before. */
  started(burst: B, placed: Placed, frames: number, nowMs: number): void {
    const { running } = this;
    if (running !== null && isSame(running.burst, burst)) {
      if (!running.isOwn && hasMoved(running.burst, burst)) running.burst = burst;
      return this.renew(placed.turn, nowMs);
    }
    const known = this.held.burstOf(burst);
    if (known !== null) {
      if (known.burst !== null && hasMoved(known.burst, burst)) known.burst = burst;
      this.held.place(known, placed);
      return this.advance(nowMs);
    }
    if (this.isPast(placed.turn)) return;
    this.followed(placed, nowMs);
    if (this.isPast(placed.turn)) return;
    const held = heldBack(burst, { placed, rank: this.views.rankOf(burst) }, frames, nowMs);
    if (this.running === null && compareTurns(placed.after, this.over) <= 0) this.begin(burst, held, nowMs);
    else this.hold(held, nowMs);
  }

  frame(head: FrameHead, message: ArrayBuffer, nowMs: number): FrameFate {
    const { running } = this;
    if (running !== null && isSame(running.burst, head)) {
      if (running.turn !== null && compareTurns(head, running.turn) > 0)
        this.renew({ count: head.count, home: head.home }, nowMs);
      return this.playFrame(running, message, head.index, nowMs);
    }
    const held = this.held.burstOf(head);
    if (held !== null) return keepFrame(held, message, head.index);
    if (!this.isPast(head)) return 'unknown';
    this.cut.frame(head, head.index, nowMs);
    return running === null && this.pastFrames.isTooMany(nowMs) ? 'fenced' : 'dropped';
  }

  /** A burst of another relay ended there. */
  ended(name: BurstName, turn: Turn, ended: Ended, nowMs: number): void {
    this.cut.end(name, ended.frames, nowMs);
    const { running } = this;
    const held = this.held.burstOf(name);
    if (running !== null && isSame(running.burst, name)) {
      if (running.turn !== null) running.turn = laterTurn(running.turn, turn);
      return this.finish(ended, nowMs);
    }
    if (held !== null) held.ended = ended;
    else if (running === null) {
      this.over = laterTurn(this.over, turn);
      this.advance(nowMs);
    }
  }

  /** The relay cannot be reached any more, or has no members here: its burst ends, and what is held of it is not played. */
  gone(relay: number, nowMs: number, code: EndCode = 'disconnected'): void {
    this.drop(({ burst }) => burst?.relay === relay, nowMs);
    if (this.running?.burst.relay === relay) {
      this.endRunning(code, nowMs);
      this.cut.forget();
    }
    this.advance(nowMs);
  }

  /**
   * The home gave this relay's session the floor. `ready`: it may begin. `held`: `plays.ready` is called when it may.
   * `past`: it never may, because a later turn was played here. The home gives it another turn when it is told of `top`.
   */
  grant(placed: Placed, rank: number, nowMs: number): 'ready' | 'held' | 'past' {
    const { turn, after } = placed;
    if (this.held.grantOf(turn) !== null) return 'held';
    if (this.isPast(turn)) return 'past';
    if (this.held.isBefore(placed)) this.force(nowMs);
    if (this.running === null && compareTurns(after, this.over) <= 0) return 'ready';
    this.hold(heldBack<B>(null, { placed, rank }, 0, nowMs), nowMs);
    return 'held';
  }

  /** The grant was given up, or taken away. */
  withdraw(turn: Turn): void {
    const grant = this.held.grantOf(turn);
    if (grant !== null) this.held.remove(grant, grant.sinceMs);
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

  /** The home gave the running burst of this relay a turn, or a later one. */
  ownRenewed(turn: Turn, nowMs: number): void {
    if (this.running?.isOwn) this.renew(turn, nowMs);
  }

  /** A burst of another relay goes on as one of this relay, behind the frame with the index `frames`. */
  goesOnHere(burst: B, turn: Turn, frames: number, nowMs: number): void {
    this.cut.end(burst, frames, nowMs);
    const { running } = this;
    this.drop((held) => held.burst !== null && isSame(held.burst, burst), nowMs);
    if (running === null || !isSame(running.burst, burst)) this.interrupt(nowMs);
    const last = laterTurn(turn, this.running?.turn ?? NO_TURN);
    this.running = { burst, isOwn: true, turn: last, index: Number.POSITIVE_INFINITY };
    this.dropPast(nowMs);
  }

  ownEnded(nowMs: number): void {
    if (!this.running?.isOwn) return;
    this.over = this.top;
    this.running = null;
    this.advance(nowMs);
  }

  /** Gives up waiting when it has waited long enough. Called every 20 ms or more often. */
  tick(nowMs: number): void {
    const { running } = this;
    const next = this.held.first;
    if (next === null) return;
    if (nowMs - next.sinceMs < this.held.waitMs(running)) return;
    if (running === null || this.held.isOurs) this.force(nowMs, true);
    else this.drop((held) => held === next, nowMs);
  }

  private renew(turn: Turn, nowMs: number): void {
    const { running } = this;
    if (running === null) return;
    running.turn = running.turn === null ? turn : laterTurn(running.turn, turn);
    this.dropPast(nowMs);
  }

  private dropPast(nowMs: number): void {
    this.drop(({ placed }) => this.isPast(placed.turn), nowMs);
  }

  private drop(isOut: (held: Held<B>) => boolean, nowMs: number): void {
    for (const held of this.held.take(isOut, nowMs)) this.miss(held, nowMs);
  }

  private miss({ burst, from, index }: Held<B>, nowMs: number): void {
    if (burst !== null && index > from) this.plays.missed(burst, index - from, nowMs);
  }

  /**
   * The home of another burst knew of those that are held back: there is nothing left to wait for. A home that is not that
   * of this relay does not end what plays here.
   */
  private followed(placed: Placed, nowMs: number): void {
    const { first } = this.held;
    if (first === null || !this.held.isBefore(placed)) return;
    const home = this.views.home();
    const isOurs = first.placed.turn.home === home || placed.turn.home === home;
    if (this.running === null || isOurs) this.force(nowMs);
    else this.drop(() => true, nowMs);
  }

  private hold(held: Held<B>, nowMs: number): void {
    for (const out of this.held.push(held, this.running?.isOwn === true)) this.miss(out, nowMs);
  }

  /**
   * The one that waits begins now. A burst of this relay goes on: it ends by the word of its home alone. So does a higher one
   * that was not known to the home of the other: which of the two keeps the floor is decided when all are heard.
   * `isLate`: it was not in time.
   */
  private force(nowMs: number, isLate = false): void {
    const { running } = this;
    const next = this.held.first;
    if (next === null || running?.isOwn) return;
    if (!isLate && running !== null && this.held.isBelow(running)) return this.drop(() => true, nowMs);
    const { after, afterCode } = next.placed;
    if (running?.turn) {
      const isAfter = compareTurns(running.turn, after) === 0;
      this.endRunning(isAfter ? afterCode : 'preempted', nowMs);
    }
    this.over = laterTurn(this.over, after);
    this.advance(nowMs);
  }

  private advance(nowMs: number): void {
    const next = this.held.first;
    if (next === null || this.running !== null || compareTurns(next.placed.after, this.over) > 0) return;
    this.held.remove(next, nowMs);
    if (this.isPast(next.placed.turn)) {
      this.miss(next, nowMs);
      return this.advance(nowMs);
    }
    if (next.burst === null) this.plays.ready(next.placed.turn, nowMs);
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

  /** The next frame that came of the burst that plays. */
  private playFrame(running: On<B>, message: ArrayBuffer, index: number, nowMs: number): FrameFate {
    if (index <= running.index) return 'dropped';
    if (index > running.index + 1) this.plays.missed(running.burst, index - running.index - 1, nowMs);
    running.index = index;
    this.plays.frame(running.burst, message, index, nowMs);
    return 'played';
  }

  /** The burst that plays ends here, whatever becomes of it elsewhere. */
  private endRunning(code: EndCode, nowMs: number): void {
    const { running } = this;
    if (running === null) return;
    this.stop(running, { code, durationMs: null, frames: running.index }, nowMs);
    if (!running.isOwn) this.cut.begin(running.burst, running.index, nowMs);
  }

  private stop(running: On<B>, ended: Ended, nowMs: number): void {
    this.running = null;
    if (running.turn !== null) this.over = laterTurn(this.over, running.turn);
    this.plays.end(running.burst, ended, nowMs);
  }
}
