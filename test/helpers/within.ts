// Times that a test measures itself. A busy machine makes them longer, so only a proof judges them.
import type { Test } from 'tap';

/** `make prove` runs. */
export const IS_PROOF = process.env.PROVE_RUNS !== undefined;

/** Shows a time (ms), and in a proof fails the test when it is not below `maxMs`. */
export function within(t: Pick<Test, 'ok' | 'comment'>, tookMs: number, maxMs: number, what = ''): void {
  const told = `${what ? `${what}: ` : ''}${Math.round(tookMs)} of at most ${maxMs} ms`;
  if (IS_PROOF) t.ok(tookMs < maxMs, told);
  else t.comment(told);
}

/** A turn of the loop that takes longer (ms) is one in which the machine let this process wait. */
const TURN_MS_MAX = 20;

/** How long (ms) this process has run since the call. What it stood still beyond 20 ms at a time does not count. */
export function runningTime(t: Pick<Test, 'teardown'>): () => number {
  let ranMs = 0;
  let lastMs = performance.now();
  const add = () => {
    const nowMs = performance.now();
    ranMs += Math.min(nowMs - lastMs, TURN_MS_MAX);
    lastMs = nowMs;
  };
  const timer = setInterval(add, 5);
  t.teardown(() => clearInterval(timer));
  return () => {
    add();
    return ranMs;
  };
}
