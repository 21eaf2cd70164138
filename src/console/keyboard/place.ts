// Says where the focus is, for the keys that belong to the page.

/** Of the focused element. null: nothing has the focus. */
export function placeOf(focused: Element | null) {
  return {
    isText: focused?.closest('input, textarea, select, [contenteditable]') != null,
    isInDialog:
      document.querySelector('dialog:modal') !== null ||
      focused?.closest('[role=menu], [role=dialog]') != null,
    isInTile: tileWith(focused) !== null,
  };
}

/** Id of the talkgroup in whose tile the element is. */
export const tileWith = (focused: Element | null) =>
  focused?.closest<HTMLElement>('.tiles [data-talkgroup]')?.dataset.talkgroup ?? null;
