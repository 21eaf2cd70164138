// Gives the frames of a recalled burst to the app at the speed of speech.
import { type Clock, systemClock } from '../clock.js';
import type { RecalledFrame } from './pages.js';

export type PlayBackOptions = {
  frames: readonly RecalledFrame[];
  /** Gets each frame when it is due, in the order of `sequence`. Never called before `playBack` returns. */
  onFrame(frame: RecalledFrame): void;
  /** The last frame was given. Not called after `stop`. */
  onEnd?(): void;
  /** Length of the speech in a frame (ms). Default: 20. */
  packetMs?: number;
  /** Default: the clock of the browser or of Node. */
  clock?: Clock;
};

/**
 * Replays frames. A pause of the talker is as long as it was, and a delay of the network is left out. The event `audio` does
 * not come, so that an app never takes old speech for live speech.
 */
export function playBack({
  frames,
  onFrame,
  onEnd = () => {},
  packetMs = 20,
  clock = systemClock,
}: PlayBackOptions): { stop(): void } {
  const schedule = scheduleOf(frames, packetMs);
  const startedAtMs = clock.nowMs();
  let next = 0;
  let isStopped = false;
  let cancel = clock.after(0, run);
  return {
    stop() {
      isStopped = true;
      cancel();
    },
  };

  /** A timer that was late gives all frames that are due. */
  function run(): void {
    for (; !isStopped; next += 1) {
      const one = schedule[next];
      if (one === undefined) return onEnd();
      const delayMs = startedAtMs + one.dueMs - clock.nowMs();
      if (delayMs > 0) {
        cancel = clock.after(delayMs, run);
        return;
      }
      onFrame(one.frame);
    }
  }
}

/**
 * The sequence says how far a frame is from the one before it. It may jump when the talker's app begins again, so no pause is
 * longer than it was when the burst was heard.
 */
function scheduleOf(frames: readonly RecalledFrame[], packetMs: number) {
  let dueMs = 0;
  let before: RecalledFrame | undefined;
  return frames
    .toSorted((one, other) => one.sequence - other.sequence)
    .map((frame) => {
      if (before !== undefined) {
        const heardMs = Math.max(packetMs, frame.heardAtMs - before.heardAtMs);
        dueMs += Math.min((frame.sequence - before.sequence) * packetMs, heardMs);
      }
      before = frame;
      return { frame, dueMs };
    });
}
