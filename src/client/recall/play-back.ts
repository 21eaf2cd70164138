// Gives the frames of a recalled burst, or of a recording, to the app at the speed of speech.
import { type Clock, systemClock } from '../clock.js';
import type { RecalledFrame } from './pages.js';

/** A frame that knows how long after the first one it is due (ms), such as those of recordings. */
export type TimedFrame = { readonly atMs: number };

export type PlayBackOptions<PlayedFrame extends RecalledFrame | TimedFrame = RecalledFrame> = {
  /** Those of a recording are in their order. */
  frames: readonly PlayedFrame[];
  /** Gets each frame when it is due, recalled ones in the order of `sequence`. Never called before `playBack` returns. */
  onFrame(frame: PlayedFrame): void;
  /** The last frame was given. Not called after `stop`. */
  onEnd?(): void;
  /** Length of the speech in a recalled frame (ms). Default: 20. */
  packetMs?: number;
  /** Default: the clock of the browser or of Node. */
  clock?: Clock;
};

/** A replay. It gives no frame while it is paused, and none after `stop`. */
export type PlayingBack = {
  /** How much of it is played (ms), pauses of the talker included. */
  readonly atMs: number;
  /** The next frame stays the next one. */
  pause(): void;
  resume(): void;
  stop(): void;
};

/**
 * Replays frames. A pause of the talker is as long as it was, and a delay of the network is left out. The event `audio` does
 * not come, so that an app never takes old speech for live speech.
 */
export function playBack<PlayedFrame extends RecalledFrame | TimedFrame>({
  frames,
  onFrame,
  onEnd = () => {},
  packetMs = 20,
  clock = systemClock,
}: PlayBackOptions<PlayedFrame>): PlayingBack {
  const schedule = scheduleOf(frames, packetMs);
  const endMs = schedule.at(-1)?.dueMs ?? 0;
  /** When the first frame was due, moved by the pauses. */
  let startedAtMs = clock.nowMs();
  /** How much was played then. null: it is not paused. */
  let pausedMs: number | null = null;
  let next = 0;
  let isStopped = false;
  let cancel = clock.after(0, run);
  return {
    get atMs() {
      return Math.min(endMs, pausedMs ?? clock.nowMs() - startedAtMs);
    },
    pause() {
      if (pausedMs !== null || isStopped) return;
      pausedMs = clock.nowMs() - startedAtMs;
      cancel();
    },
    resume() {
      if (pausedMs === null || isStopped) return;
      startedAtMs = clock.nowMs() - pausedMs;
      pausedMs = null;
      cancel = clock.after(0, run);
    },
    stop() {
      isStopped = true;
      cancel();
    },
  };

  /** A timer that was late gives all frames that are due. */
  function run(): void {
    for (; !isStopped && pausedMs === null; next += 1) {
      const one = schedule[next];
      if (one === undefined) {
        isStopped = true;
        return onEnd();
      }
      const delayMs = startedAtMs + one.dueMs - clock.nowMs();
      if (delayMs > 0) {
        cancel(); // the app may have paused and gone on in `onFrame`
        cancel = clock.after(delayMs, run);
        return;
      }
      onFrame(one.frame);
    }
  }
}

/**
 * The sequence of a recalled frame says how far it is from the one before it. It may jump when the talker's app begins again, so
 * no pause is longer than it was when the burst was heard.
 */
function scheduleOf<PlayedFrame extends RecalledFrame | TimedFrame>(
  frames: readonly PlayedFrame[],
  packetMs: number,
): { frame: PlayedFrame; dueMs: number }[] {
  let dueMs = 0;
  let before: RecalledFrame | undefined;
  const dueOf = (frame: RecalledFrame | TimedFrame): number => {
    if (isTimed(frame)) return frame.atMs;
    if (before !== undefined) {
      const heardMs = Math.max(packetMs, frame.heardAtMs - before.heardAtMs);
      dueMs += Math.min((frame.sequence - before.sequence) * packetMs, heardMs);
    }
    before = frame;
    return dueMs;
  };
  return frames
    .toSorted((one, other) => placeOf(one) - placeOf(other))
    .map((frame) => ({ frame, dueMs: dueOf(frame) }));
}

const isTimed = (frame: RecalledFrame | TimedFrame): frame is TimedFrame => 'atMs' in frame;

const placeOf = (frame: RecalledFrame | TimedFrame): number => (isTimed(frame) ? frame.atMs : frame.sequence);
