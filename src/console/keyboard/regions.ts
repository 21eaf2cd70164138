// Moves the focus between the regions of the page: header, strip, view, alarms, dock.

/** Where the focus was last in a region. */
const lastIn = new WeakMap<Element, HTMLElement>();

const TABBABLE = 'button, input, select, textarea, a[href], [tabindex]';

/** To the region behind or before the one with the focus, round. One without a control gets the focus itself. */
export function moveToRegion(step: 1 | -1): void {
  // A region in another one is a part of it.
  const regions = [...document.querySelectorAll<HTMLElement>('[data-region]')].filter(
    (region) => region.parentElement?.closest('[data-region]') === null && isShown(region),
  );
  const { activeElement } = document;
  const at = regions.findIndex((region) => region.contains(activeElement));
  const here = regions[at];
  if (here !== undefined && activeElement instanceof HTMLElement) lastIn.set(here, activeElement);
  const first = step === 1 ? 0 : regions.length - 1;
  const next = regions[at < 0 ? first : (at + step + regions.length) % regions.length];
  if (next !== undefined) enter(next);
}

function enter(region: HTMLElement): void {
  const last = lastIn.get(region);
  if (last !== undefined && region.contains(last) && mayHaveFocus(last)) return last.focus();
  const control = [...region.querySelectorAll<HTMLElement>(TABBABLE)].find(mayHaveFocus);
  if (control === undefined) region.tabIndex = -1;
  (control ?? region).focus();
}

const isShown = (element: HTMLElement) => element.getClientRects().length > 0;
const mayHaveFocus = (element: HTMLElement) =>
  element.tabIndex >= 0 && isShown(element) && !element.matches(':disabled');
