// The limits of one user with sockets on two nodes.
import t from 'tap';
import { unless } from '../helpers/programs.js';
import { linkedNodes } from '../helpers/service/linked-nodes.js';
import { testUserLimits } from '../helpers/service/user-limits.js';

t.test('two nodes with one database and one nats-server', { skip: unless('nats-server') }, async (t) => {
  testUserLimits(t, 'both nodes', async (t, environment) => {
    const { a, b } = await linkedNodes(t, { RESUME_MS: '0', ...environment });
    return { ...a, radioAt: (relay, person) => (relay === 0 ? a : b).radioOf(person) };
  });
});
