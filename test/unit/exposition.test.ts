// Prometheus' text as a strict reader of the format understands it, whatever stands in help and labels.
import fc from 'fast-check';
import t from 'tap';
import { expose } from '../../src/metrics/exposition.js';
import type { Family } from '../../src/metrics/family.js';
import type { Snapshot } from '../../src/metrics/snapshot.js';
import { readExposition } from '../helpers/http/exposition.js';

const NOW = {} as Snapshot; // these families ask nothing of it

const gauge = (help: string, label: string, value: number): Family => ({
  type: 'gauge',
  name: 'made_up',
  help,
  labels: ['label'],
  read: () => [[{ label }, value]],
});

t.test('any text in help and labels, and any finite value, is read back as one sample', async (t) => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'grapheme', minLength: 1 }).filter((help) => help.trim() !== ''),
      fc.string({ unit: 'grapheme' }),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      (help, label, value) => {
        const { series, labelValues } = readExposition(expose([gauge(help, label, value)], NOW));
        return series.size === 1 && [...series.values()][0] === value && labelValues.has(label);
      },
    ),
  );
  t.pass();
});

t.test('a histogram is shown in seconds, each bucket with what is in those below it', async (t) => {
  const times = { boundsMs: [10, 1000], counts: [2, 1, 4], sumMs: 9500 };
  const family: Family = {
    type: 'histogram',
    name: 'waits',
    help: 'Waits',
    labels: ['of'],
    read: () => [[{ of: 'a' }, times]],
  };
  t.equal(
    expose([family], NOW),
    `# HELP waits Waits
# TYPE waits histogram
waits_bucket{of="a",le="0.01"} 2
waits_bucket{of="a",le="1"} 3
waits_bucket{of="a",le="+Inf"} 7
waits_sum{of="a"} 9.5
waits_count{of="a"} 7
`,
  );
});

t.test('a family that has nothing to show now is there with its type and without a sample', async (t) => {
  const family: Family = { type: 'counter', name: 'nothing', help: 'Nothing', labels: [], read: () => null };
  t.equal(expose([family], NOW), '# HELP nothing Nothing\n# TYPE nothing counter\n');
});
