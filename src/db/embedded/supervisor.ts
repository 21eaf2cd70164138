// Restarts the server when it ends before `stop`.
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Postmaster } from './postmaster.js';

// After a kill -9 the remaining server processes hold its shared memory for some 20 ms.
const RESTART_MS_MIN = 50;
const RESTART_MS_MAX = 1_000;

/** Keeps a running server running, through `launch`, until `stop`, which returns when the server has ended. */
export function supervise(options: {
  postmaster: Postmaster;
  launch: () => Promise<Postmaster>;
  log: Pick<Logger, 'info' | 'warn' | 'error'>;
}): { stop(): Promise<void> } {
  const { launch, log } = options;
  let { postmaster } = options;
  let stopping = false;
  const watching = watch();

  async function watch(): Promise<void> {
    let pauseMs = RESTART_MS_MIN;
    for (;;) {
      await postmaster.ended;
      if (stopping) return;
      await delay(pauseMs);
      if (stopping) return;
      pauseMs = (await restart()) ? RESTART_MS_MIN : Math.min(2 * pauseMs, RESTART_MS_MAX);
    }
  }

  async function restart(): Promise<boolean> {
    try {
      log.warn({ said: await postmaster.lastWords() }, 'embedded database exited, restarting');
      postmaster = await launch();
      if (stopping) await postmaster.stop();
      const ready = await postmaster.ready();
      if (ready) log.info('embedded database restarted');
      return ready;
    } catch (error) {
      log.error({ err: error }, 'embedded database restart failed'); // out of descriptors, memory or disk
      return false;
    }
  }

  return {
    async stop() {
      stopping = true;
      await postmaster.stop();
      await watching;
    },
  };
}
