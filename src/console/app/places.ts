// Keeps which tab is shown. It is in the address of the page, so that a reload shows it again.
import { type ReadonlySignal, signal } from '@preact/signals';

const hashNow = () => decodeURIComponent(location.hash.replace(/^#/, ''));
const shown = signal(hashNow());

addEventListener('hashchange', () => {
  shown.value = hashNow();
});

/** The part of the address behind `#`. */
export const hash: ReadonlySignal<string> = shown;

export function show(next: string): void {
  location.hash = next;
}
