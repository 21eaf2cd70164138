// Tracks how much of each burst of a talkgroup the radio received: sequence numbers and frame counts.
import { unwrapSequence } from '../../protocol/frame.js';

export type Heard = {
  /** Counts a frame and unwraps its sequence. */
  frame(frame: { sender: number; burst: number; sequence: number }): number;
  /** Notes a running burst from a snapshot, with the unwrapped sequence of its last frame. */
  found(talker: { session: number; burst: number; sequence: number }): void;
  /** Returns the number of frames received of the burst, and forgets the burst. */
  ended(talker: { session: number; burst: number }): number;
};

/** Creates an empty record. */
export function createHeard(): Heard {
  /** By session number: its last burst. */
  const bursts = new Map<number, Followed>();
  return {
    frame({ sender, burst, sequence }) {
      const heard = bursts.get(sender);
      if (heard?.burst !== burst) {
        bursts.set(sender, { burst, sequence, frames: 1, shift: 0, next: null });
        return sequence;
      }
      heard.frames += 1;
      return follow(heard, sequence);
    },
    found({ session, burst, sequence }) {
      const heard = bursts.get(session);
      const frames = heard?.burst === burst ? heard.frames : 0;
      bursts.set(session, { burst, sequence, frames, shift: 0, next: null });
    },
    ended({ session, burst }) {
      const heard = bursts.get(session);
      if (heard?.burst !== burst) return 0;
      bursts.delete(session);
      return heard.frames;
    },
  };
}

type Followed = {
  burst: number;
  /** Unwrapped, of the last frame. */
  sequence: number;
  frames: number;
  /** What the numbers are ahead of those on the wire, since the source began again. */
  shift: number;
  /** What would follow a frame that was far behind. null: the last one was not. */
  next: number | null;
};

/** Frames so far behind (RFC 3550, appendix A.1) are late, unless two follow each other: then the source began again. */
const LATE_MAX = 100;

/** The number of the frame. Behind a jump back it goes on from the last one. */
function follow(heard: Followed, sequence: number): number {
  const unwrapped = unwrapSequence(heard.sequence, sequence);
  if (heard.sequence - unwrapped > LATE_MAX) {
    const isNext = heard.next === sequence;
    heard.next = (sequence + 1) & 0xffff;
    if (!isNext) return unwrapped + heard.shift;
    heard.shift += heard.sequence + 1 - unwrapped;
  }
  heard.next = null;
  heard.sequence = unwrapped;
  return unwrapped + heard.shift;
}
