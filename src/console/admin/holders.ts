// Lists the key holders of one user, accepts and deletes them.
import { withOwnFingerprint } from '../../client/encryption/fingerprint.js';
import { type Rest, storedBy } from '../../client/rest.js';
import { type Attempt, createAttempt } from '../app/attempt.js';
import { wordsOf } from './failure.js';
import { createList, type List, type Row } from './list.js';
import { type Holder, type Page, queryOf } from './rows.js';
import { texts } from './texts.js';

export interface Holders {
  readonly list: List<Holder>;
  /** What the last change said, beside the holders. */
  readonly action: Attempt;
  accept(row: Row<Holder>): Promise<boolean>;
  remove(row: Row<Holder>): Promise<boolean>;
}

export function createHolders(rest: Rest, userId: string): Holders {
  const action = createAttempt(wordsOf);
  const list = createList<Holder>({
    async read({ after, limit }) {
      const query = queryOf({ user_id: userId, limit, after });
      const { holders: listed, next } = await rest.get<Page<'holders', Holder>>(`/keys/holders${query}`);
      return { items: await Promise.all(listed.map(withOwnFingerprint)), next };
    },
    idOf: ({ holder_id }) => holder_id,
    nameOf: ({ name }) => name,
  });

  return {
    ...{ list, action },
    accept: (row) =>
      action.run(async () => {
        // An administrator names no holder of their own, and sends no password.
        const answer = await storedBy(rest.post(`/keys/holders/${row.id}/accept`, {}));
        row.item.value = { ...row.item.peek(), accepted: true };
        return answer === null ? texts.unconfirmed : texts.holderAccepted(row.item.peek().name);
      }),
    remove: (row) =>
      action.run(async () => {
        const answer = await storedBy(rest.remove(`/keys/holders/${row.id}`));
        list.remove(row.id);
        return answer === null ? texts.unconfirmed : texts.holderDeleted(row.item.peek().name);
      }),
  };
}
