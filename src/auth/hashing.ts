// Runs bcrypt on a thread of its own with low priority: on few cores a login burst must not delay audio and REST.
import { Worker } from 'node:worker_threads';
import { AppError } from '../errors.js';
import type { Bcrypt } from './passwords.js';

/**
 * bcrypt as the queue of `passwords.ts` uses it. Rejects with bcrypt's own errors, or refuses with `login_queue_full`
 * when there is no thread to do it: one that ended, or none to be had.
 */
export interface Hashing extends Bcrypt {
  /** For when no password is hashed any more. */
  close(): Promise<void>;
}

export type Job =
  | { readonly kind: 'hash'; readonly password: string; readonly cost: number }
  | { readonly kind: 'verify'; readonly password: string; readonly stored: string };

/** To one job. The thread answers in their order. */
export type Outcome = { readonly answer: string | boolean } | { readonly error: Error };

interface Pending {
  readonly resolve: (answer: string | boolean) => void;
  readonly reject: (error: Error) => void;
}

const SCRIPT = new URL('./hashing-thread.js', import.meta.url);

export interface HashingOptions {
  readonly log: { error(fields: object, message: string): void };
  readonly script?: URL;
}

/** The thread is started for the first job, and again for the first one after its end. */
export function createHashing({ log, script = SCRIPT }: HashingOptions): Hashing {
  let thread: { readonly worker: Worker; readonly pending: Pending[] } | null = null;
  let isClosing = false;

  function start() {
    const worker = new Worker(script, { name: 'hashing' });
    const pending: Pending[] = []; // bounded by the queue of those who ask
    const started = { worker, pending };
    worker.on('message', (outcome: Outcome) => {
      const asked = pending.shift();
      if ('answer' in outcome) asked?.resolve(outcome.answer);
      else asked?.reject(outcome.error);
    });
    worker.on('error', (error) => {
      // A bug, or no descriptor or memory for a thread.
      log.error({ err: error }, 'hashing thread failed');
    });
    worker.on('exit', (code) => {
      if (!isClosing) log.error({ code, jobs: pending.length }, 'hashing thread exited');
      if (thread === started) thread = null;
      for (const { reject } of pending.splice(0)) reject(new AppError('login_queue_full'));
    });
    return started;
  }

  function tryToStart() {
    try {
      return start();
    } catch (error) {
      // Expected when the machine has no thread to give.
      log.error({ err: error }, 'hashing thread not started');
      throw new AppError('login_queue_full');
    }
  }

  async function run(job: Job): Promise<string | boolean> {
    if (isClosing) throw new AppError('login_queue_full'); // those who waited behind the last one
    thread ??= tryToStart();
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
      isClosing = true;
      await thread?.worker.terminate();
    },
  };
}
