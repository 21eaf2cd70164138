// Keeps the open emergencies of the page, and the button that is held to raise one.
import { computed, type ReadonlySignal, type Signal, signal } from '@preact/signals';
import type { Clock } from '../../client/clock.js';
import type { Emergency } from '../../client/radio.js';
import type { Sound } from '../sound/sound-types.js';
import type { Changes } from '../worker/messages.js';

export type Alarms = {
  /** Not acknowledged ones first, then the newest. */
  readonly open: ReadonlySignal<readonly Emergency[]>;
  take(changes: Pick<Changes, 'emergencies' | 'left'>): void;
};

/** Until an administrator acknowledges it, an alarm sounds again after this time. */
const REPEAT_MS = 5_000;

/** `isRepeated`: whether the tone comes again until the alarm is acknowledged, for users who can acknowledge. */
export function createAlarms({
  tone,
  clock,
  isRepeated,
}: {
  tone: Sound['tone'];
  clock: Clock;
  isRepeated(): boolean;
}): Alarms {
  const byId: Signal<ReadonlyMap<string, Emergency>> = signal(new Map());
  const open = computed(() => [...byId.value.values()].sort(compare));
  const isSounding = computed(() => open.value.some(({ state }) => state === 'raised'));
  let cancelRepeat = () => {};

  return {
    open,
    take({ emergencies, left }) {
      if (emergencies.length === 0 && left.length === 0) return;
      const before = byId.peek();
      const next = new Map(before);
      for (const emergency of emergencies) {
        if (emergency.state === 'cleared') next.delete(emergency.emergency_id);
        else next.set(emergency.emergency_id, emergency);
      }
      for (const { emergency_id, talkgroup_id } of next.values())
        if (left.includes(talkgroup_id)) next.delete(emergency_id);
      byId.value = next;
      const isNew = emergencies.some(
        ({ emergency_id, state }) => state === 'raised' && !before.has(emergency_id),
      );
      if (isNew) sound();
    },
  };

  function sound(): void {
    tone('alarm');
    cancelRepeat();
    if (!isRepeated()) return;
    cancelRepeat = clock.after(REPEAT_MS, () => {
      if (isSounding.peek()) sound();
    });
  }
}

function compare(one: Emergency, other: Emergency): number {
  if (one.state !== other.state) return one.state === 'raised' ? -1 : 1;
  return other.raised_at.localeCompare(one.raised_at);
}
