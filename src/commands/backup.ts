// Runs the commands that back up a database in use, and bring a backup back.
import { createWriteStream } from 'node:fs';
import { link, mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { keptSecret } from '../auth/secret.js';
import { readConfig } from '../config/config.js';
import { BackupError, type Checked, checkFile, type Head, type RowCounts } from '../db/backup/lines.js';
import { restore } from '../db/backup/read.js';
import { backupOf } from '../db/backup/write.js';
import { hasEmbedded, runningEmbedded } from '../db/embedded.js';
import { exists, hasCode, syncFolder } from '../files.js';
import { readVersion } from '../version.js';
import { fail, withDatabaseUrl } from './running.js';

/** In the place of a file: standard output, or standard input. */
const STANDARD = '-';

/** Writes all that the database has to a file that only its owner can read. The service may run. */
export async function backupCommand(
  file: string,
  { tokenKey: isWithKey }: { tokenKey: boolean },
): Promise<void> {
  if (file !== STANDARD && (await exists(file))) fail(`${file} exists: a backup replaces no file`);
  const { DATABASE_URL, DATA_DIR } = readConfig();
  let told = '';
  const done = (head: Head, counts: RowCounts) => {
    told = `schema version ${head.schema_version}, ${inWords(counts)}`;
  };
  await withDatabaseUrl(
    async (url) => {
      // Only there the service keeps the key itself.
      const tokenKey = isWithKey && DATABASE_URL === undefined ? await keptSecret(DATA_DIR) : null;
      const text = backupOf(url, { service: readVersion(), tokenKey }, done);
      if (file === STANDARD) await pipeline(text, createGzip(), process.stdout, { end: false });
      else await writeNew(file, text);
    },
    { mayCreate: false },
  );
  console.error(`${file}: ${told}`);
}

/** The file appears whole or not at all, and never over another one. */
async function writeNew(file: string, text: AsyncIterable<string>): Promise<void> {
  const part = `${file}.part`;
  const target = createWriteStream(part, { flags: 'wx', mode: 0o600, flush: true });
  let isOurs = false;
  target.once('open', () => {
    isOurs = true;
  });
  try {
    await pipeline(text, createGzip(), target);
    await link(part, file);
    await syncFolder(dirname(resolve(file)));
  } catch (error) {
    if (hasCode(error, 'EEXIST') && !isOurs) fail(`${part} exists: another backup writes it, or was killed`);
    throw error;
  } finally {
    if (isOurs) await rm(part, { force: true });
  }
}

/** Brings a backup into a database without users: the embedded one, which it creates, or an external one. */
export async function restoreCommand(file: string): Promise<void> {
  if (file !== STANDARD) return restoreFrom(file);
  // It is read twice.
  const folder = await mkdtemp(join(tmpdir(), 'talkgroup-radio-'));
  try {
    const copy = join(folder, 'standard input');
    await pipeline(process.stdin, createWriteStream(copy, { mode: 0o600 }));
    await restoreFrom(copy);
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function restoreFrom(file: string): Promise<void> {
  const { DATABASE_URL, DATA_DIR } = readConfig();
  const checked = await check(file);
  const isEmbedded = DATABASE_URL === undefined;
  if (isEmbedded && (await runningEmbedded(DATA_DIR)) !== null)
    fail(`DATA_DIR ${resolve(DATA_DIR)} is in use: stop the service before`);
  const isNew = isEmbedded && !(await hasEmbedded(DATA_DIR));
  try {
    await withDatabaseUrl((url) => restore(url, file, checked), { mayCreate: true });
  } catch (error) {
    // What it created itself must not be in the way of the next try.
    if (isNew) await removeCluster(join(DATA_DIR, 'postgres'));
    throw error;
  }
  console.log(`restored ${inWords(checked.counts)}, of ${checked.head.taken_at}`);
  console.log(await bringTokenKey(checked.head, isEmbedded ? DATA_DIR : null));
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

/** What becomes of the key of the tokens, in words. */
async function bringTokenKey({ token_key: key }: Head, dataDir: string | null): Promise<string> {
  const { JWT_SECRET } = readConfig();
  if (JWT_SECRET !== undefined) return 'tokens of before are valid when JWT_SECRET is as it was';
  if (key === undefined || dataDir === null)
    return 'the backup has no token key for this service: users must log in again';
  const file = join(dataDir, 'jwt.secret');
  try {
    await mkdir(dataDir, { recursive: true, mode: 0o700 });
    await writeFile(file, key, { mode: 0o600, flag: 'wx', flush: true });
    await syncFolder(dataDir);
    return 'tokens of before are valid';
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error;
    return `${file} is not replaced: tokens of before are valid when it has the same key`;
  }
}

const inWords = (counts: RowCounts): string => {
  const rows = Object.values(counts).reduce((sum, count) => sum + count, 0);
  const of = (table: string) => (counts[table] ?? 0).toLocaleString('en');
  return `${of('users')} users, ${of('devices')} devices, ${of('talkgroups')} talkgroups, ${rows.toLocaleString('en')} rows in all`;
};
