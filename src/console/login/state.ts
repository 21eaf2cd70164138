// Follows one login, and says in words why it failed.
import { type ReadonlySignal, type Signal, signal } from '@preact/signals';
import { RestError } from '../app/rest.js';
import { texts } from '../app/texts.js';

export type Login = {
  readonly isUnderWay: ReadonlySignal<boolean>;
  /** Why the last attempt failed. */
  readonly failure: ReadonlySignal<string | null>;
  submit(username: string, password: string): Promise<void>;
};

/** `logIn` rejects with RestError. */
export function createLogin(logIn: (username: string, password: string) => Promise<void>): Login {
  const isUnderWay = signal(false);
  const failure: Signal<string | null> = signal(null);
  return {
    isUnderWay,
    failure,
    async submit(username, password) {
      if (isUnderWay.peek()) return;
      isUnderWay.value = true;
      failure.value = null;
      try {
        await logIn(username, password);
      } catch (error) {
        failure.value = failureText(error);
      } finally {
        isUnderWay.value = false;
      }
    },
  };
}

function failureText(error: unknown): string {
  const { login } = texts;
  if (!(error instanceof RestError)) throw error;
  if (error.status === 0) return login.noAnswer;
  if (error.message === 'device disabled') return login.disabled;
  if (error.status === 401) return login.wrong;
  if (error.retryAfterS !== null) return login.tooMany(error.retryAfterS);
  return login.failed(error.message);
}
