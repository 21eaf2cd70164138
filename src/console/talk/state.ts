// Keeps which talk buttons are held and what became of them. Ends all talks when the user cannot hold a button any more.
import { batch, computed, type ReadonlySignal, type Signal, signal } from '@preact/signals';
import type { Clock } from '../../client/clock.js';
import type { Sound } from '../../client/sound/sound-types.js';
import type { Command, TalkState, TalkView } from '../worker/messages.js';

/** Why all talks ended, when it was not by releasing. */
export type Interruption = 'blur' | 'hidden' | 'microphone';

/** `selection`: no talkgroup is selected. `talker`: there is no user to answer. */
export type NoTarget = 'selection' | 'talker';

/** A held talk, or what became of one that was released in the last 2 s. */
export type Shown = { readonly state: TalkState; readonly isHeld: boolean };

export type Talking = {
  /** By talkgroup: the state of its talk, while a button for it is held. */
  readonly states: ReadonlySignal<ReadonlyMap<string, TalkState>>;
  /** By talkgroup: the held talks, and until the next press those that were released in the last 2 s. */
  readonly shown: ReadonlySignal<ReadonlyMap<string, Shown>>;
  /** The last interruption, until the next press. */
  readonly interruption: ReadonlySignal<Interruption | null>;
  /** Why a held press talks in no talkgroup. null: there is no such press. */
  readonly noTarget: ReadonlySignal<NoTarget | null>;
  /** Whether a talkgroup is held. */
  readonly isHeld: ReadonlySignal<boolean>;
  readonly around: Around;
  /** `source` names the finger, the button or the key. A second press of the same source replaces the first. */
  press(source: string, talkgroupIds: readonly string[], ifNone?: NoTarget): void;
  release(source: string): void;
  /** Ends all talks. Each source must be released and pressed again. */
  interrupt(interruption: Interruption): void;
  /** What the worker reports. */
  take(talks: readonly TalkView[]): void;
};

/** What a talk needs, and the user cannot hear. */
export type Around = {
  readonly isConnected: ReadonlySignal<boolean>;
  /** On air, and the microphone gives nothing. */
  readonly isSilent: ReadonlySignal<boolean>;
};

export type TalkingOwner = {
  send(command: Extract<Command, { kind: 'talk' | 'release' }>): void;
  tone: Sound['tone'];
  /** Called with each press, so that a microphone that is missing is looked for again. */
  pressed(): void;
  /** Nothing is held any more. */
  released(): void;
};

// A user who lets go at once still sees why they were not heard.
const RELEASED_MS = 2_000;
/** A tone comes when this time of the talk limit is left. */
export const ENDING_MS = 10_000;

export function createTalking(
  owner: TalkingOwner,
  clock: Clock,
  around: Around = { isConnected: signal(true), isSilent: signal(false) },
): Talking {
  /** By source the talkgroups that it holds. */
  const held = new Map<string, readonly string[]>();
  const states: Signal<ReadonlyMap<string, TalkState>> = signal(new Map());
  const released: Signal<ReadonlyMap<string, TalkState>> = signal(new Map());
  const shown = computed(
    () => new Map([...entriesOf(released.value, false), ...entriesOf(states.value, true)]),
  );
  const interruption: Signal<Interruption | null> = signal(null);
  const noTarget: Signal<NoTarget | null> = signal(null);
  const isHeld = computed(() => states.value.size > 0);

  return {
    states,
    shown,
    interruption,
    noTarget,
    isHeld,
    around,
    press(source, talkgroupIds, ifNone = 'selection') {
      batch(() => {
        interruption.value = null;
        noTarget.value = talkgroupIds.length === 0 ? ifNone : null;
        change(() => held.set(source, talkgroupIds));
        if (released.peek().size > 0) released.value = new Map();
      });
      if (talkgroupIds.length === 0) owner.tone('denied');
      else owner.pressed();
    },
    release(source) {
      if (!held.has(source)) return;
      batch(() => {
        noTarget.value = null;
        change(() => held.delete(source));
      });
    },
    interrupt(why) {
      if (held.size === 0) return;
      const wasHeld = isHeld.peek();
      batch(() => {
        noTarget.value = null;
        if (wasHeld) interruption.value = why;
        change(() => held.clear());
      });
      if (wasHeld) owner.tone('ended');
    },
    take,
  };

  /** Tells the worker which talkgroups are held now and were not before, and the other way round. */
  function change(act: () => void): void {
    const before = wanted();
    act();
    const now = wanted();
    const next = new Map(states.peek());
    for (const talkgroupId of before) {
      if (now.has(talkgroupId)) continue;
      keepReleased(talkgroupId, next.get(talkgroupId));
      next.delete(talkgroupId);
      owner.send({ kind: 'release', talkgroupId });
    }
    for (const talkgroupId of now) {
      if (before.has(talkgroupId)) continue;
      next.set(talkgroupId, { phase: 'asking' });
      owner.send({ kind: 'talk', talkgroupId });
    }
    states.value = next;
    if (before.size > 0 && now.size === 0) owner.released();
  }

  function keepReleased(talkgroupId: string, state: TalkState | undefined): void {
    if (state === undefined) return;
    released.value = new Map(released.peek()).set(talkgroupId, state);
    clock.after(RELEASED_MS, () => {
      const next = new Map(released.peek());
      if (next.get(talkgroupId) !== state) return; // a later press
      next.delete(talkgroupId);
      released.value = next;
    });
  }

  function wanted(): Set<string> {
    return new Set([...held.values()].flat());
  }

  function take(talks: readonly TalkView[]): void {
    if (talks.length === 0) return;
    const next = new Map(states.peek());
    for (const { talkgroupId, state } of talks) {
      const before = next.get(talkgroupId);
      // Released in the meantime: the report was on its way.
      if (before === undefined || state === null) continue;
      next.set(talkgroupId, state);
      const tone = toneOf(before, state);
      if (tone !== null) owner.tone(tone);
      if (tone === 'permit') warn(talkgroupId, state);
    }
    states.value = next;
  }

  function warn(talkgroupId: string, state: TalkState): void {
    if (state.phase !== 'talking' || state.limitMs <= ENDING_MS) return;
    clock.after(state.limitMs - ENDING_MS, () => {
      if (states.peek().get(talkgroupId) === state) owner.tone('ending');
    });
  }
}

const entriesOf = (states: ReadonlyMap<string, TalkState>, isHeld: boolean) =>
  [...states].map(([id, state]): [string, Shown] => [id, { state, isHeld }]);

/** Once for each change that the user must know without looking. A repeated attempt has no tone of its own. */
function toneOf(before: TalkState, now: TalkState): Parameters<Sound['tone']>[0] | null {
  if (now.phase === 'refused' && now.isFinal) return 'denied_finally';
  if (before.phase === now.phase) return null;
  switch (now.phase) {
    case 'talking':
      return 'permit';
    case 'queued':
      return 'queued';
    case 'over':
      return 'ended';
    case 'refused':
      if (before.phase === 'talking') return 'ended';
      return before.phase === 'over' ? null : 'denied';
    case 'asking':
      return null;
  }
}
