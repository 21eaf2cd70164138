// Keeps the alarms of the page in their places, and says when their buttons rest.
import { batch, computed, type ReadonlySignal, type Signal, signal } from '@preact/signals';
import type { Clock } from '../../client/clock.js';
import type { Emergency } from '../../client/radio.js';
import type { Sound } from '../../client/sound/sound-types.js';
import type { Changes } from '../worker/messages.js';
import { createOlder } from './older.js';
import { type AlarmRow, follow, leave, STAYS_MS, sweep } from './order.js';
import { createAlarmSound } from './silence.js';

export type Alarms = {
  /** In their places. Ended ones stay for a time. */
  readonly rows: ReadonlySignal<readonly AlarmRow[]>;
  /** The oldest first. */
  readonly open: ReadonlySignal<readonly Emergency[]>;
  /** Ids of emergencies with a right button that takes no press now, because its meaning has changed. */
  readonly resting: ReadonlySignal<ReadonlySet<string>>;
  readonly isSilent: ReadonlySignal<boolean>;
  /** No alarm sounds for 60 s, or until a new one. It acknowledges nothing. */
  silence(): void;
  /** Number of alarms that were raised after this time (Unix ms of the server), ended ones included. */
  raisedAfter(serverMs: number): number;
  /** While the pointer or the focus is in the list, no row is removed. */
  keep(isKept: boolean): void;
  take(changes: Pick<Changes, 'emergencies' | 'left'> & Partial<Changes>): void;
};

/** The right button of a row takes no press for this time after its meaning changed. */
export const REST_MS = 500;
/** The time that floods of alarms are counted in. */
export const FLOOD_MS = 600_000;

/** `isRepeated`: whether the user can acknowledge. `readAll` reads GET /emergencies, and rejects with RestError. */
export function createAlarms({
  tone,
  clock,
  isRepeated,
  readAll,
}: {
  tone: Sound['tone'];
  clock: Clock;
  isRepeated(): boolean;
  readAll(): Promise<readonly Emergency[]>;
}): Alarms {
  const rows: Signal<readonly AlarmRow[]> = signal([]);
  const resting: Signal<ReadonlySet<string>> = signal(new Set());
  const open = computed(() => rows.value.filter(({ end }) => end === null).map(({ emergency }) => emergency));
  const isDue = () => open.peek().some(({ state }) => state === 'raised');
  const sound = createAlarmSound({ tone, clock, isRepeated, isDue });
  const older = createOlder({ readAll, clock, open, show });
  /** When the alarms of the last minutes were raised (Unix ms of the server), by emergency. */
  const raises = new Map<string, number>();
  /** What ends the rest of a button too early, by emergency. */
  const ends = new Map<string, () => void>();
  let isKept = false;

  return {
    ...{ rows, open, resting },
    isSilent: sound.isSilent,
    silence: sound.silence,
    raisedAfter(serverMs) {
      for (const [id, atMs] of raises) if (atMs <= serverMs) raises.delete(id);
      return raises.size;
    },
    keep(now) {
      isKept = now;
      if (!isKept) remove();
    },
    take(changes) {
      batch(() => {
        if (changes.left.length > 0) {
          rows.value = leave(rows.peek(), changes.left, clock.nowMs());
          clock.after(STAYS_MS, remove);
        }
        older.take(changes);
      });
    },
  };

  function show(emergencies: readonly Emergency[]): void {
    if (emergencies.length === 0) return;
    const before = new Map(open.peek().map(({ emergency_id, state }) => [emergency_id, state]));
    rows.value = follow(rows.peek(), emergencies, clock.nowMs());
    for (const { emergency_id: id, state, raised_at } of emergencies) {
      if (state === 'cleared') clock.after(STAYS_MS, remove);
      else raises.set(id, Date.parse(raised_at));
      if (before.has(id) && before.get(id) !== state) rest(id);
    }
    if (emergencies.some(({ emergency_id, state }) => state === 'raised' && !before.has(emergency_id)))
      sound.raised();
  }

  function remove(): void {
    if (isKept) return;
    const left = sweep(rows.peek(), clock.nowMs());
    if (left.length === rows.peek().length) return;
    rows.value = left;
    // Each row below is in another place now.
    for (const { emergency } of left) rest(emergency.emergency_id);
  }

  function rest(id: string): void {
    ends.get(id)?.();
    resting.value = new Set(resting.peek()).add(id);
    ends.set(
      id,
      clock.after(REST_MS, () => {
        ends.delete(id);
        resting.value = new Set(ends.keys());
      }),
    );
  }
}
