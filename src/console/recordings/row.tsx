// Shows one recording as a row, with what can be done with it.
import type { Recording } from '../../client/recordings/types.js';
import type { List } from '../admin/list.js';
import { durationText } from '../app/ages.js';
import type { Desk } from '../app/desk.js';
import { ask } from '../dialogs/state.js';
import { Icon } from '../icons/icon.js';
import { Menu } from '../menu/menu.js';
import { replay as replayWords } from '../replay/texts.js';
import { fileNameOf } from './file-name.js';
import { exactTime } from './names.js';
import type { DeskRecordings } from './open.js';
import { Shape } from './shapes.js';
import type { RecordingRow, RecordingsTab } from './state.js';
import { recordings as words } from './texts.js';
import { wordsOf } from './words.js';

type RowProps = {
  row: RecordingRow;
  desk: Desk;
  tab: RecordingsTab;
  now: DeskRecordings;
  list: List<Recording>;
  hasTalkgroups: boolean;
};

export function RecordingRowView(props: RowProps) {
  const { row, desk, now, hasTalkgroups } = props;
  const recording = row.item.value;
  const { username, talkgroup_id, talkgroup_name, emergency, started_at, erased_at } = recording;
  const state = stateOf(recording, now);
  return (
    <tr id={`recording-${row.id}`} class={state === 'idle' ? '' : 'open'}>
      <td class="plain">
        <time dateTime={started_at} title={exactTime(recording)}>
          {now.names.time(recording)}
        </time>
      </td>
      <td class="plain">
        {emergency && (
          <span class="recordings-emergency" title={words.emergency}>
            <Icon name="triangle-alert" />
            <span class="visually-hidden">{`${words.emergency} `}</span>
          </span>
        )}
        {erased_at === null ? <bdi>{username}</bdi> : <span class="quiet">{words.erased}</span>}
      </td>
      {hasTalkgroups && (
        <td class="plain">
          <bdi>{desk.talkgroups.tile(talkgroup_id)?.view.value.name ?? talkgroup_name}</bdi>
        </td>
      )}
      <td class="plain">{lengthText(recording)}</td>
      <LockCell recording={recording} now={now} />
      <MissingCell recording={recording} />
      <td class="recordings-actions">{erased_at === null && <Actions {...props} state={state} />}</td>
    </tr>
  );
}

type State = 'idle' | 'loading' | 'playing' | 'paused';

function stateOf({ recording_id: id }: Recording, { playlist, isPaused }: DeskRecordings): State {
  if (playlist.current.value?.recording_id === id) return isPaused.value ? 'paused' : 'playing';
  return playlist.loading.value?.recording_id === id ? 'loading' : 'idle';
}

function lengthText({ duration_ms, code, piece }: Recording): string {
  const part = piece > 0 || code === 'continues' ? `, ${words.part(piece + 1)}` : '';
  if (duration_ms !== null) return `${durationText(duration_ms)}${part}`;
  return `${code === null ? words.noEndYet : words.noEnd}${part}`;
}

function LockCell({ recording, now }: { recording: Recording; now: DeskRecordings }) {
  if (recording.crypto === undefined) return <td class="plain quiet">{words.clear}</td>;
  const reason = now.closed(recording);
  return (
    <td class="plain" title={reason ?? words.encrypted}>
      <Icon name="lock" /> {recording.erased_at === null && reason !== null ? words.noKey : words.encrypted}
    </td>
  );
}

/** The reason that concerns the most frames. */
function MissingCell({ recording: { missing, missing_because } }: { recording: Recording }) {
  if (missing === null || missing === 0)
    return <td class="plain quiet">{missing === null ? words.unknownMissing : words.nothingMissing}</td>;
  const reasons = Object.entries(missing_because).sort(([, one], [, other]) => other - one);
  const [name = 'unknown'] = reasons[0] ?? [];
  const reason = words.because[name as keyof typeof words.because] ?? words.because.unknown;
  const text = `${words.missing(missing)}, ${reason}`;
  return (
    <td class="plain" title={text}>
      {text}
    </td>
  );
}

function Actions({ row, desk, tab, now, list, state }: RowProps & { state: State }) {
  const recording = row.item.value;
  const call = now.names.call(recording);
  const reason = now.closed(recording);
  return (
    <span class="recordings-buttons">
      <PlayButton {...{ recording, now, state, call, reason }} said={(text) => say(tab, call, text)} />
      {state !== 'idle' ? (
        <button
          key="stop"
          type="button"
          class="recordings-icon"
          aria-label={replayWords.stop}
          title={replayWords.stop}
          onClick={() => {
            document.querySelector<HTMLElement>(`#recording-${row.id} .recordings-play`)?.focus(); // this button goes
            now.playlist.stop();
          }}
        >
          <Shape name="stop" />
        </button>
      ) : (
        <button
          key="download"
          type="button"
          class="recordings-icon"
          aria-label={words.download(call)}
          title={reason ?? words.download(call)}
          aria-disabled={reason !== null || row.action.isBusy.value}
          onClick={() => {
            if (reason === null) void download({ row, tab, now, call });
          }}
        >
          <Shape name="download" />
        </button>
      )}
      {desk.account.role === 'admin' && (
        <Menu
          name={words.actionsFor(call)}
          class="recordings-icon"
          items={[
            {
              text: words.eraseShort,
              name: words.erase(call),
              onPress: () => void erase({ row, tab, now, list, call }),
            },
          ]}
        />
      )}
    </span>
  );
}

type PlayProps = {
  recording: Recording;
  now: DeskRecordings;
  state: State;
  call: string;
  /** Why it cannot be played. null: it can. */
  reason: string | null;
  said(text: string): void;
};

/** It stays the same button in each state, and so keeps the focus. */
function PlayButton({ recording, now, state, call, reason, said }: PlayProps) {
  const { name, shape } = {
    idle: { name: words.play(call), shape: 'play' },
    loading: { name: replayWords.stop, shape: 'stop' },
    playing: { name: replayWords.pause, shape: 'pause' },
    paused: { name: replayWords.goOn, shape: 'play' },
  }[state] as { name: string; shape: 'play' | 'pause' | 'stop' };
  const isOff = state === 'idle' && reason !== null;
  return (
    <button
      type="button"
      class="recordings-icon recordings-play"
      aria-label={name}
      title={isOff ? reason : name}
      aria-disabled={isOff}
      onClick={async () => {
        if (isOff) return said(reason); // on a phone there are no tooltips
        if (state === 'loading') return now.playlist.stop();
        if (state !== 'idle') return now.pause(state === 'playing');
        const failed = await now.play(recording);
        if (failed !== null) said(failed);
      }}
    >
      <Shape name={shape} />
    </button>
  );
}

const say = ({ outcome }: RecordingsTab, call: string, text: string, isError = true) => {
  outcome.value = { text: words.said(call, text), isError };
};

type ActionParts = Pick<RowProps, 'row' | 'tab' | 'now'> & { call: string };

/** The code that writes files comes with the first one. */
async function download({ row, tab, now, call }: ActionParts): Promise<void> {
  const recording = row.item.peek();
  tab.outcome.value = { text: words.loading(call), isError: false };
  await row.action.run(async () => {
    const opened = await now.load(recording);
    const speech = now.speech(opened);
    if (typeof speech === 'string') throw new Error(speech);
    const { oggOf, saveFile } = await import('./ogg.js');
    saveFile(fileNameOf(recording), await oggOf(opened));
    return null;
  }, inWords);
  tab.outcome.value = null;
  const outcome = row.action.outcome.peek();
  if (outcome !== null) say(tab, call, outcome.text);
}

const inWords = (error: unknown) => (isPlain(error) ? error.message : wordsOf(error));
const isPlain = (error: unknown): error is Error => error instanceof Error && error.name === 'Error';

/** The row stays, and says that it is erased. Its buttons go, so the focus goes on. */
async function erase({ row, tab, now, list, call }: ActionParts & Pick<RowProps, 'list'>): Promise<void> {
  if (!(await ask(words.reallyErase(call)))) return;
  const isDone = await row.action.run(async () => {
    await now.erase(row.id);
    return null;
  });
  const outcome = row.action.outcome.peek();
  if (!isDone) return outcome === null ? undefined : say(tab, call, outcome.text);
  if (now.playlist.current.peek()?.recording_id === row.id) now.playlist.stop();
  const { username: _, ...rest } = row.item.peek();
  row.item.value = { ...rest, username: null, user_id: null, erased_at: new Date().toISOString() };
  tab.outcome.value = { text: words.wasErased(call), isError: false };
  focusNext(row, list);
}

function focusNext(row: RecordingRow, { rows }: List<Recording>): void {
  const all = rows.peek();
  const at = all.findIndex(({ id }) => id === row.id);
  const near = [...all.slice(at + 1), ...all.slice(0, at).reverse()];
  const next = near.find(({ item }) => item.peek().erased_at === null);
  requestAnimationFrame(() => {
    const button = next && document.querySelector<HTMLElement>(`#recording-${next.id} .recordings-play`);
    (button ?? document.getElementById('recordings-search'))?.focus();
  });
}
