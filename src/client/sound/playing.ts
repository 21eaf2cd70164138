// Plays the pieces of one voice sample by sample, and fades where there is silence between them.
import type { Samples } from './codec.js';

export type Playing = {
  readonly number: number;
  /** A dropped voice has faded out. */
  readonly isOver: boolean;
  /** False when the queue is full. The piece is not played then. */
  push(samples: Samples | null, length: number, due: number): boolean;
  /** Fades out now. */
  drop(): void;
  /** Adds the next samples to `sum`, and calls `played` with the `due` of each piece that ended. */
  mix(sum: Float32Array, played: (voice: number, due: number) => void): void;
};

type Piece = { samples: Samples | null; length: number; due: number };

/** The worker sends two or three pieces ahead, and three at once from a packet of 60 ms. */
const PIECES_MAX = 12;

/** Creates an empty voice. `fade`: samples of a fade. */
export function createPlaying(number: number, fade: number): Playing {
  const queue: Piece[] = [];
  /** Samples of the first piece that were played. */
  let at = 0;
  /** Samples of sound since the last silence, at most `fade`. */
  let rise = 0;
  /** The last sample before the sound broke off. It fades for `tail` more samples. */
  let last = 0;
  let tail = 0;
  /** The first piece fades, because silence follows. */
  let isFalling = false;
  /** Samples until a dropped voice is silent. null: it is not dropped. */
  let left: number | null = null;

  return {
    number,
    get isOver() {
      return left === 0;
    },
    push(samples, length, due) {
      if (queue.length >= PIECES_MAX || left !== null) return false;
      queue.push({ samples, length, due });
      return true;
    },
    drop() {
      left ??= fade;
    },
    mix(sum, played) {
      for (let i = 0; i < sum.length && left !== 0; ) {
        const plain = Math.min(plainSamples(), sum.length - i);
        if (plain > 0) addPlain(sum, i, plain);
        else sum[i] = (sum[i] ?? 0) + next();
        i += Math.max(1, plain);
        const piece = queue[0];
        if (piece === undefined || at < piece.length) continue;
        at = 0;
        isFalling = false;
        queue.shift();
        if (left === null) played(number, piece.due);
      }
    },
  };

  /** How many samples follow that no fade changes: nearly all of a talk. One by one they cost more. */
  function plainSamples(): number {
    const piece = queue[0];
    if (piece === undefined || piece.samples === null || rise < fade || tail > 0 || left !== null) return 0;
    const untilFade = piece.length - fade - at;
    if (untilFade > 0) return untilFade;
    return untilFade === 0 || isFalling ? 0 : piece.length - at;
  }

  function addPlain(sum: Float32Array, from: number, count: number): void {
    const samples = queue[0]?.samples;
    if (!samples) return;
    for (let i = 0; i < count; i++) sum[from + i] = (sum[from + i] ?? 0) + (samples[at + i] ?? 0);
    at += count;
    last = samples[at - 1] ?? 0;
  }

  function next(): number {
    const piece = queue[0];
    const share = left === null ? 1 : left / fade;
    if (left !== null) left -= 1;
    if (piece === undefined) return broken() * share;
    const value = piece.samples === null ? broken() : sound(piece.samples, piece.length);
    at += 1;
    return value * share;
  }

  function sound(samples: Samples, length: number): number {
    const remaining = length - at;
    const after = queue[1];
    // Decided once: a silence that comes to be known later would begin its fade with a step.
    if (remaining === fade) isFalling = after !== undefined && after.samples === null;
    rise = Math.min(fade, rise + 1);
    const value = (samples[at] ?? 0) * (rise / fade) * (isFalling ? remaining / fade : 1) + residue();
    last = value;
    return value;
  }

  /** Silence. When the sound before did not fade, its last sample does, so that there is no step. */
  function broken(): number {
    if (rise > 0) {
      rise = 0;
      tail = fade;
    }
    return residue();
  }

  function residue(): number {
    if (tail === 0) return 0;
    tail -= 1;
    return last * (tail / fade);
  }
}
