// Keeps which colours the page has: those of the system, or those that the user chose. The stylesheet reads `data-theme`.
import { computed, effect, type ReadonlySignal, signal } from '@preact/signals';
import type { Theme } from './state.js';

/** What a test has in place of the system: `matchMedia('(prefers-color-scheme: dark)')`. */
export type SystemTheme = {
  readonly matches: boolean;
  addEventListener(type: 'change', listener: () => void): void;
};

export type Look = {
  readonly isDark: ReadonlySignal<boolean>;
  show(theme: Theme): void;
};

/** `write` gets the value of `data-theme`, null to remove it. */
export function createLook(system: SystemTheme, write: (theme: 'light' | 'dark' | null) => void): Look {
  const theme = signal<Theme>('system');
  const isSystemDark = signal(system.matches);
  system.addEventListener('change', () => {
    isSystemDark.value = system.matches;
  });
  effect(() => write(theme.value === 'system' ? null : theme.value));
  return {
    isDark: computed(() => (theme.value === 'system' ? isSystemDark.value : theme.value === 'dark')),
    show(next) {
      theme.value = next;
    },
  };
}
