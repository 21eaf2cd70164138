// Follows who is on air in all talkgroups, for the strip and for the answer to the latest talker.
import { batch, type ReadonlySignal, type Signal, signal } from '@preact/signals';
import type { Clock } from '../../client/clock.js';
import type { Changes, TalkerView, TalkgroupView } from '../worker/messages.js';
import { assign, ENDED_MS, noSlots, type OnAirTalker, type Slots } from './slots.js';

export type OnAir = {
  readonly slots: ReadonlySignal<Slots>;
  /** Number of talkers without a slot. */
  readonly more: ReadonlySignal<number>;
  /** By talkgroup: when the latest burst of another user began (Unix time of this computer, ms). */
  readonly heardAtMs: ReadonlyMap<string, number>;
  take(changes: Pick<Changes, 'talkgroups' | 'left'>): void;
  /** Whether the pointer or the focus is in the slot. */
  keep(index: number, isKept: boolean): void;
};

/** `unixMs`: Unix time (ms) of this computer. */
export function createOnAir(clock: Clock, unixMs: () => number): OnAir {
  const slots: Signal<Slots> = signal(noSlots);
  const more = signal(0);
  const heardAtMs = new Map<string, number>();
  /** By talkgroup. Bounded by the talkgroups and the talkers of each. */
  const running = new Map<string, readonly OnAirTalker[]>();
  const kept = new Set<number>();
  let cancel = () => {};

  return {
    slots,
    more,
    heardAtMs,
    take({ talkgroups, left }) {
      if (talkgroups.length === 0 && left.length === 0) return;
      for (const id of left) {
        running.delete(id);
        heardAtMs.delete(id);
      }
      for (const view of talkgroups) takeOne(view);
      renew();
    },
    keep(index, isKept) {
      if (isKept) return void kept.add(index);
      if (kept.delete(index)) renew();
    },
  };

  function takeOne(view: TalkgroupView): void {
    const { id, talkers } = view;
    if (talkers.length === 0) return void running.delete(id);
    const now = talkers.map((talker) => talkerOf(view, talker));
    running.set(id, now);
    const heard = now.filter(({ isOwn, isUnopened }) => !isOwn && !isUnopened);
    const began = heard.map(({ startedAtMs }) => startedAtMs);
    if (began.length > 0) heardAtMs.set(id, Math.max(heardAtMs.get(id) ?? 0, ...began));
  }

  function renew(): void {
    const nowMs = unixMs();
    const next = assign(slots.peek(), [...running.values()].flat(), { nowMs, kept });
    batch(() => {
      if (next.slots.some((slot, index) => slot !== slots.peek()[index])) slots.value = next.slots;
      more.value = next.more;
    });
    cancel();
    const ends = next.slots.flatMap((slot, index) => (kept.has(index) ? [] : (slot?.endedAtMs ?? [])));
    // A clock that is set back must not make the timer run at once, again and again.
    if (ends.length > 0) cancel = clock.after(Math.max(100, Math.min(...ends) + ENDED_MS - nowMs), renew);
  }
}

function talkerOf({ id, name }: TalkgroupView, talker: TalkerView): OnAirTalker {
  const { session, username, startedAtMs, emergency, isOwn, lock, unopened } = talker;
  return {
    key: `${id} ${session} ${username}`,
    ...{ talkgroupId: id, talkgroup: name, username, startedAtMs, emergency, isOwn },
    isUnopened: lock === 'cannot_open' || unopened !== null,
  };
}
