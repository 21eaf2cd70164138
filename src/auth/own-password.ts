// Proves that a caller with a token knows the password of the account, for routes where a stolen token must not suffice.
import { isPassword } from '../credentials/passwords.js';
import type { Database } from '../db/client.js';
import type { Deadline } from '../db/deadline.js';
import { AppError } from '../errors.js';
import type { UserId } from '../ids.js';
import { afterHashing, inTime } from './hash-deadlines.js';
import type { Limits } from './limits.js';
import type { Passwords } from './passwords.js';
import { passwordHashOf } from './store.js';

export interface OwnPasswordOptions {
  readonly database: Database;
  readonly passwords: Passwords;
  readonly limits: Limits;
}

interface Proof {
  readonly user: UserId;
  /** A key of `addressKey` (http/address.ts). */
  readonly address: string;
  readonly password: string;
  readonly deadline: Deadline;
}

/**
 * Resolves with the deadline of the write that follows. Throws `invalid_credentials`, `too_many_wrong_passwords` by the
 * limit of a password change, and `login_queue_full`.
 */
export type ProveOwner = (proof: Proof) => Promise<Deadline>;

export const createOwnPassword =
  ({ database, passwords, limits }: OwnPasswordOptions): ProveOwner =>
  async ({ user, address, password, deadline }) => {
    const guess = limits.oldPassword(user);
    guess.admit();
    const isRight = await passwords.withPlace(address, async () => {
      const hash = await passwordHashOf(database, deadline, user);
      const admit = () => {
        inTime(deadline)();
        guess.admit();
      };
      return passwords.verify(password, isPassword(password) ? hash : null, { ...guess, admit });
    });
    if (!isRight) throw new AppError('invalid_credentials');
    return afterHashing(deadline);
  };
