// Floors of `single` and `broadcast` that two to five relays share, over random histories in virtual time.
import t from 'tap';
import { type Fault, faults } from '../helpers/cluster/faults.js';
import { playHistory } from '../helpers/cluster/histories.js';

const RUNS = Number(process.env.PROVE_RUNS ?? 3000);
/** `make test` plays 1,500 histories (16 s of CPU time), `make prove` 200,000. */
const HISTORIES = Math.ceil(process.env.PROVE_RUNS === undefined ? RUNS / 2 : (RUNS * 20) / 3);
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

/** For each fault a history that finds it. Others do so as well. */
const FOUND: Partial<Record<Fault, number>> = {
  'no mutual hearing': 74,
  'no top': 16,
  'a fenced burst is not told': 328,
  'a grant is not held back': 369,
  'a relay answers that is not the home': 2,
  'two relays find different homes': 1,
  'an overtaken burst is played': 12,
  'parts are not repeated': 11,
  'old parts are taken for new ones': 2,
  'a refusal is not kept for its relay': 8,
  'a revoked grant goes on': 1,
};
/** Histories that are tried when that one does not, because the histories changed. */
const TRIES = 200;

for (const fault of faults) {
  t.test(`the histories find a fault: ${fault}`, async (t) => {
    const seeds = [FOUND[fault] ?? 1, ...Array.from({ length: TRIES }, (_, at) => at + 1)];
    const isFound = (seed: number) => {
      try {
        playHistory(seed, fault);
        return false;
      } catch {
        return true;
      }
    };
    const seed = seeds.find(isFound);
    if (seed === undefined) t.fail(`no history of ${TRIES} finds it`);
    else t.doesNotThrow(() => playHistory(seed), `history ${seed} keeps every promise without it`);
  });
}
