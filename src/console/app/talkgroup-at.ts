// Finds which talkgroup an element of the page is about.

/** Id of the talkgroup whose tile, menu or view has this element. null: it is about none, or about all. */
export function talkgroupAt(target: EventTarget | null): string | null {
  const owner = target instanceof Element ? target.closest<HTMLElement>('[data-talkgroup]') : null;
  return owner?.dataset.talkgroup ?? null;
}
