// The form of the search. It searches when the user submits it, and once when the tab is opened.
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { Desk } from '../app/desk.js';
import type { DeskRecordings } from './open.js';
import type { RecordingsTab, Search } from './state.js';
import { recordings as words } from './texts.js';

type SearchProps = { desk: Desk; tab: RecordingsTab; now: DeskRecordings };

/** In place of the id of a talkgroup. */
const ALL = '';

export function SearchForm({ desk: { account, talkgroups, connection }, tab, now }: SearchProps) {
  const form = useRef<HTMLFormElement>(null);
  const isWrong = useSignal(false);
  /** When the form appears. What the user chooses later is not changed. */
  const first = useRef<string | null>(null);
  const all = talkgroups.tiles.value;
  const shown = tab.shown.value;
  const before = shown?.kind === 'search' ? shown.search : null;
  // After a load of the page the talkgroups come with the connection.
  const isReady = all.length > 0 || (account.role === 'admin' && connection.value.state === 'open');
  if (isReady) first.current ??= before === null ? firstOf(talkgroups) : before.talkgroupId;
  const search = () => {
    if (form.current !== null) isWrong.value = !tab.search(readForm(new FormData(form.current)));
  };
  const isFirst = shown === null && !now.areMissedShown.value;
  useEffect(() => {
    if (isReady && isFirst) search();
  }, [isReady, isFirst]);
  return (
    <form
      class="recordings-search"
      ref={form}
      aria-label={words.label}
      onSubmit={(event) => {
        event.preventDefault();
        search();
      }}
    >
      <label class="field">
        {words.talkgroup}
        <select name="talkgroup">
          {account.role === 'admin' && <option value={ALL}>{words.all}</option>}
          {all.map(({ id, view }) => (
            <option key={id} value={id} selected={id === first.current}>
              {view.value.name}
            </option>
          ))}
        </select>
      </label>
      <Time name="from" label={words.from} before={before?.from} isWrong={isWrong.value} />
      <Time name="to" label={words.to} before={before?.to} isWrong={isWrong.value} />
      <label class="field recordings-talker">
        {words.talker}
        <input
          name="talker"
          autocomplete="off"
          spellcheck={false}
          autocapitalize="none"
          placeholder={words.talkerHint}
          defaultValue={before?.talker ?? ''}
        />
      </label>
      <label class="check">
        <input type="checkbox" name="emergencies" defaultChecked={before?.isEmergency ?? false} />
        {words.emergencies}
      </label>
      <button type="submit" id="recordings-search" class="primary">
        {words.search}
      </button>
      <p id="recordings-wrong" class="error" role="alert">
        {isWrong.value && words.order}
      </p>
    </form>
  );
}

type TimeProps = { name: string; label: string; before: string | undefined; isWrong: boolean };

function Time({ name, label, before = '', isWrong }: TimeProps) {
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  return (
    <label class="field time">
      {label}
      <input
        type="datetime-local"
        name={name}
        title={words.zone(timeZone)}
        defaultValue={before}
        {...(isWrong && { 'aria-invalid': true, 'aria-describedby': 'recordings-wrong' })}
      />
    </label>
  );
}

/** The first selected one, else the first that is recorded. */
function firstOf(talkgroups: Desk['talkgroups']): string | null {
  const all = talkgroups.tiles.peek();
  const [selected] = talkgroups.selected.peek();
  return (selected ?? all.find(({ view }) => view.peek().recordingDays > 0) ?? all[0])?.id ?? null;
}

function readForm(data: FormData): Search {
  const text = (name: string) => String(data.get(name) ?? '');
  return {
    talkgroupId: text('talkgroup') === ALL ? null : text('talkgroup'),
    ...{ from: text('from'), to: text('to'), talker: text('talker') },
    isEmergency: data.has('emergencies'),
  };
}
