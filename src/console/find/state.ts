// Keeps what the user looks for, and the talkgroups and users that were found.
import { computed, type ReadonlySignal, type Signal, signal } from '@preact/signals';
import type { Clock } from '../../client/clock.js';
import type { Rest } from '../../client/rest.js';
import { bestOf } from './rank.js';

export type Found = { kind: 'talkgroup' | 'user'; id: string; name: string };

export type Find = {
  readonly text: ReadonlySignal<string>;
  readonly found: ReadonlySignal<readonly Found[]>;
  /** The place in `found` of what Enter opens. */
  readonly active: ReadonlySignal<number>;
  /** Of the user. An empty text finds nothing. */
  look(text: string): void;
  /** To the next or the previous one, round. */
  move(step: 1 | -1): void;
};

export const FOUND_MAX = 8;
/** For a dispatcher: users come later, and must not push talkgroups away from below the pointer. */
const USERS_MAX = 3;
/** Without a further letter for this time, the service is asked for users. */
const PAUSE_MS = 150;

type FindOwner = {
  /** Sorted by name. */
  talkgroups: ReadonlySignal<readonly { id: string; name: string }[]>;
  /** null: the account may not list users. */
  rest: ReadonlySignal<Pick<Rest, 'get'> | null>;
  clock: Clock;
};

export function createFind({ talkgroups, rest, clock }: FindOwner): Find {
  const text = signal('');
  const active = signal(0);
  const users: Signal<readonly Found[]> = signal([]);
  const found = computed(() => {
    const max = rest.value === null ? FOUND_MAX : FOUND_MAX - USERS_MAX;
    const best = bestOf(talkgroups.value, { nameOf: ({ name }) => name, text: text.value, max });
    return [...best.map(({ id, name }): Found => ({ kind: 'talkgroup', id, name })), ...users.value];
  });
  let cancel = () => {};

  return {
    ...{ text, found, active },
    look(next) {
      cancel();
      text.value = next;
      active.value = 0;
      users.value = [];
      if (rest.peek() !== null && next.trim() !== '')
        cancel = clock.after(PAUSE_MS, () => void ask(next.trim()));
    },
    move(step) {
      const count = found.peek().length;
      if (count > 0) active.value = (active.peek() + step + count) % count;
    },
  };

  async function ask(start: string): Promise<void> {
    const query = new URLSearchParams({ limit: String(USERS_MAX), q: start });
    // RestError: without the users the talkgroups are still there.
    const page = await rest
      .peek()
      ?.get<{ users: { id: string; username: string }[] }>(`/users?${query}`)
      .catch(() => null);
    if (page == null || text.peek().trim() !== start) return;
    users.value = page.users.map(({ id, username }): Found => ({ kind: 'user', id, name: username }));
  }
}
