// Audio held back for receivers that asked for fewer writes or fewer messages (docs/protocol.md, section 2): what waits
// in one talkgroup for one kind of them. It knows no clock and no engine.
import type { Talkgroup } from './members.js';
import type { Session } from './session.js';
import type { Talk } from './talk.js';

/** A way to be given audio: joined, and no later than `ms` after it was relayed. */
export interface Hold {
  readonly name: string;
  readonly ms: number;
  /** So many frames of a burst in one message; 1: each stays a message, and only the writes are joined. */
  readonly bundled: number;
}

/** By the name of the field in SUBSCRIBE and its value. A frame is 20 ms, so a bundle is full before its window is over. */
export const HOLDS = {
  coalesce_ms: {
    10: { name: 'c10', ms: 10, bundled: 1 },
    20: { name: 'c20', ms: 20, bundled: 1 },
  },
  bundle_ms: {
    40: { name: 'b40', ms: 40, bundled: 2 },
    60: { name: 'b60', ms: 60, bundled: 3 },
  },
} as const satisfies Record<string, Record<number, Hold>>;

/** The topic of those who are given the talkgroup's audio this way; of null: live. */
export const topicOf = (talkgroup: Talkgroup, hold: Hold | null): string =>
  hold === null ? talkgroup.audioTopic : `${hold.name}.${talkgroup.number}`;

/** Ten talkers at twice their rate fill a fifth of it in 20 ms. */
const FRAMES_MAX = 256;

/** The frames of one burst that wait, in their order, since the first of them came. */
interface Waiting {
  readonly frames: ArrayBuffer[];
  readonly sinceMs: number;
}

/** A receiver that enters or leaves; what of it `Held` needs. */
export interface Hearer {
  readonly session: Session;
  /** It is to subscribe to this topic now. */
  arrive(topic: string): void;
}

/** Sends the frames of a talk, to all of the topic or to one hearer that is not in it. */
type Publish = (talk: Talk, frames: readonly ArrayBuffer[], to: Hearer | null) => void;

/**
 * One talkgroup's audio under one hold. Whoever enters or leaves does not change when it leaves for the others: one that
 * leaves is given what waits by itself, and one that enters is given by itself what waits beside older frames, which it
 * has heard or came too late for. Within a window those have left, and it joins the topic.
 */
export class Held {
  readonly hold: Hold;
  readonly topic: string;
  private readonly publish: Publish;
  private readonly waiting = new Map<Talk, Waiting>();
  private count = 0;
  /** Those that enter, with the number of frames of each talk that they are not given. */
  private readonly coming = new Map<Hearer, Map<Talk, number>>();
  /** Frames relayed in the talkgroup that do not wait here any more, at the last mark and at the one before. */
  private passedLately: number;
  private passedBefore: number;

  constructor(hold: Hold, talkgroup: Talkgroup, publish: Publish) {
    this.hold = hold;
    this.topic = topicOf(talkgroup, hold);
    this.publish = publish;
    this.passedLately = talkgroup.relayed;
    this.passedBefore = talkgroup.relayed;
  }

  /** Takes a frame that is its own to keep. */
  put(talk: Talk, frame: ArrayBuffer, nowMs: number): void {
    let one = this.waiting.get(talk);
    if (one === undefined) {
      one = { frames: [], sinceMs: nowMs };
      this.waiting.set(talk, one);
    }
    one.frames.push(frame);
    this.count++;
    const isFull = this.hold.bundled > 1 && one.frames.length === this.hold.bundled;
    if (isFull) this.release(talk, one);
    // Full: everything leaves, sooner than it would have, and nothing is lost.
    else if (this.count === FRAMES_MAX) this.flush();
  }

  private release(talk: Talk, { frames }: Waiting): void {
    this.waiting.delete(talk);
    this.count -= frames.length;
    this.publish(talk, frames, null);
    for (const [hearer, older] of this.coming) {
      const rest = frames.slice(older.get(talk) ?? 0);
      if (rest.length > 0) this.publish(talk, rest, hearer);
      this.passed(talk, hearer, older);
    }
  }

  /** Older frames of this talk wait no longer; with the last of them the hearer joins the others. */
  private passed(talk: Talk, hearer: Hearer, older: Map<Talk, number>): void {
    older.delete(talk);
    if (older.size > 0) return;
    this.coming.delete(hearer);
    hearer.arrive(this.topic);
  }

  /** From here on the hearer is given what is put here, and nothing that waits already. */
  enter(hearer: Hearer): void {
    if (this.waiting.size === 0) return hearer.arrive(this.topic);
    this.coming.set(hearer, new Map([...this.waiting].map(([talk, { frames }]) => [talk, frames.length])));
  }

  /** The hearer, which leaves the topic, is given what waits for it. */
  leave(hearer: Hearer): void {
    const older = this.coming.get(hearer);
    for (const [talk, { frames }] of this.waiting) {
      const rest = frames.slice(older?.get(talk) ?? 0);
      if (rest.length > 0) this.publish(talk, rest, hearer);
    }
    this.forget(hearer);
  }

  /** It leaves, or is gone, and is given nothing more. */
  forget(hearer: Hearer): void {
    this.coming.delete(hearer);
  }

  /** Somebody enters, and is not in the topic yet. */
  get isAwaited(): boolean {
    return this.coming.size > 0;
  }

  /** Everything leaves. */
  flush(): void {
    for (const [talk, one] of this.waiting) this.release(talk, one);
  }

  /** Its window is over: everything leaves, but bundles that are younger. Answers when it will be over for them. */
  expire(nowMs: number): number | null {
    if (this.hold.bundled === 1) this.flush();
    for (const [talk, one] of this.waiting) {
      const dueMs = one.sinceMs + this.hold.ms;
      if (dueMs > nowMs) return dueMs; // those behind it came later
      this.release(talk, one);
    }
    return null;
  }

  /** What waits of this talk never leaves; answers how many frames that were. */
  discard(talk: Talk): number {
    const frames = this.waiting.get(talk)?.frames.length ?? 0;
    this.waiting.delete(talk);
    this.count -= frames;
    for (const [hearer, older] of this.coming) this.passed(talk, hearer, older);
    return frames;
  }

  /** How many frames wait that this hearer will be given: not its own, nor those from before it entered. */
  waitingFor(hearer: Hearer): number {
    const older = this.coming.get(hearer);
    let count = 0;
    for (const [talk, { frames }] of this.waiting)
      if (talk.session !== hearer.session) count += frames.length - (older?.get(talk) ?? 0);
    return count;
  }

  /** Called with every mark of the talkgroup. true: nothing waits, and all is as at the last two of them. */
  mark(relayed: number): boolean {
    const passed = relayed - this.count;
    const isSettled = this.count === 0 && passed === this.passedLately && passed === this.passedBefore;
    this.passedBefore = this.passedLately;
    this.passedLately = passed;
    return isSettled;
  }

  /**
   * Of the frames relayed ever, those that had certainly been written to every socket by the last mark. Not the count
   * at that mark: windows end in timers, as marks are made, so what left just before may still be on its way.
   */
  get passedAtMark(): number {
    return this.passedBefore;
  }
}

/** What waits in the talkgroup for anybody leaves now. */
export function flushHeld({ held }: Talkgroup): void {
  if (held !== null) for (const one of held) one.flush();
}

/** Called with every mark of the talkgroup. true: none of these marks will change but by new frames. */
export function markHeld({ held, relayed }: Talkgroup): boolean {
  let isSettled = true;
  for (const one of held ?? []) isSettled = one.mark(relayed) && isSettled;
  return isSettled;
}

/** What waits for receivers under this hold, undefined while there are none. */
export const heldBy = ({ held }: Talkgroup, hold: Hold | null): Held | undefined =>
  held?.find((one) => one.hold === hold);
