// bcrypt on a thread of its own that stands back: on few cores everybody's login at once must not hold up audio and REST.
import { Worker } from 'node:worker_threads';
import type { Bcrypt } from './passwords.js';

/** bcrypt as the queue of `passwords.ts` uses it; its errors are bcrypt's own, or that of the thread when it ended. */
export interface Hashing extends Bcrypt {
  /** For when nobody hashes any more. */
  close(): Promise<void>;
}

export type Job =
  | { readonly kind: 'hash'; readonly password: string; readonly cost: number }
  | { readonly kind: 'verify'; readonly password: string; readonly stored: string };

/** To one job; the thread answers in their order. */
export type Outcome = { readonly answer: string | boolean } | { readonly error: Error };

interface Pending {
  readonly resolve: (answer: string | boolean) => void;
  readonly reject: (error: Error) => void;
}

const SCRIPT = new URL('./hashing-thread.js', import.meta.url);

/** The thread is started for the first job, and again for the first one after its end. */
export function createHashing(script = SCRIPT): Hashing {
  let thread: { readonly worker: Worker; readonly pending: Pending[] } | null = null;

  function start() {
    const worker = new Worker(script);
    const pending: Pending[] = []; // bounded by the queue of those who ask
    const started = { worker, pending };
    worker.on('message', (outcome: Outcome) => {
      const asked = pending.shift();
      if ('answer' in outcome) asked?.resolve(outcome.answer);
      else asked?.reject(outcome.error);
    });
    const end = (error: Error) => {
      if (thread === started) thread = null;
      for (const { reject } of pending.splice(0)) reject(error);
    };
    worker.on('error', end);
    worker.on('exit', () => end(new Error('the hashing thread ended')));
    return started;
  }

  function run(job: Job): Promise<string | boolean> {
    thread ??= start();
    const { worker, pending } = thread;
    return new Promise((resolve, reject) => {
      pending.push({ resolve, reject });
      worker.postMessage(job);
    });
  }

  return {
    hash: (password, cost) => run({ kind: 'hash', password, cost }) as Promise<string>,
    verify: (password, stored) => run({ kind: 'verify', password, stored }) as Promise<boolean>,
    async close() {
      await thread?.worker.terminate();
    },
  };
}
