// The tag of a database: the same at all of its nodes, another one in a copy made from a dump.
import t, { type Test } from 'tap';
import { openDatabase } from '../../src/db/client.js';
import { deadlineIn } from '../../src/db/deadline.js';
import { databaseTag } from '../../src/db/tag.js';
import { migratedDatabase } from '../helpers/database/cluster.js';
import { HANGS_MS } from '../helpers/eventually.js';

async function tagOf(t: Test, url: string): Promise<number> {
  const database = openDatabase({ url, connections: 1, log: { info() {}, warn() {} } });
  t.teardown(() => database.close());
  await database.up(deadlineIn(HANGS_MS));
  return databaseTag(database, deadlineIn(HANGS_MS));
}

t.test('all nodes of a database have one tag, and a copy of its rows has another', async (t) => {
  const [url, copy] = [await migratedDatabase(t), await migratedDatabase(t)];
  const tag = await tagOf(t, url);
  t.ok(Number.isInteger(tag) && tag >= 0 && tag < 2 ** 32);
  t.equal(await tagOf(t, url), tag);
  t.not(await tagOf(t, copy), tag);
});
