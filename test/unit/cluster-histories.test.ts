// Floors of `single` and `broadcast` that two to five relays share, over random histories in virtual time.
import t from 'tap';
import { playHistory } from '../helpers/cluster/histories.js';

const RUNS = Number(process.env.PROVE_RUNS ?? 3000);
/** `make test` plays 2,000 histories, `make prove` ten times as many. */
const HISTORIES = Math.ceil((RUNS * 2) / 3);
/** Another part of all histories in each run, so that in time more of them are played. */
const FIRST = process.env.PROVE_RUNS === undefined ? 1 : 1_000_000;

t.test('over any history of relays that share a floor no promise is broken', async (t) => {
  const seen = new Map<string, number>();
  for (let seed = FIRST; seed < FIRST + HISTORIES; seed++) {
    try {
      for (const [what, count] of playHistory(seed).seen) seen.set(what, (seen.get(what) ?? 0) + count);
    } catch (error) {
      t.fail(`history ${seed}: ${error instanceof Error ? error.message : error}`);
      return;
    }
  }
  // A history that never gets there proves nothing.
  const codes = ['preempted', 'too_long', 'unused', 'mode', 'collision', 'left'].map(
    (code) => `revoked ${code}`,
  );
  for (const what of [...codes, 'began', 'queued', 'retry_later', 'ended disconnected', 'ended released'])
    t.ok(seen.get(what), `${what} was seen`);
});

/** Histories that broke a promise while the design was made. The comment says which rule mended it. */
const MENDED = [
  [10, 'a session that waits and asks again keeps its place while the floor is made anew'],
  [40, 'a grant that is held back and taken away is a denial, without the end of a burst'],
  [222, 'a grant is not unused when the first frame came meanwhile'],
  [633, 'a grant that is told again goes on waiting, and does not begin to wait'],
  [3309, 'no verdict leaves before the whole part is taken'],
] as const;

t.test('histories that once broke a promise keep it', async (t) => {
  for (const [seed, rule] of MENDED) t.doesNotThrow(() => playHistory(seed), rule);
});
