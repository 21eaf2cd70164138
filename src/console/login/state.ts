// Follows one login, says in words why it failed, and repeats it while there is no network.
import { type ReadonlySignal, type Signal, signal } from '@preact/signals';
import type { Clock } from '../../client/clock.js';
import { RestError } from '../../client/rest.js';
import { firstTexts as texts } from '../app/first-texts.js';

const { login: words } = texts;

/** Without a network the login is tried again after this time. */
export const RETRY_S = 5;

export type Login = {
  readonly isUnderWay: ReadonlySignal<boolean>;
  /** Why the last attempt failed. */
  readonly failure: ReadonlySignal<string | null>;
  submit(username: string, password: string): Promise<void>;
  /** The user changes what was entered: it is not tried again. */
  cancel(): void;
};

/** `logIn` rejects with RestError. */
export function createLogin(
  logIn: (username: string, password: string) => Promise<void>,
  clock: Clock,
): Login {
  const isUnderWay = signal(false);
  const failure: Signal<string | null> = signal(null);
  let stop = () => {};
  let isCounting = false;
  /** Counts changes of what was entered: an attempt under way is for what was there before. */
  let wanted = 0;
  return {
    isUnderWay,
    failure,
    async submit(username, password) {
      if (isUnderWay.peek()) return;
      stop();
      failure.value = null;
      await attempt(username, password);
    },
    cancel() {
      wanted += 1;
      if (!isCounting) return;
      stop();
      isCounting = false;
      failure.value = null;
    },
  };

  async function attempt(username: string, password: string): Promise<void> {
    isUnderWay.value = true;
    isCounting = false;
    const before = wanted;
    try {
      await logIn(username, password);
    } catch (error) {
      if (error instanceof RestError && error.status === 0 && wanted === before)
        countDown(RETRY_S, () => attempt(username, password));
      else failure.value = failureText(error);
    } finally {
      isUnderWay.value = false;
    }
  }

  function countDown(s: number, next: () => void): void {
    if (s === 0) {
      failure.value = words.offlineNow;
      return next();
    }
    isCounting = true;
    failure.value = words.offline(s);
    stop = clock.after(1_000, () => countDown(s - 1, next));
  }
}

function failureText(error: unknown): string {
  if (!(error instanceof RestError)) throw error;
  if (error.code === 'device_disabled') return words.disabled;
  if (error.status === 401) return words.wrong;
  if (error.retryAfterS !== null) return words.tooMany(error.retryAfterS);
  return words.failed(error.message);
}
