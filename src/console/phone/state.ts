// Builds what the layout for phones has beside the desk, and connects it with the browser.
import { computed, type ReadonlySignal, type Signal, signal } from '@preact/signals';
import { systemClock } from '../../client/clock.js';
import type { Desk } from '../app/desk.js';
import { type Away, createAway } from './away.js';
import { listenToHeadset } from './headset.js';
import { isPhone } from './layout.js';
import { ownChoices } from './own-choices.js';
import { playQuietly } from './quiet-sound.js';
import { createRing, type Ring } from './ring.js';
import { type Heard, heardOf } from './talkers.js';
import { createUndo, type Undo } from './undo.js';
import { keepAwake } from './wake.js';

export type Phone = {
  readonly ring: Ring;
  readonly away: Away;
  readonly undo: Undo;
  /** Why the last emergency was not taken back. null: no such failure. */
  readonly notTakenBack: ReadonlySignal<string | null>;
  /** The talker that is shown. null: no talkgroup that is heard has one. */
  readonly heard: ReadonlySignal<Heard | null>;
  /** Raises an emergency. Rejects with LinkError. */
  raise(talkgroupId: string): Promise<void>;
  /** Clears the emergency that was just raised. */
  takeBack(talkgroupId: string): void;
};

/** Three short ones, and the pauses between them (ms). */
const VIBRATIONS = [90, 90, 90, 90, 90];

let opened: { desk: Desk; phone: Phone } | null = null;

/** Created with the first call. It stays until the page is left, also while the window is wide. */
export function phoneOf(desk: Desk): Phone {
  if (opened?.desk !== desk) opened = { desk, phone: createPhone(desk) };
  return opened.phone;
}

function createPhone(desk: Desk): Phone {
  const { talking, talkgroups, grid, raising, link, alarms, answering, account, sound } = desk;
  const isVisible = signal(document.visibilityState === 'visible');
  document.addEventListener('visibilitychange', () => {
    isVisible.value = document.visibilityState === 'visible';
  });
  const ring = createRing(talkgroups, talking, { favourites: grid.favourites, isShown: isPhone });
  const undo = createUndo(systemClock);
  const notTakenBack: Signal<string | null> = signal(null);
  const heard = computed(() => heardOf(talkgroups.tiles.value, ring.current.value));
  const isRaising = computed(() =>
    [...raising.states.value.values()].some(({ phase }) => phase === 'holding' || phase === 'sent'),
  );
  const { wakeLock } = navigator as Partial<Pick<Navigator, 'wakeLock'>>; // not in Firefox before 126
  if (wakeLock !== undefined) {
    const isNeeded = computed(
      () => talking.isHeld.value || isRaising.value || ownChoices.keepsScreenOn.value,
    );
    keepAwake(isNeeded, isVisible, () => wakeLock.request('screen'));
  }
  listenToHeadset({
    session: 'mediaSession' in navigator ? navigator.mediaSession : null,
    isOn: ownChoices.isHeadsetOn,
    isVisible,
    talking,
    targets: () => talkgroups.selected.peek().map(({ id }) => id),
    tone: sound.tone,
    clock: systemClock,
    talker: computed(() => heard.value?.talker.username ?? null),
    show(talker) {
      navigator.mediaSession.metadata = talker === null ? null : new MediaMetadata({ title: talker });
    },
    play: playQuietly,
  });

  return {
    ...{ ring, undo, notTakenBack, heard, away: createAway(isVisible, Date.now) },
    async raise(talkgroupId) {
      notTakenBack.value = null;
      navigator.vibrate?.(VIBRATIONS);
      await link.raise(talkgroupId);
      undo.offer(talkgroupId);
    },
    takeBack(talkgroupId) {
      const own = alarms.open
        .peek()
        .find(({ user_id, talkgroup_id }) => user_id === account.userId && talkgroup_id === talkgroupId);
      if (own === undefined) return undo.end();
      const { emergency_id } = own;
      answering.act(emergency_id, async () => {
        await link.request({ type: 'EMERGENCY_CLEAR', emergency_id }).catch((error: Error) => {
          notTakenBack.value = error.message;
          throw error;
        });
        undo.end();
      });
    },
  };
}
