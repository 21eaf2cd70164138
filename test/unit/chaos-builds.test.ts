// Chaos with two builds: which folder is taken for the other build, and which node runs it.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { dealBuilds, mainOf } from '../chaos/nodes/builds.js';
import { MAIN } from '../chaos/server.js';

t.test('the other build must be built, have its packages and the same migrations', async (t) => {
  const [own, other] = [join(t.testdir(), 'own'), join(t.testdir(), 'other')];
  const main = join(other, 'dist/src/main.js');
  for (const build of [own, other]) mkdirSync(join(build, 'sql'), { recursive: true });
  writeFileSync(join(own, 'sql/019.do.setup-codes.sql'), '');
  writeFileSync(join(own, 'sql/README.md'), '');
  const isTaken = () => mainOf(other, own);

  t.throws(() => mainOf('/no/such/checkout'), /OLD_BUILD must be a checkout that is built: no .*main\.js/);
  mkdirSync(join(other, 'dist/src'), { recursive: true });
  writeFileSync(main, '');
  t.throws(isTaken, /OLD_BUILD must be a checkout that is built: no .*node_modules/);
  mkdirSync(join(other, 'node_modules'));
  writeFileSync(join(other, 'sql/018.do.dispatchers.sql'), '');
  t.throws(isTaken, /OLD_BUILD must have migrations up to 19, as this build, not up to 18/);
  writeFileSync(join(other, 'sql/019.do.setup-codes.sql'), '');
  t.equal(isTaken(), main);
  rmSync(join(own, 'sql/019.do.setup-codes.sql'));
  t.throws(isTaken, /OLD_BUILD must have migrations up to 0, as this build, not up to 19/);
});

t.test('each node runs the other build in one of three episodes, and keeps its build between', async (t) => {
  const acts: string[] = [];
  const servers = [0, 1, 2].map((at) => {
    const server = {
      main: MAIN,
      terminate: async () => void acts.push(`end ${at}`),
      start: async () => void acts.push(`${server.main === MAIN ? 'own' : server.main} ${at}`),
    };
    return server;
  });
  const runs = async (episode: number) => {
    acts.length = 0;
    const old = await dealBuilds(servers, { oldMain: 'old', episode });
    t.strictSame(
      servers.map(({ main }) => main === 'old'),
      [0, 1, 2].map((at) => at === old),
    );
    return [old, ...acts];
  };

  t.strictSame(await runs(42), [0, 'end 0', 'old 0']);
  t.strictSame(await runs(42), [0], 'the same episode again restarts no node');
  t.strictSame(await runs(43), [1, 'end 0', 'own 0', 'end 1', 'old 1']);
  t.strictSame(await runs(44), [2, 'end 1', 'own 1', 'end 2', 'old 2']);
});
