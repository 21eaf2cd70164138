// Queues epoch secrets for the sealing thread: users take turns, and too many requests are rejected at once.
//
// A thread of its own: where it shared that of the passwords, a login burst would keep keys from radios.
import { Worker } from 'node:worker_threads';
import { createBuckets } from '../buckets.js';
import type { Deadline } from '../db/deadline.js';
import { within } from '../db/deadline.js';
import { createGate } from '../db/gate.js';
import { AppError } from '../errors.js';
import { createShares } from '../shares.js';
import type { Sealed } from './envelope.js';

/** Secrets for one key holder: of epochs, or of a challenge. */
export interface SealJob {
  /** An uncompressed point of P-256 (65 bytes). */
  readonly publicKey: Uint8Array;
  /** The HPKE `info`. */
  readonly info: Uint8Array;
  /** At most 4. */
  readonly items: readonly { readonly secret: Uint8Array; readonly aad: Uint8Array }[];
}

export type SealOutcome = { readonly sealed: readonly Sealed[] } | { readonly failed: true };

/** Plain numbers. */
export interface SealingFigures {
  /** Seals that were done. */
  readonly sealed: number;
  /** Requests without seals: the user had too many, all together had too many, the thread failed. */
  readonly refused: Readonly<Record<'user_rate' | 'queue_full' | 'failed', number>>;
  /** Seals in work and waiting. */
  readonly queue: number;
}

export interface Sealing {
  /** Takes one seal from the user's share. Throws `too_many_keys`. Before the database is read: a flood costs little. */
  admit(user: string): void;
  /** Takes the further seals of the request, if need be from those to come. */
  charge(user: string, seals: number): void;
  /** One envelope for each item, in their order. Throws `too_many_keys` or `sealing_unavailable`. */
  seal(deadline: Deadline, job: SealJob): Promise<readonly Sealed[]>;
  figures(): SealingFigures;
  close(): Promise<void>;
}

/** Of one user: 10 at once, then 10 a second. A seal takes 0.5 ms, 1.3 ms where the node is busy. */
const OF_USER = { atOnce: 10, perMinute: 600 };
/** Seals in work and waiting: the last one is done within 150 ms. */
const SEALS_MAX = 128;
/** Of one address. A fleet behind a carrier has one. */
const SEALS_OF_ADDRESS = (SEALS_MAX * 3) / 4;
/** Of the requests of one user, so that one user alone does not fill the queue. */
const SHARE = { placesOfCaller: 1, callsOfCaller: 1 / 16, callsOfAddress: 1 };

/** Jobs that the thread has at once, so that it does not wait for this thread after each. */
const JOBS_OF_THREAD = 16;

/** A job takes 2 to 5 ms. A thread that has not done one by then does not answer any more. */
const JOB_MS_MAX = 5000;

const SCRIPT = new URL('./sealing-thread.js', import.meta.url);

export interface SealingOptions {
  readonly log: { error(fields: object, message: string): void };
  /** Monotonic (ms). */
  readonly nowMs?: () => number;
  /** For tests: another program of the thread. */
  readonly script?: URL;
}

interface Pending {
  readonly resolve: (sealed: readonly Sealed[]) => void;
  readonly reject: (error: Error) => void;
}

/** The thread starts with the first job, and again with the first one after its end. */
export function createSealing({
  log,
  nowMs = () => performance.now(),
  script = SCRIPT,
}: SealingOptions): Sealing {
  const buckets = createBuckets(OF_USER);
  const gate = createGate({ places: JOBS_OF_THREAD, callsMax: SEALS_MAX, share: SHARE }); // a request has at least one
  const sealsFrom = createShares<string | undefined>(SEALS_OF_ADDRESS);
  const refused = { user_rate: 0, queue_full: 0, failed: 0 };
  let queue = 0;
  let sealed = 0;
  let thread: { readonly worker: Worker; readonly pending: Pending[] } | null = null;
  let isClosing = false;

  function start() {
    const worker = new Worker(script, { name: 'sealing' });
    const pending: Pending[] = []; // the gate bounds them
    const started = { worker, pending };
    worker.on('message', (outcome: SealOutcome) => {
      const asked = pending.shift();
      if ('sealed' in outcome) return asked?.resolve(outcome.sealed);
      log.error({}, 'sealing failed');
      asked?.reject(new AppError('sealing_unavailable'));
    });
    worker.on('error', (error) => log.error({ err: error }, 'sealing thread failed'));
    worker.on('exit', (code) => {
      if (!isClosing) log.error({ code, jobs: pending.length }, 'sealing thread exited');
      if (thread === started) thread = null;
      for (const { reject } of pending.splice(0)) reject(new AppError('sealing_unavailable'));
    });
    worker.unref(); // it must not keep alive a process that ends
    return started;
  }

  function run(job: SealJob): Promise<readonly Sealed[]> {
    if (isClosing) throw new AppError('sealing_unavailable');
    try {
      thread ??= start();
    } catch (error) {
      // Expected when the machine has no thread to give.
      log.error({ err: error }, 'sealing thread not started');
      throw new AppError('sealing_unavailable');
    }
    const { worker, pending } = thread;
    const sealed = new Promise<readonly Sealed[]>((resolve, reject) => {
      pending.push({ resolve, reject });
      worker.postMessage(job);
    });
    // Its exit rejects the job, and the next one starts another thread.
    const hangs = setTimeout(() => {
      log.error({}, 'sealing thread hangs');
      void worker.terminate();
    }, JOB_MS_MAX).unref();
    return sealed.finally(() => clearTimeout(hangs));
  }

  /** Rejects when too many seals wait. Each seal counts until the thread has done it, also after its caller gave up. */
  async function enter(deadline: Deadline, seals: number): Promise<() => void> {
    const { address } = deadline;
    if (queue + seals > SEALS_MAX || sealsFrom.of(address) + seals > SEALS_OF_ADDRESS)
      throw tooMany('queue_full');
    queue += seals;
    for (let taken = 0; taken < seals; taken++) sealsFrom.take(address);
    const giveBack = () => {
      queue -= seals;
      for (let given = 0; given < seals; given++) sealsFrom.giveBack(address);
    };
    try {
      await gate.enter(deadline);
    } catch (error) {
      giveBack();
      // Otherwise it waited until its deadline: a thread that works empties a full queue long before.
      if (error instanceof AppError && error.code === 'too_many_requests') throw tooMany('queue_full');
      refused.failed++;
      throw new AppError('sealing_unavailable');
    }
    return () => {
      giveBack();
      gate.leave(deadline);
    };
  }

  function tooMany(reason: 'user_rate' | 'queue_full', retryAfterS = 1): AppError {
    refused[reason]++;
    return new AppError('too_many_keys', undefined, retryAfterS);
  }

  return {
    admit(user) {
      if (queue >= SEALS_MAX) throw tooMany('queue_full');
      const waitMs = buckets.waitMs(user, nowMs());
      if (waitMs > 0) throw tooMany('user_rate', Math.ceil(waitMs / 1000));
      buckets.take(user, nowMs());
    },
    charge(user, seals) {
      for (let taken = 0; taken < seals; taken++) buckets.take(user, nowMs());
    },
    async seal(deadline, job) {
      if (job.items.length === 0) return [];
      const leave = await enter(deadline, job.items.length);
      const work = (async () => run(job))();
      void work.then(leave, leave);
      try {
        const done = await within(deadline.at, work);
        sealed += done.length;
        return done;
      } catch (error) {
        refused.failed++;
        throw error instanceof AppError ? error : new AppError('sealing_unavailable');
      }
    },
    figures: () => ({ sealed, refused: { ...refused }, queue }),
    async close() {
      isClosing = true;
      await thread?.worker.terminate();
    },
  };
}
