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
