// The views of the phone, at the lower end of the screen. Arrow keys move between them.
import type { Desk } from '../app/desk.js';
import { show } from '../app/places.js';
import type { Account } from '../app/session.js';
import { texts } from '../app/texts.js';
import { Icon } from '../icons/icon.js';
import type { IconName } from '../icons/icons.js';
import { phone as words } from './texts.js';

const views = ['talk', 'groups', 'map', 'alarms'] as const;

export type View = (typeof views)[number];

const icons: Readonly<Record<View, IconName>> = {
  talk: 'mic',
  groups: 'layout-grid',
  map: 'map',
  alarms: 'triangle-alert',
};

/** Views without a place in the bar: the menu opens them. */
export type MenuView = 'admin' | 'recordings' | 'settings';

/** `hash`: of the address. */
export function viewOf(hash: string, { mayDispatch }: Pick<Account, 'mayDispatch'>): View | MenuView {
  if (hash === 'settings' || hash === 'recordings') return hash;
  if (hash === 'admin' && mayDispatch.value) return hash;
  return views.find((view) => view === hash) ?? 'talk';
}

export const isInBar = (view: View | MenuView): view is View => views.some((one) => one === view);

export const tabId = (view: View) => `tab-${view}`;

export function Navigation({ desk, view }: { desk: Desk; view: View | MenuView }) {
  return (
    <nav class="phone-navigation" aria-label={texts.tabs.label} data-region="navigation">
      <div
        role="tablist"
        aria-label={texts.tabs.label}
        onKeyDown={({ key }) => {
          const step = { ArrowLeft: -1, ArrowRight: 1 }[key];
          if (step !== undefined) move(view, step);
        }}
      >
        {views.map((one) => (
          <button
            key={one}
            type="button"
            role="tab"
            id={tabId(one)}
            aria-selected={one === view}
            aria-controls="panel"
            tabIndex={one === view || (!isInBar(view) && one === 'talk') ? 0 : -1}
            onClick={() => show(one)}
          >
            <Icon name={icons[one]} />
            {words.views[one]}
            {one === 'alarms' && <Count desk={desk} />}
          </button>
        ))}
      </div>
    </nav>
  );
}

/** A screen reader hears the alarms themselves. */
function Count({ desk: { alarms } }: { desk: Desk }) {
  const open = alarms.open.value;
  if (open.length === 0) return null;
  const isNew = open.some(({ state }) => state === 'raised');
  return (
    <span class={isNew ? 'phone-count new' : 'phone-count'} aria-hidden="true">
      {open.length}
    </span>
  );
}

function move(view: View | MenuView, step: number): void {
  const at = isInBar(view) ? views.indexOf(view) : 0;
  const next = views[(at + step + views.length) % views.length];
  if (next === undefined) return;
  show(next);
  document.getElementById(tabId(next))?.focus();
}
