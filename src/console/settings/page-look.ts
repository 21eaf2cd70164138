// Gives the page the colours of the system, or those that the user chose.
import { effect, type ReadonlySignal } from '@preact/signals';
import type { Settings } from './state.js';
import { createLook, type Look } from './theme.js';

let page: Look | null = null;

/** The look of the page, which is created by the first call. */
export function pageLook(): Look {
  const { dataset } = document.documentElement;
  page ??= createLook(matchMedia('(prefers-color-scheme: dark)'), (theme) => {
    if (theme === null) delete dataset.theme;
    else dataset.theme = theme;
  });
  return page;
}

/** Follows the setting from now on. */
export function followTheme(settings: ReadonlySignal<Settings>): void {
  effect(() => pageLook().show(settings.value.theme));
}
