// Changes the password of the account, and says in words why it was not changed.
import { type ReadonlySignal, type Signal, signal } from '@preact/signals';
import { type Rest, RestError } from '../app/rest.js';
import { settings as words } from './texts.js';

export type PasswordChange = {
  readonly isBusy: ReadonlySignal<boolean>;
  readonly outcome: ReadonlySignal<{ text: string; isError: boolean } | null>;
  /** Resolves with true when the password is changed. A second press while the first one runs sends nothing. */
  submit(passwords: { oldPassword: string; newPassword: string }): Promise<boolean>;
};

export function createPasswordChange(rest: Pick<Rest, 'post'>): PasswordChange {
  const isBusy = signal(false);
  const outcome: Signal<{ text: string; isError: boolean } | null> = signal(null);
  return {
    isBusy,
    outcome,
    async submit(passwords) {
      if (isBusy.peek()) return false;
      isBusy.value = true;
      outcome.value = null;
      try {
        await rest.post('/auth/changepassword', passwords);
        outcome.value = { text: words.passwordChanged, isError: false };
        return true;
      } catch (error) {
        outcome.value = { text: failureText(error), isError: true };
        return false;
      } finally {
        isBusy.value = false;
      }
    },
  };
}

function failureText(error: unknown): string {
  if (!(error instanceof RestError)) throw error;
  if (error.status === 401) return words.wrongPassword;
  if (error.retryAfterS !== null) return words.tooMany(error.retryAfterS);
  return words.notChanged(error.message);
}
