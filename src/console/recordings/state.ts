// The state of the tab: what is searched for, the list, and what became of the last download or deletion.
import { effect, type ReadonlySignal, type Signal, signal } from '@preact/signals';
import type { Recordings } from '../../client/recordings/recordings.js';
import type { Recording, RecordingQuery } from '../../client/recordings/types.js';
import { createList, type List, type ListSource, type Row } from '../admin/list.js';
import type { Outcome } from '../app/attempt.js';
import { wordsOf } from './words.js';

/** As the form has it. Times are local, as an input of the type `datetime-local` writes them. */
export type Search = {
  /** null: all talkgroups. */
  talkgroupId: string | null;
  from: string;
  to: string;
  /** Empty: all. */
  talker: string;
  isEmergency: boolean;
};

/** What the table shows. */
export type Shown = { kind: 'search'; search: Search } | { kind: 'missed' };

export type RecordingsTab = {
  /** null: nothing was searched for. */
  readonly shown: ReadonlySignal<Shown | null>;
  readonly list: ReadonlySignal<List<Recording> | null>;
  /** Of the last action. null: nothing to say. */
  readonly outcome: Signal<Outcome | null>;
  /** Searches anew. Returns false when the times are in the wrong order. */
  search(search: Search): boolean;
  /** Shows the missed calls, and what was searched for when `areMissedShown` is over. */
  follow(): () => void;
};

export type RecordingRow = Row<Recording>;

/** See DeskRecordings. */
export type TabParts = {
  client: Pick<Recordings, 'list'>;
  missedCalls(): AsyncGenerator<Recording, void, undefined>;
  areMissedShown: Signal<boolean>;
};

export function createTab({ client, missedCalls, areMissedShown }: TabParts): RecordingsTab {
  const shown: Signal<Shown | null> = signal(null);
  const list: Signal<List<Recording> | null> = signal(null);
  const outcome: Signal<Outcome | null> = signal(null);
  let last: Search | null = null;

  return {
    ...{ shown, list, outcome },
    search,
    follow: () =>
      effect(() => {
        if (areMissedShown.value) showMissed();
        else if (shown.peek()?.kind === 'missed') back();
      }),
  };

  function search(wanted: Search): boolean {
    const query = queryOf(wanted);
    if (query === null) return false;
    last = wanted;
    present({ kind: 'search', search: wanted }, async ({ after, limit }) => {
      const page = { ...query, limit, ...(after !== null && { after }) };
      const { recordings: items, next } = await client.list(wanted.talkgroupId, page);
      return { items, next };
    });
    areMissedShown.value = false;
    return true;
  }

  function showMissed(): void {
    let calls = missedCalls();
    present({ kind: 'missed' }, async ({ after, limit }) => {
      if (after === null) calls = missedCalls();
      const items: Recording[] = [];
      while (items.length < limit) {
        const { value, done } = await calls.next();
        if (done) return { items, next: null };
        items.push(value);
      }
      return { items, next: items.at(-1)?.recording_id ?? null };
    });
  }

  function back(): void {
    if (last !== null) search(last);
    else {
      shown.value = null;
      list.value = null;
    }
  }

  function present(next: Shown, read: ListSource<Recording>['read']): void {
    outcome.value = null;
    shown.value = next;
    list.value = createList({ read, idOf: ({ recording_id }) => recording_id, inWords: wordsOf });
    list.value.open();
  }
}

/** null: the times are in the wrong order. */
export function queryOf({ from, to, talker, isEmergency }: Search): RecordingQuery | null {
  const [since, until] = [readLocal(from), readLocal(to)];
  if (since !== null && until !== null && since >= until) return null;
  return {
    ...(since !== null && { since }),
    ...(until !== null && { until }),
    ...(talker.trim() !== '' && { talker: talker.trim() }),
    ...(isEmergency && { emergency: true }),
  };
}

/** Unix time (ms). null: the field is empty. */
function readLocal(text: string): number | null {
  const ms = text === '' ? Number.NaN : new Date(text).getTime();
  return Number.isFinite(ms) && ms >= 0 ? ms : null;
}
