// Loads the code for replays with the first call that can be replayed: a replay itself must need no network.
import { type ReadonlySignal, type Signal, signal } from '@preact/signals';
import type { RecentBurst } from '../worker/messages.js';
import type { Replay, ReplayParts } from './open.js';

export type LaterReplay = {
  /** null: no call was heard yet. */
  readonly replay: ReadonlySignal<Replay | null>;
  /** Calls that have ended. When the code does not come, the next call asks for it again. */
  heard(bursts: readonly RecentBurst[]): Promise<void>;
  /** For recordings, before a call was heard. null: the code did not come. */
  open(): Promise<Replay | null>;
};

/** Of the calls before the code is there, the last ones are kept. */
const EARLY_MAX = 100;

export function createLaterReplay(parts: ReplayParts): LaterReplay {
  const replay: Signal<Replay | null> = signal(null);
  let early: RecentBurst[] = [];
  return {
    replay,
    open,
    async heard(bursts) {
      if (!bursts.some(({ callId }) => callId !== undefined)) return;
      early = [...early, ...bursts].slice(-EARLY_MAX);
      (await open())?.heard(early.splice(0));
    },
  };

  async function open(): Promise<Replay | null> {
    // TypeError: the network failed, or a newer version of the console has other file names.
    const module = await import('./open.js').catch(() => null);
    if (module !== null) replay.value ??= module.openReplay(parts);
    return replay.peek();
  }
}
