// Watches that nothing of a page of the console changes its place or its size.

/** What has a place of its own. Only the view, the alarms and dialogs scroll, and here nothing scrolls them. */
const PLACES = [
  '[data-region]',
  '.slot',
  '.talk-bar',
  '.talk-key',
  '.talk-key button',
  '.tile',
  '.alarm-row',
  '.last-ten li',
  '.replay',
  '.emergency-place button',
].join();

/** Compares the rectangles in each animation frame, and adds up what the browser calls layout shifts. */
export const WATCH = `globalThis.watched = { frames: 0, moved: [], shifts: [], lost: [] };
  const places = new Map();
  const nameOf = (element) => {
    const owner = element.closest('[data-talkgroup], .alarm-row');
    const parts = [owner, element].map((one) => one?.getAttribute('aria-label') ?? one?.dataset.region ?? '');
    const index = element.matches('.slot, .last-ten li') ? [...element.parentElement.children].indexOf(element) : '';
    return [element.tagName, element.className.split(' ')[0], ...parts, index].join(' ');
  };
  function look() {
    watched.frames += 1;
    for (const element of document.querySelectorAll(${JSON.stringify(PLACES)})) {
      const { x, y, width, height } = element.getBoundingClientRect();
      const place = [x, y, width, height].join();
      const name = nameOf(element);
      const before = places.get(name) ?? place;
      if (before !== place) watched.moved.push(name + ': ' + before + ' then ' + place);
      places.set(name, place);
    }
    watched.places = places.size;
    requestAnimationFrame(look);
  }
  look();
  new PerformanceObserver((list) => {
    for (const { value, sources } of list.getEntries())
      watched.shifts.push([value, ...sources.map(({ node, previousRect, currentRect }) =>
        [node?.parentElement?.outerHTML.slice(0, 200), JSON.stringify(previousRect), JSON.stringify(currentRect)].join(' '))].join(' '));
  }).observe({ type: 'layout-shift' });`;

export type Watched = { frames: number; places: number; moved: string[]; shifts: string[] };
