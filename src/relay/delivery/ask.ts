// Keeps what a session sends to a talkgroup while its question there has no answer: frames and texts, in order.
import type { Ref } from '../../protocol/bodies.js';
import { END, FLAGS_AT, readFlags, START } from '../../protocol/frame.js';

/** Frames kept: 200 ms of a radio at the default of 110 frames per second. One more displaces the oldest. */
const FRAMES_MAX = 24;
/** A frame that came this much (ms) before the newest one is dropped, because a listener would hear all that follows as late. */
const FRAMES_MS_MAX = 200;
/** Texts kept. One more is refused. */
const TEXTS_MAX = 8;

/** A frame in memory of its own. Rates and budgets counted it when it came. */
export interface WaitingFrame {
  readonly message: ArrayBuffer;
  readonly cameAtMs: number;
}

/** Answers a text, now that its question's turn has come. */
export type WaitingText = (nowMs: number) => void;

/** A first frame or a FLOOR_REQUEST without an answer. Made for each, but nothing waits when the answer comes at once. */
export class Ask {
  readonly isFirstFrame: boolean;
  /** Of FLOOR_REQUEST. */
  readonly ref: Ref | undefined;
  /** The answer did not come at once: something may wait. */
  isLate = false;
  /** A FLOOR_REQUEST that floor control does not know yet: the relay reads its epoch first. No verdict answers it. */
  isHeld = false;
  /** The frame that asked. */
  private first: WaitingFrame | null = null;
  private waiting: (WaitingFrame | WaitingText)[] = [];

  constructor(isFirstFrame: boolean, ref: Ref | undefined) {
    this.isFirstFrame = isFirstFrame;
    this.ref = ref;
  }

  /** Keeps the frame behind what waits. Returns the number of frames that it displaced. */
  keep(frame: WaitingFrame): number {
    if (this.isFirstFrame) this.first ??= frame;
    this.waiting.push(frame);
    let displaced = 0;
    for (const oldest of this.frames()) {
      if (this.frames().length <= FRAMES_MAX && frame.cameAtMs - oldest.cameAtMs <= FRAMES_MS_MAX) break;
      this.displace(oldest);
      displaced++;
    }
    return displaced;
  }

  /** false: too many texts wait. */
  keepText(text: WaitingText): boolean {
    const texts = this.waiting.length - this.frames().length;
    if (texts >= TEXTS_MAX) return false;
    this.waiting.push(text);
    return true;
  }

  /** An END was refused: the last frame ends the burst instead. */
  endHere(): void {
    const last = this.frames().at(-1);
    if (last !== undefined) addFlag(last, END);
  }

  /** Whether this is the frame that asked. A START in any other is another press. */
  isAsker(frame: WaitingFrame): boolean {
    return frame === this.first;
  }

  /** Takes out what waits, in the order in which it came. */
  takeAll(): readonly (WaitingFrame | WaitingText)[] {
    return this.waiting.splice(0);
  }

  /** Takes out the texts. */
  takeTexts(): readonly WaitingText[] {
    const texts = this.waiting.filter((one) => typeof one === 'function');
    this.waiting = this.frames();
    return texts;
  }

  /** Discards the frames of the press that asked, up to the next press or text. Returns their number. */
  discardPress(): number {
    const end = this.waiting.findIndex((one) => typeof one === 'function' || this.isPress(one));
    return this.waiting.splice(0, end < 0 ? this.waiting.length : end).length;
  }

  /** Discards all frames. Returns how many they were, and how many presses of the talk button beside the one that asked. */
  discardFrames(): { readonly frames: number; readonly presses: number } {
    const frames = this.frames();
    this.waiting = [...this.takeTexts()];
    return { frames: frames.length, presses: frames.filter((one) => this.isPress(one)).length };
  }

  private isPress(frame: WaitingFrame): boolean {
    return frame !== this.first && (flagsOf(frame) & START) !== 0;
  }

  /** The end of its press and the beginning of another must not be lost with it: the frame behind it begins a burst. */
  private displace(frame: WaitingFrame): void {
    this.waiting.splice(this.waiting.indexOf(frame), 1);
    const [next] = this.frames();
    const isBetween = (flagsOf(frame) & END) !== 0 || this.isPress(frame);
    if (isBetween && next !== undefined) addFlag(next, START);
  }

  private frames(): WaitingFrame[] {
    return this.waiting.filter((one) => typeof one !== 'function');
  }
}

const flagsOf = ({ message }: WaitingFrame) => readFlags(new DataView(message));

function addFlag(frame: WaitingFrame, flag: number): void {
  new DataView(frame.message).setUint8(FLAGS_AT, flagsOf(frame) | flag);
}
