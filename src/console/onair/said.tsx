// Says to screen readers who talks, for users who want it. It waits until other speech of the screen reader ends.
import { useRef } from 'preact/hooks';
import type { Desk } from '../app/desk.js';
import type { Slots } from './slots.js';
import { onAir as words } from './texts.js';

/** Talkers that were on air at the last drawing, and what was said of the newest of them. */
type Said = { keys: ReadonlySet<string>; key: string | null; text: string };

const NOTHING: Said = { keys: new Set(), key: null, text: '' };

export function TalkersSaid({ desk: { onAir, settings } }: { desk: Desk }) {
  const said = useRef(NOTHING);
  said.current = settings.settings.value.areTalkersSaid ? next(said.current, onAir.slots.value) : NOTHING;
  return (
    <p aria-live="polite" class="visually-hidden">
      {said.current.text}
    </p>
  );
}

/** New talkers are said together, once. The text stays until the last of them ends, so that nothing is said twice. */
function next({ keys, key, text }: Said, slots: Slots): Said {
  const running = slots
    .filter((slot) => slot !== null)
    .filter(({ isOwn, endedAtMs }) => !isOwn && endedAtMs === null);
  const now = new Set(running.map((slot) => slot.key));
  const fresh = running.filter((slot) => !keys.has(slot.key));
  const last = fresh.at(-1);
  if (last !== undefined)
    return {
      keys: now,
      key: last.key,
      text: fresh.map((one) => words.said(one.username, one.talkgroup)).join(', '),
    };
  return key !== null && now.has(key) ? { keys: now, key, text } : { ...NOTHING, keys: now };
}
