// Waiting for something that comes true by itself.
import { setTimeout as delay } from 'node:timers/promises';

/** What `attempt` returns the first time it does not throw; its last error after `ms`. */
export async function eventually<T>(attempt: () => T | Promise<T>, ms = 10_000): Promise<T> {
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
