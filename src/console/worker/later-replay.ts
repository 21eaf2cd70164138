// Loads the code for replays with the first call that can be replayed: a replay itself must need no network.
import type { Replay, ReplayParts } from './replay.js';

export type LaterReplay = Replay & {
  /** There is a call. Loads the code, and tries again with the next call when that fails. */
  heard(): void;
};

/** Plays nothing until the code is there. */
export function createLaterReplay(
  load: () => Promise<(parts: ReplayParts) => Replay>,
  parts: ReplayParts,
): LaterReplay {
  let replay: Replay | null = null;
  let isLoading = false;
  return {
    play: (callId) => replay?.play(callId),
    heard() {
      if (isLoading) return;
      isLoading = true;
      load().then(
        (create) => {
          replay = create(parts);
        },
        () => {
          isLoading = false;
        },
      );
    },
  };
}
