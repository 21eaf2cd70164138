// Lists the tabs of the console. The code of a tab is loaded when it is opened.
import type { ComponentType } from 'preact';
import type { Account } from './session.js';
import { texts } from './texts.js';

export type Tab = {
  /** Accessible name. */
  name: string;
  /** In the address of the page, without `#`. The first tab is shown for all other addresses. */
  hash: string;
  isShown(account: Account): boolean;
  load(): Promise<{ default: ComponentType }>;
};

/** In the order of the tab bar. */
export const tabs: readonly [Tab, ...Tab[]] = [
  {
    name: texts.tabs.talkgroups,
    hash: 'talkgroups',
    isShown: () => true,
    load: () => import('../talkgroups/view.js'),
  },
  { name: texts.tabs.map, hash: 'map', isShown: () => true, load: () => import('../map/view.js') },
  {
    name: texts.tabs.admin,
    hash: 'admin',
    isShown: ({ role }) => role === 'admin',
    load: () => import('../admin/view.js'),
  },
];
