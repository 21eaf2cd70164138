// Buffers audio of one talkgroup: for the receivers that asked for fewer writes or fewer messages (docs/protocol.md,
// section 2), and for live receivers while the relay is under load. It has no clock and does not publish.
import type { Hearer } from './hearer.js';
import type { Source } from './source.js';

/** How audio is buffered: joined, and sent at most `ms` after it was relayed. */
export interface Hold {
  readonly name: string;
  readonly ms: number;
  /** Frames of a burst in one message. 1: each frame stays a message, and only the writes are joined. */
  readonly bundled: number;
  /** Frames of a burst that leave before the window ends. Not set: everything leaves when it ends. */
  readonly frames?: number;
}

/** By the field of SUBSCRIBE and its value. A frame is 20 ms, so a bundle is full before its window ends. */
export const HOLDS = {
  coalesce_ms: {
    10: { name: 'c10', ms: 10, bundled: 1 },
    20: { name: 'c20', ms: 20, bundled: 1 },
  },
  bundle_ms: {
    40: { name: 'b40', ms: 40, bundled: 2, frames: 2 },
    60: { name: 'b60', ms: 60, bundled: 3, frames: 3 },
  },
} as const satisfies Record<string, Record<number, Hold>>;

/** Frames of all talkers together. Ten talkers at twice their rate fill a fifth of it in 20 ms. */
const FRAMES_MAX = 256;

/** The buffered frames of one burst, in their order, and when the first of them came. */
interface Waiting {
  readonly frames: ArrayBuffer[];
  readonly sinceMs: number;
}

/** Sends the frames of a talker to the whole topic, or to one hearer that does not subscribe to it. */
type Publish = (source: Source, frames: readonly ArrayBuffer[], to: Hearer | null) => void;

/**
 * One talkgroup's audio under one hold. A receiver that enters or leaves does not change when the others get theirs, but
 * under load what is buffered for live receivers leaves before another one enters. One
 * that leaves gets the buffered frames by itself. One that enters gets newer frames by itself while older frames are
 * buffered, which it has heard or came too late for. Within a window those are sent, and it subscribes to the topic.
 */
export class Held {
  readonly hold: Hold;
  readonly topic: string;
  private readonly publish: Publish;
  private readonly waiting = new Map<Source, Waiting>();
  private count = 0;
  /** Receivers that enter, with the number of frames of each talker that they do not get. */
  private readonly coming = new Map<Hearer, Map<Source, number>>();
  /** Frames relayed in the talkgroup and not buffered here any more, at the last mark and at the one before. */
  private passedLately: number;
  private passedBefore: number;
  /** Marks in a row at which nothing was buffered, since the last frame came. */
  private emptyMarks = 0;

  /** `relayed`: frames relayed in the talkgroup that have certainly been written, as far as they were not buffered. */
  constructor(hold: Hold, topic: string, relayed: number, publish: Publish) {
    this.hold = hold;
    this.topic = topic;
    this.publish = publish;
    this.passedLately = relayed;
    this.passedBefore = relayed;
  }

  /** Takes a frame. The caller must not change the buffer afterwards. false: it has left already. */
  put(source: Source, frame: ArrayBuffer, nowMs: number): boolean {
    let one = this.waiting.get(source);
    if (one === undefined) {
      one = { frames: [], sinceMs: nowMs };
      this.waiting.set(source, one);
    }
    one.frames.push(frame);
    this.count++;
    this.emptyMarks = 0;
    const { frames = Number.POSITIVE_INFINITY } = this.hold;
    if (one.frames.length >= frames) this.send(source, one);
    // Full: sends everything early, so that nothing is lost.
    else if (this.count === FRAMES_MAX) this.flush();
    return this.count > 0;
  }

  /** A bundle leaves by itself, messages leave with all others. */
  private send(source: Source, one: Waiting): void {
    if (this.hold.bundled > 1) this.release(source, one);
    else this.flush();
  }

  private release(source: Source, { frames }: Waiting): void {
    this.waiting.delete(source);
    this.count -= frames.length;
    this.publish(source, frames, null);
    for (const [hearer, older] of this.coming) {
      const rest = frames.slice(older.get(source) ?? 0);
      if (rest.length > 0) this.publish(source, rest, hearer);
      this.passed(source, hearer, older);
    }
  }

  /** Older frames of this talker are sent. After the last older frame the hearer joins the others. */
  private passed(source: Source, hearer: Hearer, older: Map<Source, number>): void {
    older.delete(source);
    if (older.size > 0) return;
    this.coming.delete(hearer);
    hearer.arrive(this.topic);
  }

  /** From now on the hearer gets the frames put here, and none that is already buffered. */
  enter(hearer: Hearer): void {
    if (this.waiting.size === 0) return hearer.arrive(this.topic);
    this.coming.set(
      hearer,
      new Map([...this.waiting].map(([source, { frames }]) => [source, frames.length])),
    );
  }

  /** The hearer leaves the topic, and gets the frames buffered for it. */
  leave(hearer: Hearer): void {
    const older = this.coming.get(hearer);
    for (const [source, { frames }] of this.waiting) {
      const rest = frames.slice(older?.get(source) ?? 0);
      if (rest.length > 0) this.publish(source, rest, hearer);
    }
    this.forget(hearer);
  }

  /** The hearer leaves or has disconnected, and gets nothing more. */
  forget(hearer: Hearer): void {
    this.coming.delete(hearer);
  }

  /** Whether this hearer enters and does not subscribe to the topic yet. */
  isEntering(hearer: Hearer): boolean {
    return this.coming.has(hearer);
  }

  /** Whether a hearer enters that does not subscribe to the topic yet. */
  get isAwaited(): boolean {
    return this.coming.size > 0;
  }

  /** Sends everything. */
  flush(): void {
    for (const [source, one] of this.waiting) this.release(source, one);
  }

  /** A window ended: sends what is due. Answers when the window of the rest ends. */
  expire(nowMs: number): number | null {
    if (this.hold.frames === undefined) this.flush();
    for (const [source, one] of this.waiting) {
      const dueMs = one.sinceMs + this.hold.ms;
      if (dueMs > nowMs) return dueMs; // the following ones came later
      this.send(source, one);
    }
    return null;
  }

  /** Discards the buffered frames of this talker, and answers how many they were. */
  discard(source: Source): number {
    const frames = this.waiting.get(source)?.frames.length ?? 0;
    this.waiting.delete(source);
    this.count -= frames;
    for (const [hearer, older] of this.coming) this.passed(source, hearer, older);
    return frames;
  }

  /** How many buffered frames this hearer will get: not its own, nor those from before it entered. */
  waitingFor(hearer: Hearer): number {
    const older = this.coming.get(hearer);
    let count = 0;
    for (const [source, { frames }] of this.waiting)
      if (source.sender !== hearer.number) count += frames.length - (older?.get(source) ?? 0);
    return count;
  }

  /** Called with every mark of the talkgroup. true: nothing is buffered, and nothing changed since the last two marks. */
  mark(relayed: number): boolean {
    const passed = relayed - this.count;
    this.emptyMarks = this.count === 0 ? this.emptyMarks + 1 : 0;
    const isSettled = this.count === 0 && passed === this.passedLately && passed === this.passedBefore;
    this.passedBefore = this.passedLately;
    this.passedLately = passed;
    return isSettled;
  }

  /** true: what was buffered here has certainly been written, and no frame has come since. */
  get isUnused(): boolean {
    return this.emptyMarks > 1;
  }

  /**
   * The frames relayed ever that had certainly been written to every socket by the last mark. It is not the count at that
   * mark: windows end in timers, where marks are made, so frames sent just before may not be written yet.
   */
  get passedAtMark(): number {
    return this.passedBefore;
  }
}
