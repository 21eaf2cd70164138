// Stands for a burst beyond the limits of its user: nothing of it is stored while it is short.
import type { EndCode } from '../../protocol/codes.js';
import type { RecordingHead } from '../../protocol/recording-batch.js';
import type { MovedTape, Tape } from '../delivery/tape.js';
import type { Talk } from '../floor/talk.js';
import { headOf } from './tape.js';

/** Where such bursts are counted. */
export interface WaitingDeck {
  head(head: RecordingHead): void;
  lose(reason: 'too_many', frames: number): void;
  /** `isLost`: nothing of the burst is recorded. */
  waited(tape: WaitingTape, isLost: boolean): void;
}

/** It has no buffer and no row. Its frames are counted by the burst itself. */
export class WaitingTape implements Tape {
  readonly talk: Talk;
  /** The recording that may begin. */
  readonly first: MovedTape;
  /** In the log. */
  isTold = false;
  private readonly deck: WaitingDeck;
  private isOver = false;

  constructor(talk: Talk, days: number, deck: WaitingDeck) {
    this.talk = talk;
    this.first = { days, piece: 0, from: 1, at: talk.startedAt };
    this.deck = deck;
  }

  frame(): void {
    // The burst has the number.
  }

  ended(_code: EndCode, _durationMs: number, frames: number): void {
    this.close(frames, true);
  }

  switchOff(): void {
    this.close(this.talk.frames, true);
  }

  moving(): MovedTape | null {
    return this.isOver ? null : this.first;
  }

  /** It is recorded from there on. */
  left(): void {
    if (this.isOver) return;
    const { talk, first, deck } = this;
    deck.head({ ...headOf(talk, talk, first), lost: { 1: { too_many: talk.frames } } });
    this.close(talk.frames, false);
  }

  /** A tape that stores takes its place. Returns the number of frames so far. */
  replaced(): number {
    const { frames } = this.talk;
    this.close(frames, false);
    return frames;
  }

  private close(frames: number, isLost: boolean): void {
    if (this.isOver) return;
    this.isOver = true;
    if (frames > 0) this.deck.lose('too_many', frames);
    this.deck.waited(this, isLost);
  }
}
