// Keeps which calls the worker still has, which one is replayed, and how far back the user has gone.
import { batch, computed, type ReadonlySignal, type Signal, signal } from '@preact/signals';
import type { Clock } from '../../client/clock.js';
import type { Command, Event, RecentBurst } from '../worker/messages.js';
import { replay as words } from './texts.js';

/** A call that the worker has. */
export type Call = RecentBurst & { callId: number };

export type ReplayState = {
  /** By id, in the order of their ends. */
  readonly calls: ReadonlySignal<ReadonlyMap<number, Call>>;
  /** By talkgroup: the call that ended last. */
  readonly newest: ReadonlySignal<ReadonlyMap<string, Call>>;
  readonly playing: ReadonlySignal<Call | null>;
  /** What the user is told, while a call is replayed or when there is none. */
  readonly text: ReadonlySignal<string | null>;
  /** Calls that have ended, the last one at the end. */
  heard(bursts: readonly RecentBurst[]): void;
  /** What the worker reports. */
  take(event: Pick<Extract<Event, { kind: 'replay' }>, 'playing' | 'forgotten'>): void;
  /** In place of another one. Does nothing while the user talks. */
  play(call: Call): void;
  /** The last call in the talkgroup, or with null in all that are not muted. */
  playLast(talkgroupId: string | null): void;
  /** The call before the one that was replayed last, else before the last one. */
  playBefore(talkgroupId: string | null): void;
  stop(): void;
};

export type ReplayOwner = {
  send(command: Extract<Command, { kind: 'replay' }>): void;
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
  let asked: Call | null = null;
  /** Of the call that was replayed last. */
  let lastId: number | null = null;
  let cancelBack = () => {};
  let cancelText = () => {};

  return {
    ...{ calls, newest, playing, text, play, stop },
    heard(bursts) {
      const kept = bursts.flatMap((burst) => (isCall(burst) ? [burst] : []));
      if (kept.length > 0)
        calls.value = new Map([...calls.peek(), ...kept.map((call) => [call.callId, call] as const)]);
    },
    take({ playing: callId, forgotten }) {
      batch(() => {
        if (forgotten.length > 0) {
          const left = new Map(calls.peek());
          for (const id of forgotten) left.delete(id);
          calls.value = left;
        }
        if (callId !== (playing.peek()?.callId ?? null)) follow(callId);
      });
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
    asked = call;
    owner.send({ kind: 'replay', callId: call.callId });
  }

  function stop(): void {
    owner.send({ kind: 'replay', callId: null });
  }

  function follow(callId: number | null): void {
    cancelBack();
    cancelText();
    const call = callId === null ? null : callId === asked?.callId ? asked : calls.peek().get(callId);
    playing.value = call ?? null;
    text.value = call ? words.playing(call.username, agoText(owner.unixMs() - call.endedAtMs)) : null;
    if (call) lastId = call.callId;
    else {
      cancelBack = clock.after(BACK_MS, () => {
        lastId = null;
      });
    }
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
