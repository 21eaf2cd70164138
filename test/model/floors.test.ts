// Spin searches the histories of the model in floors.pml. `make prove` runs all configurations, `make test` the smallest.
import t from 'tap';
import { unless } from '../helpers/programs.js';
import { IS_PROOF } from '../helpers/within.js';
import { APART, CUT_TWO, HEALTHY, HEALTHY_TWO, LOSSY_TWO, search } from './search.js';

interface Configuration {
  readonly name: string;
  /** Settings of floors.pml. */
  readonly settings: readonly string[];
  /** Part of all histories, chosen by hash, for at most this time (s). null: every history. */
  readonly bitstateS: number | null;
}

const smallest: Configuration = {
  name: 'two relays, nothing breaks',
  settings: HEALTHY_TWO,
  bitstateS: null,
};

const configurations: readonly Configuration[] = [
  smallest,
  { name: 'three relays with preemption, nothing breaks', settings: HEALTHY, bitstateS: null },
  { name: 'two relays, one cut, timers at any moment', settings: CUT_TWO, bitstateS: null },
  { name: 'two relays apart, one message lost', settings: [...LOSSY_TWO, 'RANKS=1'], bitstateS: null },
  { name: 'three relays apart (1|1|1), healed pair by pair', settings: APART, bitstateS: 30 },
];

t.setTimeout(300_000);

t.test('no history of the model breaks a promise', { skip: unless('spin', 'gcc', 'timeout') }, async (t) => {
  if (!IS_PROOF) t.comment('the smallest configuration only: `make prove` runs all of them');
  for (const { name, settings, bitstateS } of IS_PROOF ? configurations : [smallest]) {
    const { errors, isComplete, figures, steps } = await search(t.testdir({}), settings, bitstateS);
    t.comment(`${name}: ${errors} errors, ${figures}`);
    t.equal(errors, 0, `${name}\n${steps}`);
    t.ok(isComplete, `${name}: the search ended by itself or by its time`);
  }
});
