// Says to screen readers who talks, for users who want it. It waits until other speech of the screen reader ends.
import { useRef } from 'preact/hooks';
import type { Desk } from '../app/desk.js';
import type { Slots } from './slots.js';
import { onAir as words } from './texts.js';

export function TalkersSaid({ desk: { onAir, settings } }: { desk: Desk }) {
  const newestMs = useRef(0);
  const latest = settings.settings.value.areTalkersSaid ? latestOf(onAir.slots.value) : undefined;
  // One who was said before is not said again when a later talker ends.
  const isNew = latest !== undefined && latest.startedAtMs >= newestMs.current;
  if (isNew) newestMs.current = latest.startedAtMs;
  return (
    <p aria-live="polite" class="visually-hidden">
      {isNew && words.said(latest.username, latest.talkgroup)}
    </p>
  );
}

/** Of the others who talk now: who began last. */
const latestOf = (slots: Slots) =>
  slots
    .filter((slot) => slot !== null)
    .filter(({ isOwn, endedAtMs }) => !isOwn && endedAtMs === null)
    .sort((one, other) => other.startedAtMs - one.startedAtMs)[0];
