// Spin must find a counter-example for each fault planted in the model of floors.pml.
import t from 'tap';
import { unless } from '../helpers/programs.js';
import { IS_PROOF } from '../helpers/within.js';
import { CUT_TWO, HEALTHY, LOSSY_TWO, search } from './search.js';

/** Faults that Spin must find, each in a configuration that is right without it. */
const faults: readonly { readonly name: string; readonly settings: readonly string[] }[] = [
  {
    name: 'turns are compared without their home',
    settings: [...LOSSY_TWO, 'FAULT_NO_HOME_IN_TURN'],
  },
  {
    name: 'order ignores `after`',
    settings: [...HEALTHY, 'FAULT_NO_AFTER'],
  },
  {
    name: '`after` is the last turn that began, not the last one granted',
    settings: [...HEALTHY, 'FAULT_AFTER_IS_LAST_BEGUN'],
  },
  {
    name: 'the clock acts on a turn of a foreign home',
    settings: [...LOSSY_TWO, 'RANKS=1', 'FAULT_CLOCK_ACTS_ON_FOREIGN'],
  },
  {
    name: 'a home does not look at the highest turn of a part',
    settings: [...CUT_TWO, 'FAULT_NO_TOP'],
  },
  {
    name: 'verdicts of any relay count',
    settings: ['N=3', 'APART', 'TIMELY', 'PRESSES=2', 'ENDS=0', 'FRAMES=0', 'FAULT_VERDICT_OF_ANYBODY'],
  },
];

t.setTimeout(300_000);

t.test(
  'Spin finds a counter-example for each planted fault',
  { skip: IS_PROOF ? unless('spin', 'gcc', 'timeout') : 'takes long: `make prove` runs it' },
  async (t) => {
    for (const { name, settings } of faults) {
      const { errors, figures } = await search(t.testdir({}), settings);
      t.comment(`${name}: ${errors} errors, ${figures}`);
      t.equal(errors, 1, name);
    }
  },
);
