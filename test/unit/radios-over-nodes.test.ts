// Every file of test/relay runs over two nodes and over two threads, or says why it does not.
import { readdirSync } from 'node:fs';
import t from 'tap';
import { ON_ONE_NODE, OVER_TWO_NODES } from '../helpers/radios-over-nodes.js';
import { ON_ONE_THREAD, OVER_TWO_THREADS } from '../helpers/radios-over-threads.js';

t.test('each file of test/relay is in exactly one of the two lists', async (t) => {
  const files = readdirSync('test/relay').map((name) => name.replace('.test.ts', ''));
  files.sort();
  t.strictSame([...OVER_TWO_NODES, ...Object.keys(ON_ONE_NODE)].sort(), files);
  t.strictSame([...OVER_TWO_THREADS, ...Object.keys(ON_ONE_THREAD)].sort(), files);
});
