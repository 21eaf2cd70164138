// Floors of `single` and `broadcast` that two to five relays share, over random histories in virtual time.
import { randomInt } from 'node:crypto';
import t from 'tap';
import { type Fault, faults } from '../helpers/cluster/faults.js';
import { playHistory } from '../helpers/cluster/histories.js';
import { Violation } from '../helpers/cluster/judge.js';

/** `make test` plays 300 histories (3 s of CPU time) and those named below, `make prove` 200,000. */
const HISTORIES = Number(process.env.CLUSTER_HISTORIES ?? 300);
/** `make prove` plays other ones in each run, so that in time more of them are played. */
const FIRST = process.env.CLUSTER_HISTORIES === undefined ? 1 : randomInt(2, 2 ** 31);

t.test('over any history of relays that share a floor no promise is broken', async (t) => {
  t.comment(`histories ${FIRST} to ${FIRST + HISTORIES - 1}`);
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

/** Histories that broke a promise once, and the rule that was wrong. */
const ONCE: Readonly<Record<number, string>> = {
  235360521: 'a burst that began in `open` keeps an old turn',
  235343469: 'a new question is answered with the grant of an earlier one',
  235364984: 'a new question waits behind an earlier grant that was lost',

  235361107: 'a place that expires while its session asks again leaves the question open',
  235421410: 'a question goes on after its place was denied',
  235341634: 'a question that was put before `open` has no number after it',
  235366721: 'a grant that another one takes keeps its place in the queue',
  235345780: 'a relay whose bye is lost stays the home of another relay',
  700003341: 'an emergency talks in a grant that its home, cut off, took for unused',
  1000000471: 'an emergency loses to one that ended while its relay was cut off',
  912352851: 'a home that forgot a floor gives a turn again',
  912352571: 'a grant begins before it hears that an emergency of another side keeps the floor',
  1012349614: 'a denial by a home that was not followed ends an emergency later',
  1012359554: 'a home counts an emergency of a relay that was killed a moment ago',
  1012345463: 'a burst is over elsewhere before it began',
  1112350743: 'the home begins a grant while an emergency of another side plays there',
  1112352046: 'lower speech that is held back takes the place of an emergency',
  1112364156: 'a short burst that is held back is replaced by the next one',
  1112356134: 'a burst of a relay whose part was given up keeps the floor against an emergency',
  1700022917: 'lower speech of a home that is not heard by all yet takes the place of an emergency',
  1900014750: 'a lower grant that its home gave a moment after a cut ends an emergency',
  1700012472: 'a grant that waits is dropped for a later burst, and its session is not answered',
  1700013973: 'a grant that was overtaken waits for its home, which stands still',
  1700005103: 'an emergency that was over a moment ago counted as lower speech (the judge was wrong)',
  4000121212: 'a burst that is released while its home takes the floor away (the judge was wrong)',
  4000180108: 'a part of a relay that was cut off comes back too late for the 500 ms after the cut',
  500001492: 'an emergency in a part of the network that is cut off loses the floor when it is back',
  50000242: 'a home that follows a killed relay, until it finds out, has two grants (the judge was wrong)',
  1123: 'a first frame finds its grant revoked, and is denied in the same moment (the session was wrong)',
  2200011610: 'a first frame that gets and loses the floor in one step is denied like a request',
  2200022172: 'a place that expires while its relay stands still leaves the question without an answer',
  2200024893: 'a grant that is held back and revoked while its socket is lost is not answered',
  2200029450: 'an emergency that is back is ended by a verdict for its lost socket',
  2300089616: 'a new home keeps a burst that ended unheard, and an emergency loses to it',
  2500002368: 'a session that is granted from the queue asks again, and its home does not hear its relay',
  2300020582: 'an emergency loses to one whose session left a moment ago (the judge was wrong)',
};

for (const [seed, was] of Object.entries(ONCE))
  t.test(`a history that was wrong: ${was}`, async (t) => {
    t.doesNotThrow(() => playHistory(Number(seed)));
  });

/** For each fault histories that find it. Others do so as well: of those that are rare, one in 300 to one in 1,000. */
const FOUND: Partial<Record<Fault, readonly number[]>> = {
  'no mutual hearing': [74, 27],
  'no top': [6, 193, 485],
  'a fenced burst is not told': [2248, 6065, 6827],
  'a grant is not held back': [700000233, 700001028],
  'old parts are taken for new ones': [12, 5],
  'parts are not repeated': [302, 353, 754],
  'a refusal is not kept for its relay': [52, 65, 133],
  'a revoked grant goes on': [5, 11],
  'a revoked first frame is not answered': [286, 679, 822, 1247, 1476],
  'an emergency counts as other speech': [163, 203, 222],
  'a healed split is seen late': [32, 58, 80],
};
/** Histories that are tried when none of those does, because the histories changed. */
const TRIES = 200;

/** A promise is broken. Any other exception is a mistake of the test, and finds nothing. */
function isBroken(play: () => unknown): boolean {
  try {
    play();
    return false;
  } catch (error) {
    if (error instanceof Violation) return true;
    throw error;
  }
}

t.test('only a broken promise counts as a fault that is found', async (t) => {
  const throwing = (error: Error) => () => {
    throw error;
  };
  t.equal(isBroken(throwing(new Violation('C1', 'two talkers'))), true);
  t.throws(() => isBroken(throwing(new TypeError('of the test'))), { message: 'of the test' });
  t.equal(
    isBroken(() => {}),
    false,
  );
});

for (const fault of faults) {
  t.test(`the histories find a fault: ${fault}`, async (t) => {
    const seeds = [...(FOUND[fault] ?? []), ...Array.from({ length: TRIES }, (_, at) => at + 1)];
    const seed = seeds.find((seed) => isBroken(() => playHistory(seed, fault)));
    if (seed === undefined) t.fail(`no history of ${TRIES} finds it`);
    else t.doesNotThrow(() => playHistory(seed), `history ${seed} keeps every promise without it`);
  });
}
