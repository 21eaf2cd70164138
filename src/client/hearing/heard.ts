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
  const bursts = new Map<number, { burst: number; sequence: number; frames: number }>();
  return {
    frame({ sender, burst, sequence }) {
      const heard = bursts.get(sender);
      if (heard?.burst !== burst) {
        bursts.set(sender, { burst, sequence, frames: 1 });
        return sequence;
      }
      heard.frames += 1;
      heard.sequence = unwrapSequence(heard.sequence, sequence);
      return heard.sequence;
    },
    found({ session, burst, sequence }) {
      const heard = bursts.get(session);
      bursts.set(session, { burst, sequence, frames: heard?.burst === burst ? heard.frames : 0 });
    },
    ended({ session, burst }) {
      const heard = bursts.get(session);
      if (heard?.burst !== burst) return 0;
      bursts.delete(session);
      return heard.frames;
    },
  };
}
