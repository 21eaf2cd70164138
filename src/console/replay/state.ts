// Keeps which calls the worker still has, which call or recording is replayed, and how far back the user has gone.
import { batch, computed, type ReadonlySignal, type Signal, signal } from '@preact/signals';
import type { Clock } from '../../client/clock.js';
import type { Command, Event, RecentBurst, ReplayFrame } from '../worker/messages.js';
import { replay as words } from './texts.js';

/** A call that the worker has, or a recording. */
export type Call = RecentBurst & {
  /** Negative: a recording. */
  callId: number;
  /** When a recording began, for readers. */
  time?: string;
};

export type HowOver = 'ended' | 'stopped' | 'not_played';

/** What a user reads of a recording. */
export type Named = Pick<Call, 'talkgroupId' | 'talkgroup' | 'username'> & { time: string };

export type ReplayState = {
  /** By id, in the order of their ends. */
  readonly calls: ReadonlySignal<ReadonlyMap<number, Call>>;
  /** By talkgroup: the call that ended last. */
  readonly newest: ReadonlySignal<ReadonlyMap<string, Call>>;
  readonly playing: ReadonlySignal<Call | null>;
  /** A recording stands still, because the user wanted it, or talked, or a new emergency came. */
  readonly isPaused: ReadonlySignal<boolean>;
  /** What the user is told, while a call is replayed or when there is none. */
  readonly text: ReadonlySignal<string | null>;
  /** Calls that have ended, the last one at the end. */
  heard(bursts: readonly RecentBurst[]): void;
  /** What the worker reports. */
  take(event: Pick<Extract<Event, { kind: 'replay' }>, 'playing' | 'forgotten' | 'isPaused'>): void;
  /** In place of another one. Does nothing while the user talks. */
  play(call: Call): void;
  /** The last call in the talkgroup, or with null in all that are not muted. */
  playLast(talkgroupId: string | null): void;
  /** The call before the one that was replayed last, else before the last one. */
  playBefore(talkgroupId: string | null): void;
  /**
   * Plays a recording in place of another replay. Resolves when it is over. `ended`: it was played to its end. `stopped`: by the
   * user, or by another replay. `not_played`: the user talks, or there is no sound.
   */
  playRecording(recording: Named, frames: readonly ReplayFrame[]): Promise<HowOver>;
  /** Of a recording. It does not go on while the user talks. */
  pause(isPaused: boolean): void;
  stop(): void;
};

export type ReplayOwner = {
  send(command: Extract<Command, { kind: 'replay' | 'pause_replay' }>): void;
  isMuted(talkgroupId: string): boolean;
  /** The user holds a talk button. */
  isTalking(): boolean;
  /** Unix time (ms) of this computer. */
  unixMs(): number;
};

/** After a replay, Shift and the key go further back for this time. */
const BACK_MS = 10_000;
/** A sentence that says why nothing is replayed stays for this time. */
const SAID_MS = 4_000;

export function createReplayState(owner: ReplayOwner, clock: Clock): ReplayState {
  const calls: Signal<ReadonlyMap<number, Call>> = signal(new Map());
  const newest = computed(() => new Map([...calls.value.values()].map((call) => [call.talkgroupId, call])));
  const playing: Signal<Call | null> = signal(null);
  const text: Signal<string | null> = signal(null);
  const isPaused = signal(false);
  let asked: Call | null = null;
  let lastRecording = 0;
  /** The recording that was asked for last, until it is over. */
  let waiting: { callId: number; isOver(how: HowOver): void } | null = null;
  /** The user wants it to end, or another replay. */
  let isUnwanted = false;
  /** The recording that was played to its end. */
  let endedId: number | null = null;
  let cancelEnd = () => {};
  /** Of the call that was replayed last. */
  let lastId: number | null = null;
  let cancelBack = () => {};
  let cancelText = () => {};

  return {
    ...{ calls, newest, playing, isPaused, text, play, stop },
    heard(bursts) {
      const kept = bursts.flatMap((burst) => (isCall(burst) ? [burst] : []));
      if (kept.length > 0)
        calls.value = new Map([...calls.peek(), ...kept.map((call) => [call.callId, call] as const)]);
    },
    take({ playing: callId, forgotten, isPaused: isStill = false }) {
      batch(() => {
        if (forgotten.length > 0) {
          const left = new Map(calls.peek());
          for (const id of forgotten) left.delete(id);
          calls.value = left;
        }
        const before = playing.peek()?.callId ?? null;
        const wasStill = isPaused.peek();
        isPaused.value = isStill;
        if (before !== null && callId === null && before === waiting?.callId && !isUnwanted) {
          // The next one of a list begins at once. It takes the place of this one, and nothing flickers.
          cancelEnd = clock.after(0, () => follow(null));
          endedId = before;
          settle('ended');
        } else if (callId !== before || isStill !== wasStill) {
          if (before !== null && before === waiting?.callId && callId !== before) settle('stopped');
          if (before !== null && before === endedId && callId === null) settle('not_played');
          follow(callId);
        }
        // It could not begin.
        else if (callId === null && forgotten.length === 0 && waiting !== null) settle('not_played');
      });
    },
    playRecording(named, frames) {
      if (owner.isTalking()) return Promise.resolve('not_played');
      settle('stopped');
      cancelEnd();
      isUnwanted = false;
      lastRecording -= 1;
      const callId = lastRecording;
      asked = { ...named, callId, isOwn: false, endedAtMs: 0, durationMs: 0 };
      owner.send({ kind: 'replay', callId, frames });
      return new Promise((isOver) => {
        waiting = { callId, isOver };
      });
    },
    pause(wanted) {
      if (!wanted && owner.isTalking()) return;
      owner.send({ kind: 'pause_replay', isPaused: wanted });
    },
    playLast(talkgroupId) {
      const call = callsIn(talkgroupId).at(-1);
      if (call === undefined) say(words.none);
      else play(call);
    },
    playBefore(talkgroupId) {
      const all = callsIn(talkgroupId);
      const at = all.findIndex(({ callId }) => callId === lastId);
      const call = all[(lastId === null ? all.length - 1 : at) - 1];
      if (call === undefined) say(words.noneBefore);
      else play(call);
    },
  };

  function callsIn(talkgroupId: string | null): Call[] {
    return [...calls.peek().values()].filter((call) =>
      talkgroupId === null ? !owner.isMuted(call.talkgroupId) : call.talkgroupId === talkgroupId,
    );
  }

  function play(call: Call): void {
    if (owner.isTalking()) return;
    isUnwanted = true;
    asked = call;
    owner.send({ kind: 'replay', callId: call.callId });
  }

  function stop(): void {
    isUnwanted = true;
    owner.send({ kind: 'replay', callId: null });
  }

  function settle(how: HowOver): void {
    waiting?.isOver(how);
    waiting = null;
  }

  function follow(callId: number | null): void {
    cancelEnd();
    cancelBack();
    cancelText();
    const call = callId === null ? null : callId === asked?.callId ? asked : calls.peek().get(callId);
    playing.value = call ?? null;
    text.value = call ? textOf(call) : null;
    if (call && call.callId >= 0) lastId = call.callId;
    else {
      cancelBack = clock.after(BACK_MS, () => {
        lastId = null;
      });
    }
  }

  function textOf({ username, talkgroup, time, endedAtMs }: Call): string {
    if (time === undefined) return words.playing(username, agoText(owner.unixMs() - endedAtMs));
    return isPaused.peek()
      ? words.pausedAt(username, talkgroup, time)
      : words.playingFrom(username, talkgroup, time);
  }

  /** A replay that goes on is shown again after that. */
  function say(sentence: string): void {
    cancelText();
    const before = playing.peek() === null ? null : text.peek();
    text.value = sentence;
    cancelText = clock.after(SAID_MS, () => {
      text.value = before;
    });
  }
}

const isCall = (burst: RecentBurst): burst is Call => burst.callId !== undefined;

/** It does not change during a replay, so that screen readers say it once. */
function agoText(ms: number): string {
  const s = Math.max(1, Math.round(ms / 1000));
  return s < 60 ? words.secondsAgo(s) : words.minutesAgo(Math.floor(s / 60));
}
