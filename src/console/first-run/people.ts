// Creates a talkgroup with the user in it, and adds people to it.
import { type ReadonlySignal, signal } from '@preact/signals';
import { type Rest, storedBy } from '../../client/rest.js';
import { type Attempt, createAttempt } from '../app/attempt.js';
import { firstRun as words } from './texts.js';

export type People = Pick<Attempt, 'isBusy' | 'outcome'> & {
  /** Whether the talkgroup has a member beside the user. */
  readonly hasOthers: ReadonlySignal<boolean>;
  createTalkgroup(name: string): Promise<boolean>;
  /** Creates the account, and makes it a member of the talkgroup. */
  add(talkgroupId: string, person: { username: string; password: string }): Promise<boolean>;
  /** Reads whether there are other members. */
  look(talkgroupId: string): Promise<void>;
};

export function createPeople(rest: Rest, userId: string): People {
  const { isBusy, outcome, run } = createAttempt();
  const hasOthers = signal(false);
  const join = (talkgroupId: string, memberId: string) =>
    storedBy(rest.put(`/talkgroups/${talkgroupId}/members/${memberId}`));
  // What exists when the second half of a step fails: the next try repeats that half alone.
  let created: { name: string; id: string } | null = null;
  let registered: { username: string; id: string } | null = null;
  return {
    ...{ isBusy, outcome, hasOthers },
    createTalkgroup: (name) =>
      run(async () => {
        if (created?.name !== name) {
          const { talkgroup } = await rest.post<{ talkgroup: { id: string } }>('/talkgroups', { name });
          created = { name, id: talkgroup.id };
        }
        await join(created.id, userId);
        return null;
      }, failedBy(words.talkgroup.failed)),
    add: (talkgroupId, person) =>
      run(async () => {
        const { username } = person;
        if (registered?.username !== username) {
          const { userId: id } = await rest.post<{ userId: string }>('/auth/register', person);
          registered = { username, id };
        }
        await join(talkgroupId, registered.id);
        registered = null;
        hasOthers.value = true;
        return words.people.added(username);
      }, failedBy(words.people.failed)),
    async look(talkgroupId) {
      const path = `/talkgroups/${talkgroupId}/members?limit=2`;
      // RestError: the step is then open, and adding a person says what is wrong.
      const answer = await rest.get<{ members: unknown[] }>(path).catch(() => null);
      hasOthers.value = (answer?.members.length ?? 0) > 1;
    },
  };
}

/** RestError says what is wrong. */
const failedBy = (say: (error: string) => string) => (error: unknown) => say((error as Error).message);
