// Turns a talkgroup to `required` on one of two nodes, and asks both for it.
import { randomBytes } from 'node:crypto';
import t from 'tap';
import { comesTrue } from '../helpers/eventually.js';
import { metric } from '../helpers/http/exposition.js';
import { unless } from '../helpers/programs.js';
import { linkedNodes } from '../helpers/service/linked-nodes.js';

const skip = unless('nats-server');
const REQUIRED = { encryption: 'required' };

t.test(
  'encryption is required while every node enforces it, and not while one is missing',
  { skip },
  async (t) => {
    const { a, b, links } = await linkedNodes(t, { SECRETS_KEY: randomBytes(32).toString('base64') });
    const ann = await a.person('ann');
    const [first, second] = [await a.talkgroup('first', ann), await a.talkgroup('second', ann)];
    const asks = (node: typeof a, id: string) =>
      node.call('PATCH', `/talkgroups/${id}`, node.admin.token, REQUIRED);
    // 409 while a node has not heard of the other one.
    const isAllowed = (node: typeof a, id: string) =>
      comesTrue('it is 200', async () => (await asks(node, id)).status === 200);
    const radio = await b.radioOf(ann);

    await isAllowed(a, first.id);
    t.match(
      await radio.hears('TALKGROUP_CHANGED', ({ encryption }) => encryption === 'required'),
      { talkgroup_id: first.id },
      'told by the other node',
    );
    t.equal(await metric(a.metrics, 'talkgroup_cluster_unencrypting'), 0);

    links[1].refuse();
    links[1].reset();
    await comesTrue('a misses the other one', async () => {
      return (await metric(a.metrics, 'talkgroup_cluster_reach{state="whole"}')) === 0;
    });
    for (const node of [a, b])
      t.match(await asks(node, second.id), {
        status: 409,
        body: { error: 'not every node of the service can enforce encryption' },
      });

    await links[1].listen();
    await isAllowed(b, second.id);
  },
);
