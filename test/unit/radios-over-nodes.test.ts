// Every file of test/relay runs over two nodes, or says why it does not.
import { readdirSync } from 'node:fs';
import t from 'tap';
import { ON_ONE_NODE, OVER_TWO_NODES } from '../helpers/radios-over-nodes.js';

t.test('each file of test/relay is in exactly one of the two lists', async (t) => {
  const files = readdirSync('test/relay').map((name) => name.replace('.test.ts', ''));
  t.strictSame([...OVER_TWO_NODES, ...Object.keys(ON_ONE_NODE)].sort(), files.sort());
});
