// Waiting for something that comes true by itself.
import { setTimeout as delay } from 'node:timers/promises';

/** What has not come by then never comes: longer than any busy machine makes it wait, and it ends a hang only. */
export const HANGS_MS = 60_000;

/** Between two attempts (ms): many wait at once, and leave the core to what they wait for. */
const WAIT_MS_MAX = 50;

/** What `attempt` returns the first time it does not throw. Its last error after `ms`. */
export async function eventually<T>(attempt: () => T | Promise<T>, ms = HANGS_MS): Promise<T> {
  const endMs = performance.now() + ms;
  for (let waitMs = 10; ; waitMs = Math.min(waitMs + 1, WAIT_MS_MAX)) {
    try {
      return await attempt();
    } catch (error) {
      if (performance.now() > endMs) throw error;
      await delay(waitMs);
    }
  }
}

/** An assertion of a test inside `eventually` fails the test at the first attempt. This one waits. */
export const comesTrue = (what: string, isTrue: () => boolean | Promise<boolean>): Promise<void> =>
  eventually(async () => {
    if (!(await isTrue())) throw new Error(`not so: ${what}`);
  });
