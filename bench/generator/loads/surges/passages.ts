// Says what each talker does with each frame of a load that rises and falls: silence, a burst that begins, goes on or ends.
import { END, START } from '../../../../src/protocol/frame.js';

/** A part of a load in which the same number of talkers talk. Parts of one name are counted together. */
export interface Passage {
  readonly name: string;
  readonly talkers: number;
  /** Of each of them. */
  readonly frames: number;
  /** So long (ms) from its beginning some listeners read nothing. Left out: all read on. */
  readonly stallMs?: number;
}

export interface Passages {
  /** Of all passages together. */
  readonly frames: number;
  /** The index of the passage that this frame is in. */
  passageAt(frame: number): number;
  /** START and END for this frame of a talker. null: the talker is silent. */
  flagsAt(talker: number, frame: number): number | null;
}

/** 2 s at 50 frames a second. A session may begin 8 bursts in 10 s. */
const BURST_FRAMES = 100;
/** Between the bursts of two talkers, so that they do not begin together. It has no factor in common with the burst. */
const APART_FRAMES = 37;

/** Talkers talk in bursts of 2 s without a pause. A burst goes through a change of load when its talker talks on both sides. */
export function passagesOf(passages: readonly Passage[]): Passages {
  const indexOf = passages.flatMap(({ frames }, index) => Array.from({ length: frames }, () => index));
  const talks = (talker: number, frame: number) =>
    talker < (passages[indexOf[frame] ?? passages.length]?.talkers ?? 0);
  const isLast = (talker: number, frame: number) =>
    (frame + APART_FRAMES * talker) % BURST_FRAMES === BURST_FRAMES - 1;
  return {
    frames: indexOf.length,
    passageAt: (frame) => indexOf[frame] ?? passages.length - 1,
    flagsAt(talker, frame) {
      if (!talks(talker, frame)) return null;
      const begins = !talks(talker, frame - 1) || isLast(talker, frame - 1);
      const ends = !talks(talker, frame + 1) || isLast(talker, frame);
      return (begins ? START : 0) | (ends ? END : 0);
    },
  };
}
