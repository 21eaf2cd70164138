// The main thread's end of the relay thread: the same face as a relay on this thread.
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { ConfigError } from '../../errors.js';
import { LOOP_DELAYS_MS, newHistogram, observe } from '../../histogram.js';
import type { RelaySide } from '../relay-side.js';
import type { Renewal } from '../websocket/renewals.js';
import {
  type Beat,
  type FromThread,
  sharedNowMs,
  type ThreadData,
  type ThreadTold,
  type ToThread,
} from './messages.js';

/** A thread that did not beat for this time is taken for stuck (ms). */
const SILENCE_MS_MAX = 3000;
/** A scrape waits no longer for a thread that may be stuck. */
const FIGURES_MS_MAX = 1000;
/** Notices under way; the oldest is given up for one more, and its route has long answered 503. */
const UNACKNOWLEDGED_MAX = 10_000;
/**
 * Of the thread's heap: what a frame leaves behind dies young, and while thousands connect, whose sessions stay, a
 * collection of the 48 MB that V8 would take stops the thread for 10 ms, three times a second (measured), of this for 2.
 */
const YOUNG_MB = 6;

/** Starts the thread. `onDeath` hears of an end nobody asked for: without a relay the process has no purpose. */
export function startRelayThread(data: ThreadData, onDeath: (error: Error) => void): RelaySide {
  const worker = new Worker(new URL('./thread.js', import.meta.url), {
    name: 'relay',
    workerData: data,
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB },
  });
  const unacknowledged = new Map<string, () => void>();
  const waitingForFigures = new Set<(told: ThreadTold) => void>();
  const mainDelay = newHistogram(LOOP_DELAYS_MS);
  let beat: Beat | null = null;
  let beatAtMs = performance.now();
  let closing = false;
  let answerListen: { resolve: (port: number) => void; reject: (error: Error) => void } | null = null;
  let answerStart: { resolve: () => void; reject: (error: Error) => void } | null = null;
  let answerPresent: ((renewal: Renewal) => void) | null = null;

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
      case 'beat':
        beat = message;
        beatAtMs = performance.now();
        // It has waited for this thread to have time for it, as everything else has.
        observe(mainDelay, sharedNowMs() - message.sentAtMs);
        return;
      case 'figures':
        for (const answer of waitingForFigures) answer(message);
        return;
      case 'started':
        return answerStart?.resolve();
      case 'unstartable':
        return answerStart?.reject(new ConfigError(message.message));
      case 'presented':
        return answerPresent?.(message.renewal);
    }
  });
  worker.on('error', onDeath);
  worker.on('exit', (code) => {
    if (!closing) onDeath(new Error(`the relay thread exited with code ${code}`));
  });

  return {
    listen: () =>
      new Promise((resolve, reject) => {
        answerListen = { resolve, reject };
        say({ kind: 'listen' });
      }),
    start: () =>
      new Promise((resolve, reject) => {
        answerStart = { resolve, reject };
        say({ kind: 'start' });
      }),
    tell: (notice) =>
      new Promise((resolve) => {
        const [oldest] = unacknowledged.keys();
        if (unacknowledged.size >= UNACKNOWLEDGED_MAX && oldest !== undefined) unacknowledged.delete(oldest);
        unacknowledged.set(notice.id, resolve);
        say({ kind: 'notice', notice });
      }),
    trouble() {
      if (performance.now() - beatAtMs > SILENCE_MS_MAX) return 'not answering';
      return beat === null ? 'starting' : beat.trouble;
    },
    figures: () =>
      new Promise((resolve) => {
        const giveUp = setTimeout(() => {
          waitingForFigures.delete(answer);
          resolve(null);
        }, FIGURES_MS_MAX);
        const answer = ({ figures, thread, database }: ThreadTold) => {
          clearTimeout(giveUp);
          waitingForFigures.delete(answer);
          resolve({ ...figures, own: { thread, database, mainDelay } });
        };
        waitingForFigures.add(answer);
        say({ kind: 'figures' });
      }),
    present: (certificate) =>
      new Promise((resolve) => {
        answerPresent = resolve;
        say({ kind: 'present', certificate });
      }),
    async close() {
      closing = true;
      const exited = once(worker, 'exit');
      say({ kind: 'close' });
      await exited;
    },
  };
}
