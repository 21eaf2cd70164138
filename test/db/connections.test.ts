// The connections that a node keeps, and the check at start of those that the database server allows.
import postgres from 'postgres';
import t, { type Test } from 'tap';
import { openDatabase } from '../../src/db/client.js';
import { checkConnections, connectionsOfNode } from '../../src/db/connections.js';
import { deadlineIn } from '../../src/db/deadline.js';
import { openListeningClient } from '../../src/db/pool.js';
import { freshDatabase, migratedDatabase } from '../helpers/database/cluster.js';
import { eventually, HANGS_MS } from '../helpers/eventually.js';
import { serviceProcess } from '../helpers/service/service.js';

t.test('the check counts the nodes that listen, and warns when there is no room for one more', async (t) => {
  const url = await freshDatabase(t);
  const log: { level: string; fields: object }[] = [];
  const database = openDatabase({ url, connections: 1, log: { info() {}, warn() {} } });
  t.teardown(() => database.close());
  await database.up(deadlineIn(HANGS_MS));
  const check = async (ofNode: number) => {
    await checkConnections(database, deadlineIn(HANGS_MS), {
      ofNode,
      log: {
        info: (fields) => log.push({ level: 'info', fields }),
        warn: (fields) => log.push({ level: 'warn', fields }),
      },
    });
    return log.pop();
  };
  const max = await allowed(t, url);
  t.match(await check(max), {
    level: 'info',
    fields: { nodes: 1, connectionsOfNode: max, connectionsMax: max },
  });
  t.match(await check(max + 1), { level: 'warn', fields: { nodes: 1 } });
  const other = openListeningClient(url);
  t.teardown(() => other.end(100));
  await other.sql.listen('anything', () => {});
  t.match(await check(Math.floor(max / 2)), { level: 'info', fields: { nodes: 2 } });
  t.match(await check(Math.floor(max / 2) + 1), { level: 'warn', fields: { nodes: 2 } });
});

for (const threads of [1, 0, 2]) {
  const ofNode = connectionsOfNode({ pool: 3, threads });
  t.test(`a node with ${threads} relay threads keeps at most ${ofNode} connections`, async (t) => {
    const url = await migratedDatabase(t);
    const environment = { DATABASE_URL: url, DATABASE_POOL: '3', RELAY_THREADS: `${threads}` };
    const { person, call } = await serviceProcess(t, environment);
    const sql = postgres(url, { max: 2, connection: { application_name: 'onlooker' } });
    t.teardown(() => sql.end());
    const ann = await person('ann', { serial: 'SN-1' });
    const people = [ann, await person('bob'), await person('cid'), await person('dan')];
    const radio = await ann.radio();
    const connections = async () => {
      const [{ count } = { count: 0 }] = await sql<{ count: number }[]>`
        select count(*)::int from pg_stat_activity
        where datname = current_database() and application_name like 'talkgroup-radio%'`;
      return count;
    };
    // Nothing is answered while the tables are locked, so each statement keeps its connection.
    await sql.begin(async (locked) => {
      await locked`lock table users, devices, gps_fixes in access exclusive mode`;
      for (const one of people) {
        for (let n = 0; n < 4; n++) void call('GET', '/me', one.token).catch(() => {});
        void one.radio().catch(() => {});
      }
      for (let ref = 0; ref < 4; ref++)
        radio.socket.send(JSON.stringify({ type: 'GPS_UPDATE', ref, device_id: ann.device, lat: 1, lng: 1 }));
      let kept = 0;
      await eventually(async () => {
        kept = await connections();
        if (kept <= 3 + threads) throw new Error(`${kept} connections`);
      });
      t.ok(kept <= ofNode, `${kept} connections`);
    });
  });
}

/** Connections of the server that any role may use. */
async function allowed(t: Test, url: string): Promise<number> {
  const sql = postgres(url, { max: 1 });
  t.teardown(() => sql.end());
  const [row] = await sql<{ max_connections: string; superuser_reserved_connections: string }[]>`
    select current_setting('max_connections') as max_connections,
      current_setting('superuser_reserved_connections') as superuser_reserved_connections`;
  return Number(row?.max_connections) - Number(row?.superuser_reserved_connections);
}
