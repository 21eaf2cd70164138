// Plays recordings one behind the other. While one is played the next one is loaded, and never more than one at a time.
import { type ReadonlySignal, type Signal, signal } from '@preact/signals';
import type { Recording } from '../../client/recordings/types.js';
import type { HowOver } from '../replay/state.js';
import type { ReplayFrame } from '../worker/messages.js';

/** The frames of a recording, or in words why there are none. */
export type Speech = readonly ReplayFrame[] | string;

export type Playlist = {
  /** The recording that is played, or is paused. null: none. */
  readonly current: ReadonlySignal<Recording | null>;
  /** The recording that is loaded while none is played. */
  readonly loading: ReadonlySignal<Recording | null>;
  /** Plays them in the place of others. Resolves when it is over, and never rejects. */
  play(recordings: AsyncIterable<Recording> | Iterable<Recording>): Promise<Outcome>;
  /** Loads nothing more. What is played ends. */
  stop(): void;
};

/** `leftOut`: number that were not played, with the last reason. `at`: where the user stopped. null: all was played. */
export type Outcome = { leftOut: number; reason: string | null; at: Recording | null };

export type PlaylistOwner = {
  /** In its turn: one recording is loaded at a time. Never rejects. */
  load(recording: Recording, signal: AbortSignal): Promise<Speech>;
  /** See ReplayState. */
  playRecording(recording: Recording, frames: readonly ReplayFrame[]): Promise<HowOver>;
  stopReplay(): void;
  /** Why none could be played. */
  noSound: string;
  /** In words, of a list that could not be read. */
  inWords(error: unknown): string;
};

type Loaded = { recording: Recording; speech: Speech } | { recording: null; reason: string | null };

export function createPlaylist(owner: PlaylistOwner): Playlist {
  const current: Signal<Recording | null> = signal(null);
  const loading: Signal<Recording | null> = signal(null);
  let running: AbortController | null = null;
  /** The recording that is loaded now. */
  let pending: Recording | null = null;

  return {
    ...{ current, loading, stop },
    async play(recordings) {
      stop();
      const mine = new AbortController();
      running = mine;
      const outcome = await run(iteratorOf(recordings), mine.signal);
      if (running === mine) {
        running = null;
        current.value = null;
        loading.value = null;
      }
      return outcome;
    },
  };

  function stop(): void {
    if (running === null) return;
    running.abort();
    running = null;
    loading.value = null;
    if (current.peek() === null) return;
    current.value = null;
    owner.stopReplay();
  }

  async function run(recordings: AsyncIterator<Recording>, signal: AbortSignal): Promise<Outcome> {
    const outcome: Outcome = { leftOut: 0, reason: null, at: null };
    let last: Recording | null = null;
    let coming = loadNext(recordings, signal);
    for (;;) {
      const one = await coming;
      if (signal.aborted) return { ...outcome, at: last ?? one.recording };
      if (one.recording === null) return { ...outcome, reason: one.reason ?? outcome.reason };
      const { recording, speech } = one;
      if (typeof speech === 'string') {
        outcome.leftOut += 1;
        outcome.reason = speech;
        current.value = null;
        coming = loadNext(recordings, signal);
        continue;
      }
      last = recording;
      const over = owner.playRecording(recording, speech);
      current.value = recording;
      loading.value = null;
      coming = loadNext(recordings, signal);
      const how = await over;
      if (how === 'ended' && pending !== null) {
        current.value = null;
        loading.value = pending;
      }
      if (how === 'not_played') return { ...outcome, reason: owner.noSound, at: recording };
      if (how === 'stopped' || signal.aborted) return { ...outcome, at: recording };
    }
  }

  async function loadNext(recordings: AsyncIterator<Recording>, signal: AbortSignal): Promise<Loaded> {
    try {
      const { value: recording, done } = await recordings.next();
      if (done || signal.aborted) return { recording: null, reason: null };
      if (current.peek() === null) loading.value = recording;
      pending = recording;
      const speech = await owner.load(recording, signal);
      pending = null;
      return { recording, speech };
    } catch (error) {
      return { recording: null, reason: owner.inWords(error) };
    }
  }
}

async function* iteratorOf(recordings: AsyncIterable<Recording> | Iterable<Recording>) {
  yield* recordings;
}
