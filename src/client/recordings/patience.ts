// Asks the service again when it is busy, as docs/rest-api.md demands ("When to try again").
import type { Clock } from '../clock.js';
import { RestError } from '../rest.js';

/** Without `Retry-After`, doubled with each attempt up to the second (ms). */
const AGAIN_MS = 1_000;
const AGAIN_MS_MAX = 60_000;

export type Patience = {
  clock: Clock;
  /** In [0, 1). */
  random: () => number;
  /** Ends the waiting. The promise then rejects with its reason. */
  signal: AbortSignal | undefined;
};

/**
 * Asks at most `attempts` times, until there is an answer. Waits as long as `Retry-After` says and a random part of the same
 * length, because other clients were told the same. Rejects with the last RestError.
 */
export async function askPatiently<Answer>(
  ask: () => Promise<Answer>,
  { attempts, ...patience }: Patience & { attempts: number },
): Promise<Answer> {
  let againMs = AGAIN_MS;
  for (let left = attempts - 1; ; left -= 1) {
    patience.signal?.throwIfAborted();
    try {
      return await ask();
    } catch (error) {
      if (left === 0 || !(error instanceof RestError) || !isBusy(error)) throw error;
      const waitMs = Math.max(againMs, (error.retryAfterS ?? 0) * 1000);
      await pause(waitMs * (1 + patience.random()), patience);
      againMs = Math.min(AGAIN_MS_MAX, againMs * 2);
    }
  }
}

/** Resolves after this time (ms). */
export function pause(ms: number, { clock, signal }: Pick<Patience, 'clock' | 'signal'>): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const aborted = () => {
      cancel();
      reject(signal?.reason);
    };
    const cancel = clock.after(ms, () => {
      signal?.removeEventListener('abort', aborted);
      resolve();
    });
    signal?.addEventListener('abort', aborted, { once: true });
  });
}

/** 0: no answer came. */
const isBusy = ({ status }: RestError): boolean => status === 0 || status === 429 || status === 503;
