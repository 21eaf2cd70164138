// Lists, adds and takes out the members of a talkgroup, for administrators.
import { type ReadonlySignal, type Signal, signal } from '@preact/signals';
import { type Rest, storedBy } from '../../client/rest.js';
import { members as words } from './texts.js';

export type ListedMember = { user_id: string; site: string; user: { username: string } };
export type FoundUser = { id: string; username: string };

export type MemberAdmin = {
  /** null: the first page has not come. */
  readonly members: ReadonlySignal<readonly ListedMember[] | null>;
  readonly hasMore: ReadonlySignal<boolean>;
  /** Users whom a search has found. null: no search was made. */
  readonly found: ReadonlySignal<readonly FoundUser[] | null>;
  /** What became of the last action, for the reader. */
  readonly outcome: ReadonlySignal<{ text: string; isError: boolean } | null>;
  more(): Promise<void>;
  /** Users with a name that begins so. */
  search(start: string): Promise<void>;
  add(user: FoundUser): Promise<void>;
  takeOut(userId: string): Promise<void>;
  revoke(userId: string): Promise<void>;
};

const PAGE = 50;
const FOUND_MAX = 10;

type Page = { members: ListedMember[]; next?: string | null };

/** Asks for the first page at once. */
export function createMemberAdmin(talkgroupId: string, rest: Rest): MemberAdmin {
  const path = `/talkgroups/${encodeURIComponent(talkgroupId)}/members`;
  const members: Signal<readonly ListedMember[] | null> = signal(null);
  const hasMore = signal(false);
  const found: Signal<readonly FoundUser[] | null> = signal(null);
  const outcome: Signal<{ text: string; isError: boolean } | null> = signal(null);
  let next: string | null = null;

  void attempt(() => load(null));
  return {
    members,
    hasMore,
    found,
    outcome,
    more: () => attempt(() => load(next)),
    search: (start) =>
      attempt(async () => {
        const query = new URLSearchParams({ q: start, limit: String(FOUND_MAX) });
        found.value = (await rest.get<{ users: FoundUser[] }>(`/users?${query}`)).users;
      }),
    add: ({ id }) =>
      attempt(async () => {
        await storedBy(rest.put(`${path}/${encodeURIComponent(id)}`));
        await load(null);
      }, words.done),
    takeOut: (userId) =>
      attempt(async () => {
        await storedBy(rest.remove(`${path}/${encodeURIComponent(userId)}`));
        members.value = members.peek()?.filter(({ user_id }) => user_id !== userId) ?? null;
      }, words.done),
    revoke: (userId) =>
      attempt(() => storedBy(rest.post(`/users/${encodeURIComponent(userId)}/revoke`)), words.done),
  };

  async function load(after: string | null): Promise<void> {
    const query = new URLSearchParams({ limit: String(PAGE), ...(after !== null && { after }) });
    const page = await rest.get<Page>(`${path}?${query}`);
    members.value = [...((after !== null && members.peek()) || []), ...page.members];
    next = page.next ?? null;
    hasMore.value = next !== null;
  }

  /** RestError: shown to the reader. */
  async function attempt(act: () => Promise<unknown>, done: string | null = null): Promise<void> {
    outcome.value = null;
    try {
      await act();
      if (done !== null) outcome.value = { text: done, isError: false };
    } catch (error) {
      outcome.value = { text: words.notDone((error as Error).message), isError: true };
    }
  }
}
