// Changes the password of the account, and says in words why it was not changed.
import { type Rest, RestError } from '../../client/rest.js';
import { type Attempt, createAttempt } from '../app/attempt.js';
import { settings as words } from './texts.js';

export type PasswordChange = Pick<Attempt, 'isBusy' | 'outcome'> & {
  /** Resolves with true when the password is changed. */
  submit(passwords: { oldPassword: string; newPassword: string }): Promise<boolean>;
};

export function createPasswordChange(rest: Pick<Rest, 'post'>): PasswordChange {
  const { isBusy, outcome, run } = createAttempt(failureText);
  return {
    ...{ isBusy, outcome },
    submit: (passwords) =>
      run(async () => {
        await rest.post('/auth/changepassword', passwords);
        return words.passwordChanged;
      }),
  };
}

function failureText(error: unknown): string {
  if (!(error instanceof RestError)) throw error;
  if (error.status === 401) return words.wrongPassword;
  if (error.retryAfterS !== null) return words.tooMany(error.retryAfterS);
  return words.notChanged(error.message);
}
