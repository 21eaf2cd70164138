// Reads one clock for talkers and listeners, and waits for absolute deadlines.
import { setImmediate, setTimeout } from 'node:timers/promises';

/** Monotonic milliseconds, the same in every process of the machine, so that a frame may carry its own due time. */
export function nowMs(): number {
  const [s, ns] = process.hrtime();
  return s * 1_000 + ns / 1e6;
}

/** Resolves at `dueMs`, up to a millisecond late: good enough for what is not measured. */
export async function around(dueMs: number): Promise<void> {
  const leftMs = dueMs - nowMs();
  if (leftMs > 0) await setTimeout(leftMs);
}

/** Resolves at `dueMs`, some ten microseconds late on an idle core, and at once when it has passed. */
export async function exactly(dueMs: number): Promise<void> {
  await around(dueMs - SPIN_MS);
  // Each turn still serves the sockets: a busy loop would delay whatever arrives meanwhile.
  while (nowMs() < dueMs) await setImmediate();
}

/** Node's timers fire up to a millisecond late, and the kernel adds its own slack: the rest is waited for awake. */
const SPIN_MS = 1.5;

/** Looks every 20 ms. Resolves when it is so, or after `msMax`. */
export async function until(isSo: () => boolean, msMax: number): Promise<void> {
  const lastMs = nowMs() + msMax;
  while (!isSo() && nowMs() < lastMs) await around(nowMs() + 20);
}

/** Rejects with the reason of the signal when it is aborted. */
export function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.throwIfAborted();
    signal.addEventListener('abort', () => reject(signal.reason));
  });
}
