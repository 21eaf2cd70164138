// The tab of stored recordings: a search, and a table of what it finds, or of the missed calls.
import { useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { desk as currentDesk, type Desk } from '../app/desk.js';
import { firstTexts } from '../app/first-texts.js';
import type { DeskRecordings } from './open.js';
import { SearchForm } from './search.js';
import { createTab, type RecordingsTab } from './state.js';
import { RecordingsTable } from './table.js';
import { recordings as words } from './texts.js';

export default function Recordings() {
  const desk = currentDesk.value;
  const isFailed = useSignal(false);
  const open = () => {
    isFailed.value = false;
    desk?.recordings.open().catch(() => {
      isFailed.value = true; // TypeError: the network failed, or a newer version of the console has other file names
    });
  };
  useEffect(open, [desk]);
  const now = desk?.recordings.now.value ?? null;
  if (desk !== null && now !== null) return <Tab desk={desk} now={now} />;
  if (!isFailed.value) return <p class="quiet panel">{firstTexts.loading}</p>;
  return (
    <div class="panel" role="alert">
      <p>{firstTexts.notLoaded}</p>
      <button type="button" onClick={open}>
        {firstTexts.tryAgain}
      </button>
    </div>
  );
}

/** The search and the rows stay while the user is in another tab. */
const tabs = new WeakMap<DeskRecordings, RecordingsTab>();

function tabOf(now: DeskRecordings): RecordingsTab {
  const tab = tabs.get(now) ?? createTab(now);
  tabs.set(now, tab);
  return tab;
}

function Tab({ desk, now }: { desk: Desk; now: DeskRecordings }) {
  const tab = useMemo(() => tabOf(now), [now]);
  useEffect(tab.follow, [tab]);
  const { account, talkgroups } = desk;
  const isEmpty = account.role !== 'admin' && talkgroups.tiles.value.length === 0;
  return (
    <div class="recordings">
      <h2 class="visually-hidden">{words.label}</h2>
      {isEmpty && desk.connection.value.state === 'open' ? (
        <p class="quiet recordings-empty">{words.noTalkgroup}</p>
      ) : (
        <>
          <SearchForm desk={desk} tab={tab} now={now} />
          <RecordingsTable desk={desk} tab={tab} now={now} />
        </>
      )}
    </div>
  );
}
