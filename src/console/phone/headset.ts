// Talks with the key of a headset. The browser tells a press of it as play or pause, and not how long it is held.
import { effect, type ReadonlySignal } from '@preact/signals';
import type { Clock } from '../../client/clock.js';
import type { Sound } from '../../client/sound/sound-types.js';
import type { Talking } from '../talk/state.js';

/** The parts of navigator.mediaSession that are used. */
export type Session = {
  setActionHandler(action: 'play' | 'pause', handler: (() => void) | null): void;
};

export type HeadsetOwner = {
  /** null: the browser has none. */
  session: Session | null;
  isOn: ReadonlySignal<boolean>;
  talking: Pick<Talking, 'press' | 'release' | 'states'>;
  targets(): readonly string[];
  /** A hidden page may not get the microphone. */
  isVisible: ReadonlySignal<boolean>;
  tone: Sound['tone'];
  clock: Clock;
  /** The name that the headset and the locked screen show. null: there is no talker. */
  talker: ReadonlySignal<string | null>;
  show(talker: string | null): void;
  /** Browsers give the key to pages that play sound. Returns a function that stops it. */
  play(): () => void;
};

/** A user who forgets the second press does not block the talkgroup for longer. */
export const HEADSET_MS = 30_000;

const SOURCE = 'headset';

/** Listens until the page is left, while it is switched on. */
export function listenToHeadset(owner: HeadsetOwner): void {
  const { session, isOn, talking, tone, clock } = owner;
  if (session === null) return;
  let cancel: (() => void) | null = null;

  const end = () => {
    if (cancel === null) return;
    cancel();
    cancel = null;
    talking.release(SOURCE);
    tone('ended');
  };
  const toggle = () => {
    if (cancel !== null) return end();
    if (!owner.isVisible.peek()) return tone('denied');
    const targets = owner.targets();
    talking.press(SOURCE, targets);
    if (targets.length === 0) return talking.release(SOURCE);
    cancel = clock.after(HEADSET_MS, end);
  };
  effect(() => {
    if (!isOn.value) return;
    const stop = owner.play();
    for (const action of ['play', 'pause'] as const) session.setActionHandler(action, toggle);
    const stopShowing = effect(() => owner.show(owner.talker.value));
    return () => {
      end();
      stopShowing();
      stop();
      owner.show(null);
      for (const action of ['play', 'pause'] as const) session.setActionHandler(action, null);
    };
  });
  // A talk that ended by itself, as by a locked screen, needs no second press.
  effect(() => {
    const states = [...talking.states.value.values()];
    const isOver = states.every((state) => 'isFinal' in state && state.isFinal); // also without any
    if (isOver && cancel !== null) queueMicrotask(end);
  });
}
