// The table of the recordings that were found, and what there is in place of it.

import type { Recording } from '../../client/recordings/types.js';
import type { List } from '../admin/list.js';
import type { Desk } from '../app/desk.js';
import type { DeskRecordings } from './open.js';
import { RecordingRowView } from './row.js';
import type { RecordingsTab, Shown } from './state.js';
import { recordings as words } from './texts.js';

type TableProps = { desk: Desk; tab: RecordingsTab; now: DeskRecordings };

export function RecordingsTable({ desk, tab, now }: TableProps) {
  const shown = tab.shown.value;
  const list = tab.list.value;
  if (shown === null || list === null) return <p class="recordings-tools" />;
  const name = nameOf(shown, desk);
  const rows = list.rows.value;
  const failure = list.failure.value;
  const hasTalkgroups = shown.kind === 'missed' || shown.search.talkgroupId === null;
  return (
    <>
      <div class="recordings-tools">
        <h3 class="name line">{name}</h3>
        <Said tab={tab} />
        {shown.kind === 'missed' && (
          <button
            type="button"
            onClick={() => {
              now.areMissedShown.value = false;
              document.getElementById('recordings-search')?.focus(); // this button goes
            }}
          >
            {words.backToSearch}
          </button>
        )}
        <p class="quiet" role="status">
          {failure === null && countOf(list)}
        </p>
      </div>
      <div class="recordings-scroll">
        {rows.length > 0 && (
          <table class="recordings-table" aria-label={name}>
            <Head hasTalkgroups={hasTalkgroups} />
            <tbody>
              {rows.map((row) => (
                <RecordingRowView key={row.id} {...{ row, desk, tab, now, list, hasTalkgroups }} />
              ))}
            </tbody>
          </table>
        )}
        {failure !== null && <Failure list={list} text={failure} />}
        {failure === null && rows.length === 0 && list.isWhole.value && !list.isReading.value && (
          <p class="quiet recordings-empty">{emptyText(shown, desk)}</p>
        )}
        {failure === null && rows.length > 0 && !list.isWhole.value && (
          <button
            type="button"
            class="recordings-more"
            aria-disabled={list.isReading.value}
            onClick={() => void list.more()}
          >
            {words.more}
          </button>
        )}
      </div>
    </>
  );
}

/** What the last download, deletion or replay said. The element stays, so that screen readers hear a change. */
function Said({ tab }: { tab: RecordingsTab }) {
  const outcome = tab.outcome.value;
  return (
    <p class={outcome?.isError ? 'recordings-said error' : 'recordings-said'} role="status">
      {outcome?.text ?? ''}
    </p>
  );
}

function Failure({ list, text }: { list: List<Recording>; text: string }) {
  return (
    <div class="recordings-empty" role="alert">
      <p>{text}</p>
      <button
        type="button"
        aria-disabled={list.isReading.value}
        onClick={() => void (list.rows.peek().length > 0 ? list.more() : list.restart())}
      >
        {words.tryAgain}
      </button>
    </div>
  );
}

function Head({ hasTalkgroups }: { hasTalkgroups: boolean }) {
  const { time, talker, talkgroup, length, lock, missing, actions } = words.columns;
  return (
    <thead>
      <tr>
        <th scope="col" class="recordings-time">
          {time}
        </th>
        <th scope="col">{talker}</th>
        {hasTalkgroups && <th scope="col">{talkgroup}</th>}
        <th scope="col" class="recordings-length">
          {length}
        </th>
        <th scope="col" class="recordings-lock">
          {lock}
        </th>
        <th scope="col">{missing}</th>
        <th scope="col" class="recordings-actions">
          <span class="visually-hidden">{actions}</span>
        </th>
      </tr>
    </thead>
  );
}

function countOf({ rows, isWhole, isReading }: List<Recording>): string {
  if (isReading.value) return words.reading;
  const count = words.counted(rows.value.length);
  return isWhole.value ? count : words.firstOf(count);
}

function nameOf(shown: Shown, { talkgroups }: Desk): string {
  if (shown.kind === 'missed') return words.missedCalls;
  const { talkgroupId } = shown.search;
  if (talkgroupId === null) return words.ofAll;
  return words.of(talkgroups.tile(talkgroupId)?.view.value.name ?? words.talkgroup);
}

function emptyText(shown: Shown, { talkgroups }: Desk): string {
  if (shown.kind === 'missed') return words.noMissed;
  const { talkgroupId, from, to, talker, isEmergency } = shown.search;
  if (from !== '' || to !== '' || talker !== '' || isEmergency) return words.noneFound;
  const view = talkgroups.tile(talkgroupId ?? '')?.view.value;
  return view?.recordingDays === 0 ? words.notRecorded(view.name) : words.none;
}
