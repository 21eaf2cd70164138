// One data folder, several starts, as when containers share a volume: one runs, and no acknowledged write is lost.
import { chmod, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { canIsolate, type Instance, type Kill, startInstance } from '../helpers/database/instance.js';
import { query } from '../helpers/database/query.js';
import { eventually } from '../helpers/eventually.js';

/** `make prove` runs 20. Every fourth has the same kill. */
const ROUNDS = Number(process.env.TWO_LAUNCHERS ?? 3);
const KILLS = ['guarded', 'container', 'node', 'term'] as const satisfies readonly Kill[];
const linux = process.platform === 'linux';
const isolated = linux && canIsolate();

// A round takes 5 s, twice that when two cores are busy with other tests.
t.setTimeout(60_000 + ROUNDS * 20_000);

t.test(
  'starts with separate processes, IPC, mounts and temporary folders share one database',
  { skip: isolated ? false : 'needs Linux, root and unshare: only temporary folders are separate below' },
  (t) => rounds(t, { isolated: true }),
);

t.test(
  'starts with separate temporary folders share one database',
  { skip: isolated ? 'done with more isolation above' : linux ? false : 'reads /proc' },
  (t) => rounds(t, { isolated: false }),
);

async function rounds(t: Test, { isolated }: { isolated: boolean }): Promise<void> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'talkgroup-radio-test-')));
  await chmod(folder, 0o755);
  const dataDir = join(folder, 'data');
  const instances = new Set<Instance>();
  t.teardown(async () => {
    for (const instance of instances) instance.kill('container');
    await Promise.all([...instances].map(({ ended }) => ended));
    await rm(folder, { recursive: true, maxRetries: 10, retryDelay: 100 });
  });

  const begin = async () => {
    const instance = await startInstance({ dataDir, tmp: folder, isolated });
    instances.add(instance);
    return instance;
  };
  const refusal = `DATA_DIR ${dataDir} is in use by another instance, possibly in another container (`;
  const patienceOver = 'a PostgreSQL server of an earlier start still uses DATA_DIR';
  /** An instance that runs the database. While others hold it, a start is rejected, and is tried again. */
  const running = async (first?: Instance) => {
    for (let instance = first ?? (await begin()); ; instance = await begin()) {
      const url = await instance.url;
      if (url !== null) return { instance, url };
      const errors = instance.errors();
      if (!errors.includes(refusal) && !errors.includes(patienceOver)) throw new Error(`ended: ${errors}`);
    }
  };

  const start = await running();
  await query(start.url, (sql) => sql`create table ledger (n int primary key)`);
  start.instance.kill('container');
  let acknowledged = 0;

  for (let round = 0; round < ROUNDS; round++) {
    const kind = KILLS[round % KILLS.length] ?? 'container';
    const about = (text: string) => `round ${round}, ${kind}: ${text}`;

    const first = await running();
    const second = await begin();
    t.equal(await second.url, null, about('a second start does not run'));
    t.match(second.errors(), refusal, about('it says why'));
    const before = acknowledged;
    const writes = writeFrom(first.url, acknowledged);
    await eventually(() => assertTrue(writes.acknowledged() >= before + 20));
    first.instance.kill(kind);
    const successor = await begin();
    if (kind === 'guarded') {
      await eventually(() => {
        assertTrue(successor.errors().includes('waiting for the database server of an earlier start'));
      }, 10_000);
      // Whether it runs on beside us: in another container it does. Here the start may have ended it meanwhile.
      const seen = writes.acknowledged();
      if (isolated) await eventually(() => assertTrue(writes.acknowledged() > seen));
      first.instance.kill('container');
    }
    const next = await running(successor);
    acknowledged = await writes.stop();
    await t.resolves(holds(next.url, acknowledged), about('the successor has every acknowledged write'));

    // Two at once, while what was there is killed, and one of the two is killed on its way.
    next.instance.kill('container');
    const pair = [await begin(), await begin()];
    await delay(Math.random() * 700); // any moment of a start
    const [victim, survivor] = round % 2 === 0 ? pair : pair.reverse();
    victim?.kill('container');
    const last = await running(survivor);
    await t.resolves(holds(last.url, acknowledged), about('and so has the last one'));
    last.instance.kill(round % 2 === 0 ? 'term' : 'container');
  }
  const { url } = await running();
  await holds(url, acknowledged);
  t.comment(`${ROUNDS} rounds, ${acknowledged} acknowledged writes`);
}

/** Inserts consecutive numbers one by one until stopped or cut off. */
function writeFrom(url: string, start: number) {
  let n = start;
  let stopped = false;
  const writing = query(url, async (sql) => {
    // What was written and not acknowledged may be there.
    for (; !stopped; n++) await sql`insert into ledger values (${n}) on conflict do nothing`;
  }).catch(() => {
    // Expected: the server was killed.
  });
  return {
    acknowledged: () => n,
    async stop() {
      stopped = true;
      await writing;
      return n;
    },
  };
}

/** Rejects unless the numbers below `count` are all there. */
async function holds(url: string, count: number): Promise<void> {
  const rows = await query(url, (sql) => sql`select count(*)::int as found from ledger where n < ${count}`);
  if (rows[0]?.found !== count) throw new Error(`${rows[0]?.found} of ${count}`);
}

function assertTrue(condition: boolean): void {
  if (!condition) throw new Error('not yet');
}
