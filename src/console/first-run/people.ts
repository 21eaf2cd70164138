// Creates a talkgroup with the user in it, and adds people to it.
import { type ReadonlySignal, type Signal, signal } from '@preact/signals';
import type { Rest } from '../app/rest.js';
import { firstRun as words } from './texts.js';

export type Outcome = { text: string; isError: boolean };

export type People = {
  readonly isBusy: ReadonlySignal<boolean>;
  readonly outcome: ReadonlySignal<Outcome | null>;
  /** Whether the talkgroup has a member beside the user. */
  readonly hasOthers: ReadonlySignal<boolean>;
  createTalkgroup(name: string): Promise<boolean>;
  /** Creates the account, and makes it a member of the talkgroup. */
  add(talkgroupId: string, person: { username: string; password: string }): Promise<boolean>;
  /** Reads whether there are other members. */
  look(talkgroupId: string): Promise<void>;
};

export function createPeople(rest: Rest, userId: string): People {
  const isBusy = signal(false);
  const hasOthers = signal(false);
  const outcome: Signal<Outcome | null> = signal(null);
  const join = (talkgroupId: string, memberId: string) =>
    rest.put(`/talkgroups/${talkgroupId}/members/${memberId}`);
  return {
    ...{ isBusy, outcome, hasOthers },
    createTalkgroup: (name) =>
      run(words.talkgroup.failed, async () => {
        const { talkgroup } = await rest.post<{ talkgroup: { id: string } }>('/talkgroups', { name });
        await join(talkgroup.id, userId);
        return null;
      }),
    add: (talkgroupId, person) =>
      run(words.people.failed, async () => {
        const answer = await rest.post<{ userId: string }>('/auth/register', person);
        await join(talkgroupId, answer.userId);
        hasOthers.value = true;
        return words.people.added(person.username);
      }),
    async look(talkgroupId) {
      const path = `/talkgroups/${talkgroupId}/members?limit=2`;
      // RestError: the step is then open, and adding somebody says what is wrong.
      const answer = await rest.get<{ members: unknown[] }>(path).catch(() => null);
      hasOthers.value = (answer?.members.length ?? 0) > 1;
    },
  };

  async function run(
    failed: (error: string) => string,
    work: () => Promise<string | null>,
  ): Promise<boolean> {
    if (isBusy.peek()) return false;
    isBusy.value = true;
    outcome.value = null;
    try {
      const text = await work();
      if (text !== null) outcome.value = { text, isError: false };
      return true;
    } catch (error) {
      outcome.value = { text: failed((error as Error).message), isError: true }; // RestError
      return false;
    } finally {
      isBusy.value = false;
    }
  }
}
