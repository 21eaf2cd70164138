// Runs the commands that back up a database in use, and bring a backup back.
import { createWriteStream, rmSync } from 'node:fs';
import { link, mkdtemp, realpath, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { placeSecret, secretFile } from '../auth/secret.js';
import { readConfig } from '../config/config.js';
import { noteAct } from '../db/acts.js';
import { BackupError, type Checked, checkFile, type Head, type RowCounts } from '../db/backup/lines.js';
import { backupOf } from '../db/backup/reading.js';
import { restore } from '../db/backup/restoring.js';
import { openDatabase } from '../db/client.js';
import { hasEmbedded, startEmbedded } from '../db/embedded.js';
import { migrate } from '../db/migrate.js';
import { exists, hasCode, readIfThere, syncFolder } from '../files.js';
import { createLog } from '../log.js';
import { LONG_COMMAND, standBack } from '../priority.js';
import { readVersion } from '../version.js';
import { fail, operator, soon, whenInterrupted, withDatabaseUrl } from './running.js';

/** In the place of a file: standard output, or standard input. */
const STANDARD = '-';

/** Writes all that the database has to a file that only its owner can read. The service may run. */
export async function backupCommand(
  file: string,
  { tokenKey: isWithKey }: { tokenKey: boolean },
): Promise<void> {
  if (file !== STANDARD && (await exists(file))) fail(`${file} exists: a backup replaces no file`);
  standBack(LONG_COMMAND); // before any thread is started: audio must not wait for it
  const { DATABASE_URL, DATA_DIR, JWT_SECRET } = readConfig();
  let told = '';
  let rows = 0;
  const done = (head: Head, counts: RowCounts) => {
    rows = sumOf(counts);
    told = `schema version ${head.schema_version}, ${inWords(counts)}`;
  };
  await withDatabaseUrl(
    async (url) => {
      // Otherwise the key is a setting, and what is in DATA_DIR may be one that was replaced.
      const isKept = isWithKey && DATABASE_URL === undefined && JWT_SECRET === undefined;
      const tokenKey = isKept ? await readIfThere(secretFile(DATA_DIR)) : null;
      const text = backupOf(url, { service: readVersion(), tokenKey }, done);
      if (file === STANDARD) await pipeline(text, createGzip(), process.stdout, { end: false });
      else await writeNew(file, text);
      console.error(`${file}: ${told}`);
      // A standby takes no writes. Its backup is as good as any other one.
      await note(url, { act: 'backup_taken', details: { rows } });
    },
    { mayCreate: false },
  );
}

type ActHere =
  | { readonly act: 'backup_taken'; readonly details: { readonly rows: number } }
  | {
      readonly act: 'database_restored';
      readonly details: { readonly rows: number; readonly taken_at: string };
    };

/** Says so when it could not: what was done stands. */
async function note(url: string, act: ActHere): Promise<void> {
  const database = openDatabase({ url, connections: 1, log: createLog('error') });
  try {
    await database.up(soon());
    await noteAct<ActHere['act']>(database, soon(), operator(), act);
  } catch (error) {
    console.error(`${act.act} is not in the audit log: ${(error as Error).message}`);
  } finally {
    await database.close();
  }
}

/** The file appears whole or not at all, and never over another one. */
async function writeNew(file: string, text: AsyncIterable<string>): Promise<void> {
  const part = `${file}.part`;
  const target = createWriteStream(part, { flags: 'wx', mode: 0o600, flush: true });
  let isOurs = false;
  target.once('open', () => {
    isOurs = true;
  });
  const forget = whenInterrupted(() => isOurs && rmSync(part, { force: true }));
  try {
    await pipeline(text, createGzip(), target);
    await nameNew(part, file);
    await syncFolder(dirname(resolve(file)));
  } catch (error) {
    if (hasCode(error, 'EEXIST') && !isOurs) fail(`${part} exists: another backup writes it, or was killed`);
    throw error;
  } finally {
    forget();
    if (isOurs) await rm(part, { force: true });
  }
}

/** A link is never made over another file. Some file systems, such as FAT, have none. */
async function nameNew(part: string, file: string): Promise<void> {
  try {
    await link(part, file);
  } catch (error) {
    if (!hasCode(error, 'EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS')) throw error;
    if (await exists(file)) fail(`${file} exists: a backup replaces no file`);
    await rename(part, file);
  }
}

/** Brings a backup into a database without users: the embedded one, which it creates, or an external one. */
export async function restoreCommand(file: string): Promise<void> {
  if (file !== STANDARD) return restoreFrom(file);
  // It is read twice.
  const folder = await mkdtemp(join(tmpdir(), 'talkgroup-radio-'));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  const forget = whenInterrupted(remove);
  try {
    const copy = join(folder, 'standard input');
    await pipeline(process.stdin, createWriteStream(copy, { mode: 0o600 }));
    await restoreFrom(copy);
  } finally {
    forget();
    remove();
  }
}

async function restoreFrom(file: string): Promise<void> {
  const { DATABASE_URL, DATA_DIR } = readConfig();
  const checked = await check(file);
  const { head, counts } = checked;
  const fill = async (url: string) => {
    const { said, takeBack } = await bringTokenKey(head, DATABASE_URL === undefined ? DATA_DIR : null);
    await restore(url, file, checked).catch(async (error) => {
      await takeBack();
      throw error;
    });
    console.log(`restored ${inWords(counts)}, of ${head.taken_at}\n${said}`);
  };
  const finish = async (url: string) => {
    await migrate(url).catch((error: Error) =>
      fail(
        `the tables have schema version ${head.schema_version}, and their migration failed: ${error.message}. Run 'migrate' again.`,
      ),
    );
    await note(url, {
      act: 'database_restored',
      details: { taken_at: head.taken_at, rows: sumOf(counts) },
    });
  };
  if (DATABASE_URL === undefined) return inEmbedded(DATA_DIR, fill, finish);
  await fill(DATABASE_URL);
  await finish(DATABASE_URL);
}

/**
 * Starts the embedded database for this command alone. When another process runs it, this one does nothing. When `fill` fails,
 * what the command created is removed, so that it is not in the way of the next try.
 */
async function inEmbedded(
  dataDir: string,
  fill: (url: string) => Promise<void>,
  finish: (url: string) => Promise<unknown>,
): Promise<void> {
  const isNew = !(await hasEmbedded(dataDir));
  const embedded = await startEmbedded({ dataDir, log: createLog('warn') });
  let isFilled = false;
  try {
    await fill(embedded.url);
    isFilled = true;
    await finish(embedded.url);
  } finally {
    await embedded.stop();
    if (isNew && !isFilled) await removeCluster(join(dataDir, 'postgres'));
  }
}

/** Where root keeps the files elsewhere, it is a link to them. */
async function removeCluster(path: string): Promise<void> {
  if (!(await exists(path))) return;
  for (const each of [await realpath(path), path]) await rm(each, { recursive: true, force: true });
}

async function check(file: string): Promise<Checked> {
  try {
    return await checkFile(file);
  } catch (error) {
    if (error instanceof BackupError || hasCode(error, 'ENOENT', 'EACCES', 'EISDIR')) fail(error.message);
    throw error;
  }
}

/** What becomes of the key of the tokens, in words, and how to undo it. Before the rows: a full disk shows here. */
async function bringTokenKey({ token_key: key }: Head, dataDir: string | null) {
  const nothing = (said: string) => ({ said, takeBack: async () => {} });
  const { JWT_SECRET } = readConfig();
  if (JWT_SECRET !== undefined)
    return nothing('earlier tokens are valid when JWT_SECRET is the same as before');
  if (key === undefined || dataDir === null)
    return nothing('the backup has no token key for this service: users must log in again');
  const isPlaced = await placeSecret(dataDir, key);
  const file = secretFile(dataDir);
  if (isPlaced) return { said: 'earlier tokens are valid', takeBack: () => rm(file) };
  return nothing(`${file} is not replaced: earlier tokens are valid when it has the same key`);
}

const sumOf = (counts: RowCounts): number => Object.values(counts).reduce((sum, count) => sum + count, 0);

const inWords = (counts: RowCounts): string => {
  const rows = sumOf(counts);
  const of = (table: string) => (counts[table] ?? 0).toLocaleString('en');
  return `${of('users')} users, ${of('devices')} devices, ${of('talkgroups')} talkgroups, ${rows.toLocaleString('en')} rows in all`;
};
