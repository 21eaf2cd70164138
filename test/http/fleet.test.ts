// What takes a right away, in a fleet of 20,000 users with 50 talkgroups and 8 key holders each, on three nodes.
import t from 'tap';
import { migratedDatabase } from '../helpers/database/cluster.js';
import { writeFleet } from '../helpers/database/fleet.js';
import { eventually } from '../helpers/eventually.js';
import { serviceProcess } from '../helpers/service/service.js';
import { IS_PROOF, within } from '../helpers/within.js';

const SIZE = IS_PROOF
  ? { users: 20_000, talkgroups: 50, holders: 8 }
  : { users: 400, talkgroups: 10, holders: 2 };
const TIMES = IS_PROOF ? 50 : 2;
/** For each of them. */
const ANSWER_MS_MAX = 1000;
/** Behind the answer, on the other nodes. */
const FOLLOWED_MS_MAX = 250;

t.setTimeout(IS_PROOF ? 900_000 : 120_000);

t.test('a right that is taken away ends at once on three nodes, whatever the fleet', async (t) => {
  const DATABASE_URL = await migratedDatabase(t);
  const nodes = await Promise.all(
    [1, 2, 3].map(() => serviceProcess(t, { DATABASE_URL, LOG_LEVEL: 'error' })),
  );
  const [a, , c] = nodes as [Node, Node, Node];
  const { users, talkgroups } = await writeFleet(a.sql, SIZE);
  const tokenOf = ({ id, name }: { id: string; name: string }) =>
    a.sign({ sub: id as never, username: name, role: 'user', iat: Math.floor(Date.now() / 1000) });
  const counterOf = async (id: string) =>
    (await a.sql`select rotation_counter::int as counter from talkgroups where id = ${id}`)[0]
      ?.counter as number;
  let next = 0;
  const someone = () => {
    const user = users[next++];
    if (user === undefined) throw new Error('the fleet is used up');
    return { ...user, token: tokenOf(user) };
  };

  const ends = {
    revocation: (user: User) => a.admin.call('POST', `/users/${user.id}/revoke`),
    'end of the device': (user: User) =>
      a.admin.call('PATCH', `/devices/${user.device}/status`, { active: false }),
  };
  for (const [what, end] of Object.entries(ends))
    await t.test(what, async (t) => {
      const answers: number[] = [];
      const follows: number[] = [];
      for (let time = 0; time < TIMES; time++) {
        const user = someone();
        const radio = await c.radioOf(user);
        t.ok(radio.welcome);
        const closed = radio.closes().then(() => performance.now());
        const fromMs = performance.now();
        const { status } = await end(user);
        const answeredMs = performance.now();
        t.equal(status, 200);
        answers.push(answeredMs - fromMs);
        for (const node of nodes) t.equal((await node.call('GET', '/me', user.token)).status, 401);
        follows.push((await closed) - answeredMs);
      }
      within(t, Math.max(...answers), ANSWER_MS_MAX, `${what}: the slowest answer`);
      within(t, Math.max(...follows), FOLLOWED_MS_MAX, `${what}: the last socket behind the answer`);
    });

  await t.test('removal and rotation', async (t) => {
    const took: Record<string, number[]> = { removal: [], rotation: [] };
    for (let time = 0; time < TIMES; time++) {
      const user = someone();
      const [row] =
        await a.sql`select talkgroup_id as id from memberships where user_id = ${user.id} limit 1`;
      const before = await counterOf(row?.id);
      let fromMs = performance.now();
      const removed = await a.admin.call('DELETE', `/talkgroups/${row?.id}/members/${user.id}`);
      took.removal?.push(performance.now() - fromMs);
      t.equal(removed.status, 200);
      t.equal(await counterOf(row?.id), before + 1, 'its keys have rotated');
      const other = talkgroups[time]?.id ?? '';
      fromMs = performance.now();
      const rotated = await a.admin.call('POST', '/keys/rotate', { talkgroup_id: other });
      took.rotation?.push(performance.now() - fromMs);
      t.equal(rotated.status, 200);
    }
    for (const [what, times] of Object.entries(took))
      within(t, Math.max(...times), ANSWER_MS_MAX, `${what}: the slowest answer`);
  });

  await t.test('the rotations that were put off are done', async (t) => {
    const fromMs = performance.now();
    await eventually(async () => {
      const [row] = await a.sql`select count(*)::int as left from talkgroups where rotate_due_at <= now()`;
      if (row?.left !== 0) throw new Error(`${row?.left} are due`);
    }, 300_000);
    within(t, performance.now() - fromMs, 60_000, 'the last rotation');
  });
});

type Node = Awaited<ReturnType<typeof serviceProcess>>;
type User = { readonly id: string; readonly device: string };
