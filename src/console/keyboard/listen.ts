// Hears the shortcuts, and does what they say.
import type { Desk } from '../app/desk.js';
import { FIELD } from '../find/field.js';
import { placeOf, tileWith } from './place.js';
import { moveToRegion } from './regions.js';
import { readShortcut, type Shortcut } from './shortcuts.js';
import { isListOpen } from './state.js';

/** Listens until the page is left. */
export function listenToShortcuts(desk: Desk): void {
  addEventListener('keydown', (event) => {
    if (event.defaultPrevented) return;
    const { talkKey, areLettersOn } = desk.settings.settings.peek();
    const shortcut = readShortcut(event, { talkKey, areLettersOn, ...placeOf(document.activeElement) });
    if (shortcut === null) return;
    event.preventDefault(); // the sign must not be written into the field that gets the focus
    act(desk, shortcut);
  });
}

function act(desk: Desk, shortcut: Shortcut): void {
  switch (shortcut.kind) {
    case 'region':
      return moveToRegion(shortcut.step);
    case 'find':
      return document.getElementById(FIELD)?.focus();
    case 'list':
      isListOpen.value = true;
      return;
    case 'alarm':
      return goToAlarm();
    case 'favourite':
      return toggleSelected(desk, desk.grid.favourites.peek()[shortcut.number - 1]);
    case 'select':
      return toggleSelected(desk, tileWith(document.activeElement));
    case 'mute': {
      const tile = desk.talkgroups.tile(tileWith(document.activeElement) ?? '');
      if (tile !== undefined) desk.talkgroups.mute(tile, !tile.isMuted.peek());
      return;
    }
    case 'favour': {
      const id = tileWith(document.activeElement);
      if (id !== null) desk.grid.favour(id, !desk.grid.favourites.peek().includes(id));
      return;
    }
  }
}

function toggleSelected({ talkgroups }: Desk, id: string | null | undefined): void {
  const tile = talkgroups.tile(id ?? '');
  if (tile !== undefined) talkgroups.select(tile, !tile.isSelected.peek());
}

/** To the oldest that is not acknowledged. In a narrow window to the button that shows the alarms. */
function goToAlarm(): void {
  const row = document.querySelector<HTMLElement>('.alarm-row.raised');
  const isHidden = row?.getClientRects().length === 0;
  (isHidden ? document.querySelector<HTMLElement>('.side-bar button') : row)?.focus();
}
