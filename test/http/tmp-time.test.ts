import t from 'tap';
import { service } from '../helpers/rest.js';
import { freshDatabase, clusterUrl } from '../helpers/cluster.js';
import { migrate } from '../../src/db/migrate.js';
t.test('x', async (t) => {
  await clusterUrl();
  for (let i=0;i<3;i++) {
  let a = performance.now();
  const url = await freshDatabase(t); console.error('db', performance.now()-a); a = performance.now();
  await migrate(url); console.error('migrate', performance.now()-a); a = performance.now();
  await service(t); console.error('service', performance.now()-a);
  }
});
