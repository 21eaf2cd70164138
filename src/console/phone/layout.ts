// Says whether the page has the layout for phones.
import { type ReadonlySignal, signal } from '@preact/signals';

/** Below 700 px, and a phone that is held sideways: it is wider, but has no room for the regions of the desk. */
const PHONE = '(max-width: 43.74rem), (max-width: 60rem) and (max-height: 30rem)';

const query = matchMedia(PHONE);
const matches = signal(query.matches);

query.addEventListener('change', () => {
  matches.value = query.matches;
});

export const isPhone: ReadonlySignal<boolean> = matches;
