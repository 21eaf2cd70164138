// Loads the code for replays with the first call that can be replayed: a replay itself must need no network.
import type { Command } from './messages.js';
import type { Replay, ReplayParts } from './replay.js';

export type LaterReplay = {
  /** Plays no call of the memory until the code is there. A recording waits for it. */
  take(command: Extract<Command, { kind: 'replay' | 'pause_replay' }>): void;
  interrupt: Replay['interrupt'];
  /** There is a call. Loads the code, and tries again with the next call when that fails. */
  heard(): Promise<void>;
};

export function createLaterReplay(
  load: () => Promise<(parts: ReplayParts) => Replay>,
  parts: ReplayParts,
): LaterReplay {
  let replay: Replay | null = null;
  let loading: Promise<void> | null = null;
  return {
    take(command) {
      if (command.kind === 'pause_replay') return replay?.pause(command.isPaused);
      const { callId, frames } = command;
      if (replay !== null || frames === undefined) replay?.play(callId, frames);
      else
        void heard().then(() => {
          if (replay !== null) replay.play(callId, frames);
          else parts.send({ kind: 'replay', playing: null, forgotten: [] });
        });
    },
    interrupt: () => replay?.interrupt(),
    heard,
  };

  function heard(): Promise<void> {
    loading ??= load().then(
      (create) => {
        replay = create(parts);
      },
      () => {
        loading = null;
      },
    );
    return loading;
  }
}
