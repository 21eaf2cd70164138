// Opens the recordings of the page: the client, the playback, the missed calls, and what the console says of them.
import { computed, type ReadonlySignal, type Signal, signal } from '@preact/signals';
import { openHolderDatabase } from '../../client/encryption/holder-database.js';
import { createRecordings, type Recordings } from '../../client/recordings/recordings.js';
import type { OpenedRecording, Recording } from '../../client/recordings/types.js';
import { show } from '../app/places.js';
import type { Account } from '../app/session.js';
import type { Keys } from '../keys/state.js';
import type { LaterReplay } from '../replay/later.js';
import { replay as replayWords } from '../replay/texts.js';
import type { SettingsState } from '../settings/state.js';
import type { Notice } from '../shell/dock-line.js';
import type { Talkgroups } from '../talkgroups/state.js';
import type { ConnectionView } from '../worker/messages.js';
import { closedBecause, speechOf } from './closed.js';
import { followHearing } from './hearing.js';
import { recordingKeys } from './keys.js';
import { createMissed, type Missed } from './missed.js';
import { createNames, type Names } from './names.js';
import { oldestFirst } from './oldest-first.js';
import { createPlaylist, type Playlist } from './playlist.js';
import { recordings as words } from './texts.js';
import { wordsOf } from './words.js';

export type RecordingsParts = {
  account: Account;
  connection: ReadonlySignal<ConnectionView>;
  talkgroups: Talkgroups;
  /** `on`: the user hears. */
  soundState: ReadonlySignal<unknown>;
  settings: SettingsState;
  calls: LaterReplay;
  keys: Pick<Keys, 'phase'>;
};

export type DeskRecordings = {
  readonly client: Recordings;
  readonly names: Names;
  /** Erases the speech and the name of the talker. Rejects with RestError. */
  erase(id: string): Promise<unknown>;
  /** Loads one in its turn. Rejects with RestError. */
  load(recording: Recording, signal?: AbortSignal): Promise<OpenedRecording>;
  /** Its frames, or in words why there are none. */
  speech(opened: OpenedRecording): ReturnType<typeof speechOf>;
  /** In words why this browser cannot play it. null: it may try. */
  closed(recording: Recording): string | null;
  readonly playlist: Playlist;
  /** Of the recording that is played. */
  readonly isPaused: ReadonlySignal<boolean>;
  pause(isPaused: boolean): void;
  /** Plays this one alone. Resolves with the reason in words when it was not played, else with null. */
  play(recording: Recording): Promise<string | null>;
  readonly missed: Missed;
  /** Those of others, the oldest first. */
  missedCalls(): AsyncGenerator<Recording, void, undefined>;
  /** The tab shows the missed calls, in place of a search. */
  readonly areMissedShown: Signal<boolean>;
  /** What the dock says. null: nothing. */
  readonly notice: ReadonlySignal<Notice | null>;
};

/** A connection that is lost is lost by all at once, and a page is opened by its user. */
const ASK_WITHIN_MS = { lost: 30_000, opened: 3_000 };
const PAGE_ROWS = 100;
/** As that of replays: the buttons stay, and keep the focus. */
const LINE = 'recordings';

export function openRecordings({
  account,
  connection,
  talkgroups,
  soundState,
  settings,
  calls,
  keys,
}: RecordingsParts): DeskRecordings {
  const isHolder = () => keys.phase.value === 'accepted';
  const names = createNames(() => settings.settings.peek().is24Hour);
  const client = createRecordings({
    rest: account.rest,
    keys: recordingKeys({
      ...{ userId: account.userId, rest: account.rest, isHolder },
      openDatabase: () => openHolderDatabase(),
      loadCryptography: async () => (await import('./cryptography.js')).recordingCryptography,
    }),
  });
  const isAdmin = account.role === 'admin';
  const closed = (recording: Recording) => closedBecause(recording, { isHolder: isHolder(), isAdmin });
  /** null: the code did not come. */
  const replay = computed(() => calls.replay.value);
  let turn: Promise<unknown> = Promise.resolve();
  const areMissedShown = signal(false);
  const isPlayingMissed = signal(false);
  /** Of missed calls that could not be played. */
  const leftOut: Signal<{ count: number; reason: string } | null> = signal(null);
  const missed = createMissed({
    ask: ({ since, until }, aborted) =>
      client.missed(since, {
        ...{ until, signal: aborted },
        withinMs: connection.peek().close === null ? ASK_WITHIN_MS.opened : ASK_WITHIN_MS.lost,
      }),
    shelf: localStorage,
    userId: account.userId,
  });
  const playlist: Playlist = createPlaylist({
    async load(recording, aborted) {
      const reason = closed(recording);
      if (reason !== null) return reason;
      return load(recording, aborted).then(speechOf, wordsOf);
    },
    async playRecording(recording, frames) {
      const player = replay.peek() ?? (await calls.open());
      if (player === null) return 'not_played';
      const { talkgroup_id: talkgroupId, talkgroup_name: talkgroup, username } = recording;
      const name = talkgroups.tile(talkgroupId)?.view.peek().name ?? talkgroup;
      const time = names.time(recording);
      return player.playRecording(
        { talkgroupId, talkgroup: name, username: username ?? words.erased, time },
        frames,
      );
    },
    stopReplay: () => replay.peek()?.stop(),
    noSound: words.closed.sound,
    inWords: wordsOf,
  });
  addEventListener('keydown', ({ key, defaultPrevented }) => {
    if (key === 'Escape' && !defaultPrevented && playlist.loading.peek() !== null) playlist.stop();
  });
  followHearing({ connection, soundState, missed });
  return {
    ...{ client, names, closed, load, speech: speechOf, playlist, missed, missedCalls, areMissedShown },
    erase: (id) => account.rest.remove(`/recordings/${id}`),
    isPaused: computed(() => replay.value?.isPaused.value ?? false),
    pause: (isPaused) => replay.peek()?.pause(isPaused),
    async play(recording) {
      const { at, reason } = await playlist.play([recording]);
      return at === null || reason === words.closed.sound ? reason : null;
    },
    notice: computed(noticeNow),
  };

  /** The service sends few at once, and counts who loads many. */
  function load(recording: Recording, aborted?: AbortSignal): Promise<OpenedRecording> {
    const mine = turn.then(() => {
      aborted?.throwIfAborted();
      return client.open(recording, aborted && { signal: aborted });
    });
    turn = mine.catch(() => {});
    return mine;
  }

  async function* missedCalls(): AsyncGenerator<Recording, void, undefined> {
    for (const parts of missed.parts()) {
      const all = oldestFirst(parts, ({ talkgroupId, since, until }, after) =>
        client.list(talkgroupId, {
          ...{ since, until, order: 'oldest', limit: PAGE_ROWS },
          ...(after !== null && { after }),
        }),
      );
      for await (const recording of all)
        if (recording.erased_at === null && recording.user_id !== account.userId) yield recording;
    }
  }

  async function playMissed(): Promise<void> {
    isPlayingMissed.value = true;
    const { at, leftOut: count, reason } = await playlist.play(missedCalls());
    isPlayingMissed.value = false;
    if (at !== null) missed.goOnFrom(Date.parse(at.started_at));
    else if (reason !== null) leftOut.value = { count, reason };
    else missed.forget();
  }

  function forget(): void {
    leftOut.value = null;
    areMissedShown.value = false;
    missed.forget();
  }

  function noticeNow(): Notice | null {
    const loading = playlist.loading.value;
    if (loading !== null) {
      const button = { text: replayWords.stop, press: playlist.stop };
      return { text: words.loading(names.call(loading)), isError: false, key: LINE, button };
    }
    const counts = missed.counts.value;
    if (counts === null || isPlayingMissed.value) return null;
    const { calls: count, talkgroups: groups, emergencies, isMore } = counts;
    const rest = [
      { text: words.missed.show, name: words.missed.showName, press: showMissed },
      { text: words.missed.forget, name: words.missed.forgetName, press: forget },
    ];
    if (leftOut.value !== null) {
      const [first = null, ...more] = rest;
      return { text: words.missed.leftOut(leftOut.value), isError: false, button: first, more };
    }
    return {
      text: words.missed.sentence(count, groups, emergencies, isMore),
      isError: false,
      button: { text: words.missed.play, press: () => void playMissed() },
      more: rest,
    };
  }

  function showMissed(): void {
    areMissedShown.value = true;
    show('recordings');
  }
}
