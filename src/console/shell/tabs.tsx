// Lists the tabs of the console. The code of all but the first one is loaded when it is opened.
import type { ComponentType } from 'preact';
import type { Account } from '../app/session.js';
import { texts } from '../app/texts.js';
import type { IconName } from '../icons/icons.js';
import { withStylesheet } from '../stylesheets.js';
import Talkgroups from '../talkgroups/view.js';

export type Tab = {
  /** Accessible name. */
  name: string;
  icon: IconName;
  /** In the address of the page, without `#`. The first tab is shown for all other addresses. */
  hash: string;
  isShown(account: Account): boolean;
  load(): Promise<{ default: ComponentType }>;
};

/** Opened by the menu of the account, and shown in the place of a tab. */
export const settingsPage = {
  name: texts.account.settings,
  hash: 'settings',
  load: () => withStylesheet('settings/pages.css', import('../settings/view.js')),
} as const;

/** In the place of the first tab until its steps are done. */
export const loadFirstRun = () => withStylesheet('settings/pages.css', import('../first-run/view.js'));

/** In the order of the tab bar. */
export const tabs: readonly [Tab, ...Tab[]] = [
  {
    name: texts.tabs.talkgroups,
    icon: 'layout-grid',
    hash: 'talkgroups',
    isShown: () => true,
    load: async () => ({ default: Talkgroups }),
  },
  {
    name: texts.tabs.map,
    icon: 'map',
    hash: 'map',
    isShown: () => true,
    load: () => withStylesheet('map/map.css', import('../map/view.js')),
  },
  {
    name: texts.tabs.recordings,
    icon: 'history',
    hash: 'recordings',
    isShown: () => true,
    load: () => withStylesheet('recordings/recordings.css', import('../recordings/view.js')),
  },
  {
    name: texts.tabs.admin,
    icon: 'settings',
    hash: 'admin',
    isShown: ({ mayDispatch }) => mayDispatch.value,
    load: () => withStylesheet('admin/admin.css', import('../admin/view.js')),
  },
];
