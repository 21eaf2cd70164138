// Keeps what is held back in the order of turns: bursts of other relays, and a grant to a session of this relay.
import { compareTurns, laterTurn, type Turn } from '../../../protocol/turn.js';
import type { Placed } from '../bodies.js';
import { type BurstName, type Ended, isSame, type Views } from './plays.js';

/** The burst that plays. */
export interface On<B> {
  /** Another one when its session moves. */
  burst: B;
  readonly isOwn: boolean;
  /** null: a burst of this relay that began without the word of a home. */
  turn: Turn | null;
  index: number;
}

/** A burst that is held back, or (`burst` null) a grant to a session of this relay. */
export interface Held<B> {
  burst: B | null;
  placed: Placed;
  readonly frames: { readonly message: ArrayBuffer; readonly index: number }[];
  /** Index of the last frame before it is heard here. */
  readonly from: number;
  index: number;
  ended: Ended | null;
  /** Of the claim. */
  readonly rank: number;
  /** When it began to wait, as the first one (monotonic ms). */
  sinceMs: number;
}

export const heldBack = <B>(
  burst: B | null,
  { placed, rank }: Pick<Held<B>, 'placed' | 'rank'>,
  from: number,
  sinceMs: number,
): Held<B> => ({
  ...{ burst, placed, frames: [], from, index: from, ended: null, rank, sinceMs },
});

/** A burst is held back for this time (ms): the difference of two ways, and a slow turn of the loop. */
export const ORDER_MS = 100;
/**
 * The same (ms) for a burst of a relay that takes another relay for the home, and for lower speech whose home may not know
 * what plays here: until the two sides are one.
 */
export const MERGE_MS = 500;

/** Frames of one burst: more than are spoken within 500 ms, the longest wait. Of more than these the oldest are missed. */
const FRAMES_MAX = 32;

/** Its frames are heard in their order when it begins. */
export function keepFrame<B>(held: Held<B>, message: ArrayBuffer, index: number): 'held' | 'dropped' {
  if (index <= held.index) return 'dropped';
  held.index = index;
  held.frames.push({ message, index });
  if (held.frames.length > FRAMES_MAX) held.frames.shift();
  return 'held';
}

/** Short bursts may follow each other while one of this relay waits for its end. More than these are not kept. */
const HELD_MAX = 4;

/** In the order of their turns: each follows the one before. */
export class HeldBack<B extends BurstName> {
  private readonly views: Views<B>;
  private readonly all: Held<B>[] = [];

  constructor(views: Views<B>) {
    this.views = views;
  }

  get first(): Held<B> | null {
    return this.all[0] ?? null;
  }

  private get last(): Held<B> | null {
    return this.all.at(-1) ?? null;
  }

  /** The later one of this turn and those of the bursts. */
  latest(turn: Turn): Turn {
    return this.all.reduce((seen, { burst, placed }) => (burst ? laterTurn(seen, placed.turn) : seen), turn);
  }

  /** The home of this grant knew of all that are held back. */
  isBefore({ after }: Placed): boolean {
    const { last } = this;
    return last !== null && compareTurns(after, last.placed.turn) >= 0;
  }

  burstOf(name: BurstName): Held<B> | null {
    for (const held of this.all) if (held.burst !== null && isSame(held.burst, name)) return held;
    return null;
  }

  grantOf(turn: Turn): Held<B> | null {
    for (const held of this.all)
      if (held.burst === null && compareTurns(held.placed.turn, turn) === 0) return held;
    return null;
  }

  /** The first one is a grant to a session of this relay, or its home is that of this relay. */
  get isOurs(): boolean {
    const { first } = this;
    return first?.burst === null || first?.placed.turn.home === this.views.home();
  }

  /** The first one waits for this time (ms). */
  waitMs(running: On<B> | null): number {
    return running === null || (this.isOurs && !this.isBelow(running)) ? ORDER_MS : MERGE_MS;
  }

  /** The first one would take the place of a higher burst, of which its home may not have known. */
  isBelow({ burst, turn, isOwn }: On<B>): boolean {
    const { first, views } = this;
    if (isOwn || turn === null || first === null) return false;
    const { after } = first.placed;
    const isKnown = after.home === turn.home && after.count >= turn.count;
    return !isKnown && first.rank < views.rankOf(burst);
  }

  /**
   * `isBehindOwn`: one that follows the others waits behind them. Else the latest turn alone is kept. Those that are not are
   * the answer.
   */
  push(held: Held<B>, isBehindOwn: boolean): readonly Held<B>[] {
    const { last } = this;
    const isKept = isBehindOwn && this.isBefore(held.placed) && this.all.length < HELD_MAX;
    if (last !== null && !isKept && compareTurns(last.placed.turn, held.placed.turn) > 0) return [held];
    const out = isKept ? [] : this.all.splice(0);
    this.all.push(held);
    return out;
  }

  /** A later turn for one of them. */
  place(held: Held<B>, placed: Placed): void {
    if (compareTurns(placed.turn, held.placed.turn) <= 0) return;
    held.placed = placed;
    this.all.sort((a, b) => compareTurns(a.placed.turn, b.placed.turn));
  }

  /** The next one is the first one, and waits from now on. */
  remove(held: Held<B>, nowMs: number): void {
    const at = this.all.indexOf(held);
    if (at < 0) return;
    this.all.splice(at, 1);
    const [first] = this.all;
    if (at === 0 && first !== undefined) first.sinceMs = nowMs;
  }

  /** Takes out those for which it is true. */
  take(isOut: (held: Held<B>) => boolean, nowMs: number): readonly Held<B>[] {
    const out = this.all.filter(isOut);
    for (const held of out) this.remove(held, nowMs);
    return out;
  }
}
