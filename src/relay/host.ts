// The main thread's end of the relay thread: the same face as a relay on this thread.
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Config } from '../config.js';
import type { Notice } from '../db/notices.js';
import type { RelaySide } from './compose.js';

/** What the thread is born with; all of it plain data. */
export interface ThreadData {
  readonly config: Config;
  readonly url: string;
  readonly secret: string;
}

export type ToThread =
  | { readonly kind: 'listen' | 'start' | 'close' }
  | { readonly kind: 'notice'; readonly notice: Notice };

export type FromThread =
  | { readonly kind: 'listening'; readonly port: number }
  | { readonly kind: 'refused'; readonly message: string }
  | { readonly kind: 'acknowledged'; readonly id: string }
  | { readonly kind: 'trouble'; readonly reason: string | null }
  | { readonly kind: 'closed' };

/** A route waits no longer for the relay than this. */
const ACKNOWLEDGE_MS_MAX = 1000;

/** Starts the thread. `onDeath` hears of an end nobody asked for: without a relay the process has no purpose. */
export function startRelayThread(data: ThreadData, onDeath: (error: Error) => void): RelaySide {
  const worker = new Worker(new URL('./thread.js', import.meta.url), { workerData: data });
  // Bounded by the database's gate in front of it: an entry lives ACKNOWLEDGE_MS_MAX at most.
  const unacknowledged = new Map<string, () => void>();
  let trouble: string | null = 'relay starting';
  let closing = false;
  let answerListen: { resolve: (port: number) => void; reject: (error: Error) => void } | null = null;

  const say = (message: ToThread) => worker.postMessage(message);

  worker.on('message', (message: FromThread) => {
    switch (message.kind) {
      case 'listening':
        return answerListen?.resolve(message.port);
      case 'refused':
        return answerListen?.reject(new Error(message.message));
      case 'acknowledged':
        unacknowledged.get(message.id)?.();
        unacknowledged.delete(message.id);
        return;
      case 'trouble':
        trouble = message.reason;
        return;
      case 'closed':
        return;
    }
  });
  worker.on('error', onDeath);
  worker.on('exit', (code) => {
    if (!closing) onDeath(new Error(`the relay thread ended with code ${code}`));
  });

  return {
    listen: () =>
      new Promise((resolve, reject) => {
        answerListen = { resolve, reject };
        say({ kind: 'listen' });
      }),
    start: () => say({ kind: 'start' }),
    tell: (notice) =>
      new Promise((resolve, reject) => {
        const late = setTimeout(() => {
          unacknowledged.delete(notice.id);
          reject(new Error('the relay did not acknowledge in time'));
        }, ACKNOWLEDGE_MS_MAX);
        unacknowledged.set(notice.id, () => {
          clearTimeout(late);
          resolve();
        });
        say({ kind: 'notice', notice });
      }),
    trouble: () => trouble,
    async close() {
      closing = true;
      const exited = once(worker, 'exit');
      say({ kind: 'close' });
      await exited;
    },
  };
}
