// Shows the tabs and the panel of the selected one. Arrow keys move between tabs.

import type { Desk } from '../app/desk.js';
import { Lazy } from '../app/lazy.js';
import { hash, show } from '../app/places.js';
import type { Account } from '../app/session.js';
import { texts } from '../app/texts.js';
import { Icon } from '../icons/icon.js';
import { loadFirstRun, settingsPage, type Tab, tabs } from './tabs.js';

type Props = { account: Account };

function shownTabs(account: Account): readonly Tab[] {
  return tabs.filter((tab) => tab.isShown(account));
}

function selectedTab(account: Account): Tab {
  return shownTabs(account).find((tab) => tab.hash === hash.value) ?? tabs[0];
}

export function TabBar({ account }: Props) {
  const selected = selectedTab(account);
  return (
    <div
      role="tablist"
      class="tabs"
      aria-label={texts.tabs.label}
      onKeyDown={(event) => {
        const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
        if (step !== undefined) move(account, step);
      }}
    >
      {shownTabs(account).map((tab) => (
        <button
          key={tab.hash}
          type="button"
          role="tab"
          id={idOf(tab)}
          aria-selected={tab === selected && hash.value !== settingsPage.hash}
          aria-controls="panel"
          tabIndex={tab === selected ? 0 : -1}
          onClick={() => show(tab.hash)}
        >
          <Icon name={tab.icon} />
          <span class="tab-name" data-name={tab.name}>
            {tab.name}
          </span>
        </button>
      ))}
    </div>
  );
}

export function TabPanel({ desk }: { desk: Desk }) {
  if (hash.value === settingsPage.hash) {
    return (
      <section id="panel" class="panel" aria-label={settingsPage.name}>
        <Lazy key={settingsPage.hash} load={settingsPage.load} />
      </section>
    );
  }
  const selected = selectedTab(desk.account);
  const isFirst = selected === tabs[0] && desk.firstRun.isShown.value;
  return (
    <div role="tabpanel" id="panel" class="panel" aria-labelledby={idOf(selected)}>
      {isFirst ? (
        <Lazy key="first-run" load={loadFirstRun} />
      ) : (
        <Lazy key={selected.hash} load={selected.load} />
      )}
    </div>
  );
}

function move(account: Account, step: number): void {
  const all = shownTabs(account);
  const at = all.indexOf(selectedTab(account));
  const next = all[(at + step + all.length) % all.length];
  if (next === undefined) return;
  show(next.hash);
  document.getElementById(idOf(next))?.focus();
}

const idOf = ({ hash }: Tab) => `tab-${hash}`;
