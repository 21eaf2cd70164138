// Keeps what the user chose on the map tab: what is found, sorted, opened and followed.
import { effect, type Signal, signal } from '@preact/signals';
import { readJson, type Shelf, writeJson } from '../settings/state.js';
import type { SortedBy } from './drawer/table-rows.js';

/** The device, or the emergency of a user whose device is not on the map. */
export type CardOf = ({ readonly device: string } | { readonly emergency: string }) & {
  /** It was opened by keyboard. */
  readonly hasFocus?: boolean;
};

export interface MapChoices {
  /** Anywhere in the name. */
  readonly find: Signal<string>;
  readonly page: Signal<number>;
  readonly sortedBy: Signal<SortedBy>;
  /** null: as the width of the window suggests. Kept by the browser. */
  readonly isDrawerOpen: Signal<boolean | null>;
  readonly card: Signal<CardOf | null>;
  /** Device ids that the user wants a trail of. */
  readonly trailed: Signal<ReadonlySet<string>>;
  /** Of the device that stays in the middle of the map. */
  readonly followed: Signal<string | null>;
  readonly isFollowingEmergencies: Signal<boolean>;
}

const DRAWER = 'talkgroup.map-drawer';

export function createChoices(shelf: Shelf): MapChoices {
  const stored = readJson(shelf, DRAWER);
  const isDrawerOpen = signal(typeof stored === 'boolean' ? stored : null);
  effect(() => {
    if (isDrawerOpen.value !== null) writeJson(shelf, DRAWER, isDrawerOpen.value);
  });
  return {
    find: signal(''),
    page: signal(0),
    sortedBy: signal<SortedBy>('name'),
    isDrawerOpen,
    card: signal<CardOf | null>(null),
    trailed: signal<ReadonlySet<string>>(new Set()),
    followed: signal<string | null>(null),
    isFollowingEmergencies: signal(true),
  };
}

/** The user goes to another place by hand. */
export function stopFollowing({ followed, isFollowingEmergencies }: MapChoices): void {
  followed.value = null;
  isFollowingEmergencies.value = false;
}
