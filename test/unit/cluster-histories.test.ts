// Floors of `single` and `broadcast` that two to five relays share, over random histories in virtual time.
import { randomInt } from 'node:crypto';
import t from 'tap';
import { readExamples } from '../helpers/cluster/examples.js';
import { type Fault, faults } from '../helpers/cluster/faults.js';
import { playHistory, playScript } from '../helpers/cluster/histories.js';
import { Violation } from '../helpers/cluster/judge.js';
import { scriptOf } from '../helpers/cluster/script.js';

/** `make test` plays 200 histories (12 s of CPU time beside other load) and the examples, `make prove` 40,000. */
const HISTORIES = Number(process.env.CLUSTER_HISTORIES ?? 200);
t.setTimeout(24 * 3_600_000); // 40,000 histories
/** `make prove` plays other ones in each run, so that in time more of them are played. */
const FIRST = process.env.CLUSTER_HISTORIES === undefined ? 1 : randomInt(2, 2 ** 31);

t.test('over any history of relays that share a floor no promise is broken', async (t) => {
  t.comment(`histories ${FIRST} to ${FIRST + HISTORIES - 1}`);
  const seen = new Map<string, number>();
  for (let seed = FIRST; seed < FIRST + HISTORIES; seed++) {
    try {
      for (const [what, count] of (await playHistory(seed)).seen)
        seen.set(what, (seen.get(what) ?? 0) + count);
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

t.test('a seed plays the same history twice', async (t) => {
  const lines = async () => {
    const lines: string[] = [];
    await playHistory(7, null, (line) => lines.push(line));
    return lines;
  };
  const first = await lines();
  t.ok(first.some((line) => line.includes('announces')));
  t.strictSame(await lines(), first);
});

/** Histories of seeds that broke a promise once, and the rule that was wrong. */
const ONCE: Readonly<Record<number, string>> = {
  23115: 'the first members of two relays came in a short cut, and neither heard of the other for 2 s',
  41503: 'a relay that came right after a beacon was answered by the next one only, 250 ms later',
  209946: 'a socket came back in a cut of 0.95 s, and the home ended its emergency as lost',
  42129: 'a home whose last member came back took an emergency for a grant that it had taken away',
};

for (const [seed, was] of Object.entries(ONCE))
  t.test(`history ${seed}, which was wrong once: ${was}`, async (t) => {
    await t.resolves(playHistory(Number(seed)));
  });

const examples = readExamples();

for (const { was, script } of examples)
  t.test(`history ${script.seed}, which was wrong once: ${was}`, async (t) => {
    await t.resolves(playScript(script));
  });

/** For each fault histories that find it. Others do so as well: of those that are rare, one in 300 to one in 1,000. */
const FOUND: Partial<Record<Fault, readonly number[]>> = {
  'no mutual hearing': [133, 138, 203],
  'no top': [578],
  'a grant is not held back': [239],
  'an overtaken burst is played': [13, 15],
  'parts are not repeated': [2, 11],
  'old parts are taken for new ones': [9, 14],
  'a refusal is not kept for its relay': [2, 19],
  'a revoked first frame is not answered': [301, 491],
  'an emergency counts as other speech': [45],
  'a healed split is seen late': [15, 22],
};
/** Histories that are tried when none of those does, because the histories changed. */
const TRIES = 200;

/** A promise is broken. Any other exception is a mistake of the test, and finds nothing. */
async function isBroken(play: () => Promise<unknown>): Promise<boolean> {
  try {
    await play();
    return false;
  } catch (error) {
    if (error instanceof Violation) return true;
    throw error;
  }
}

t.test('only a broken promise counts as a fault that is found', async (t) => {
  t.equal(await isBroken(() => Promise.reject(new Violation('C1', 'two talkers'))), true);
  await t.rejects(
    isBroken(() => Promise.reject(new TypeError('of the test'))),
    { message: 'of the test' },
  );
  t.equal(await isBroken(() => Promise.resolve()), false);
});

for (const fault of faults) {
  t.test(`the histories find a fault: ${fault}`, async (t) => {
    const found = (FOUND[fault] ?? []).map(scriptOf);
    const tried = function* () {
      yield* found;
      for (const { script } of examples) yield script;
      for (let seed = 1; seed <= TRIES; seed++) yield scriptOf(seed);
    };
    for (const script of tried()) {
      if (!(await isBroken(() => playScript(script, fault)))) continue;
      t.comment(`history ${script.seed}`);
      await t.resolves(playScript(script), `history ${script.seed} keeps every promise without it`);
      return;
    }
    t.fail('no history finds it');
  });
}
