// Waiting for something that comes true by itself.
import { setTimeout as delay } from 'node:timers/promises';

/** What has not come by then never comes: longer than any busy machine makes it wait, and it ends a hang only. */
export const HANGS_MS = 60_000;

/** What `attempt` returns the first time it does not throw; its last error after `ms`. */
export async function eventually<T>(attempt: () => T | Promise<T>, ms = HANGS_MS): Promise<T> {
  const endMs = performance.now() + ms;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (performance.now() > endMs) throw error;
      await delay(10);
    }
  }
}

/** An assertion of a test inside `eventually` fails the test at the first attempt. This one waits. */
export const comesTrue = (what: string, isTrue: () => boolean | Promise<boolean>): Promise<void> =>
  eventually(async () => {
    if (!(await isTrue())) throw new Error(`not so: ${what}`);
  });
