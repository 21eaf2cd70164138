// The main thread's end of one relay thread.
import { Worker } from 'node:worker_threads';
import type { Notice, Question } from '../../db/notice.js';
import { ConfigError } from '../../errors.js';
import { LOOP_DELAYS_MS, newHistogram, observe } from '../../histogram.js';
import type { Batch } from '../../protocol/recording-batch.js';
import type { RelayFigures, RelaySide } from '../relay-side.js';
import type { Listening } from '../websocket/engine.js';
import type { Renewal } from '../websocket/renewals.js';
import { createHandOver } from './hand-over.js';
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
/** Notices under way. The oldest is given up for one more, and its route has long answered 503. */
const UNACKNOWLEDGED_MAX = 10_000;
/**
 * Of the thread's heap: what a frame leaves behind dies young, and while thousands connect, whose sessions stay, a
 * collection of the 48 MB that V8 would take stops the thread for 10 ms, three times a second (measured), of this for 2.
 */
const YOUNG_MB = 6;

/** A relay on its own thread. */
export interface RelayThread extends Omit<RelaySide, 'figures'> {
  listen(as?: Listening): Promise<number>;
  figures(): Promise<RelayFigures | null>;
  /** A change notification of the database, for which the main thread listens. */
  noticed(notice: Notice | Question): void;
  /** Some of them may have been missed. */
  gap(): void;
}

export interface ThreadOptions {
  readonly data: ThreadData;
  /** In the log of a fault, and in the names of threads that the system shows. */
  readonly name: string;
  /** Called when the thread failed, or ended by itself: without a relay the process has no purpose. */
  readonly onDeath: (error: Error) => void;
  /** Takes recorded speech, and calls `stored` with bytes of it that are in memory no more. */
  readonly taped: Taped;
}

export type Taped = (batch: Batch, stored: (bytes: number) => void) => void;

/** Starts the thread. */
export function startRelayThread({ data, name, onDeath, taped }: ThreadOptions): RelayThread {
  const worker = new Worker(new URL('./thread.js', import.meta.url), {
    name,
    workerData: data,
    transferList: [...(data.place?.ports ?? [])],
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
  const handOver = createHandOver((fixes, dropped) => say({ kind: 'fixes', fixes, dropped }));
  const exited = new Promise<void>((resolve) => {
    worker.once('exit', () => resolve());
  });

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
        handOver.wanted(message.wantsFixes);
        beatAtMs = performance.now();
        // It has waited for this thread to have time for it, as everything else has.
        observe(mainDelay, sharedNowMs() - message.sentAtMs);
        return;
      case 'figures':
        for (const answer of waitingForFigures) answer(message);
        return;
      case 'located':
        return handOver.taken();
      case 'taped':
        return taped(message.batch, (bytes) => say({ kind: 'stored', bytes }));
      case 'started':
        return answerStart?.resolve();
      case 'unstartable':
        return answerStart?.reject(new ConfigError(message.message));
      case 'presented':
        return answerPresent?.(message.renewal);
      case 'failed':
        return onDeath(message.error);
    }
  });
  worker.on('error', onDeath);
  worker.on('exit', (code) => {
    if (!closing) onDeath(new Error(`the ${name} thread exited with code ${code}`));
  });

  return {
    listen: (as = { kind: 'alone' }) =>
      new Promise((resolve, reject) => {
        answerListen = { resolve, reject };
        say({ kind: 'listen', as });
      }),
    start: () =>
      new Promise((resolve, reject) => {
        answerStart = { resolve, reject };
        say({ kind: 'start' });
      }),
    notice: (notice) =>
      new Promise((resolve) => {
        const [oldest] = unacknowledged.keys();
        if (unacknowledged.size >= UNACKNOWLEDGED_MAX && oldest !== undefined) unacknowledged.delete(oldest);
        unacknowledged.set(notice.id, resolve);
        say({ kind: 'notice', notice });
      }),
    located: handOver.located,
    noticed: (notice) => say({ kind: 'noticed', notice }),
    gap: () => say({ kind: 'gap' }),
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
      say({ kind: 'close' });
      await exited; // at once when it ended by itself
    },
  };
}
