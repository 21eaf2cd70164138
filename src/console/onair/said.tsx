// Says to screen readers who talks, for users who want it. It waits until other speech of the screen reader ends.
import type { Desk } from '../app/desk.js';
import type { Slot } from './slots.js';
import { onAir as words } from './texts.js';

export function TalkersSaid({ desk: { onAir, settings } }: { desk: Desk }) {
  const latest = settings.settings.value.areTalkersSaid ? latestOf(onAir.slots.value) : null;
  return (
    <p aria-live="polite" class="visually-hidden">
      {latest !== null && words.said(latest.username, latest.talkgroup)}
    </p>
  );
}

/** Of the others who talk now: who began last. */
function latestOf(slots: readonly (Slot | null)[]): Slot | null {
  const talking = slots.filter((slot) => slot !== null && !slot.isOwn && slot.endedAtMs === null);
  return talking.reduce(
    (last, slot) => ((slot?.startedAtMs ?? 0) > (last?.startedAtMs ?? 0) ? slot : last),
    null,
  );
}
