// Finds or creates the files of the database, with their owner and their permissions.
import { randomBytes } from 'node:crypto';
import {
  chmod,
  chown,
  mkdir,
  mkdtemp,
  readFile,
  readlink,
  realpath,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { ConfigError } from '../../errors.js';
import { exists, hasCode, readIfThere, syncFolder } from '../../files.js';
import { type Account, canEnter, databaseAccount, ourAccount, runAs } from './account.js';
import { makeDraft } from './drafts.js';

/** Where an embedded database lives. Nothing need be there yet. */
export interface Place {
  /** The configured folder, without symbolic links. */
  readonly dataDir: string;
  /** PostgreSQL's data directory. */
  readonly cluster: string;
  /** Owner of the cluster, under which PostgreSQL runs. */
  readonly account: Account;
}

// Below it root keeps the clusters whose DATA_DIR the database's account cannot enter.
const HOMES_OF_ROOT = '/var/lib/talkgroup-radio';

/**
 * Decides where the cluster of a data folder lies: in it, or, when some folder above is closed to the account (a
 * clone below /root), in a folder of its own that a link in `dataDir` leads to, so that the next start finds it.
 */
export async function settle(configured: string): Promise<Place> {
  // 0711: the account may pass through to its own files, and list nothing of ours.
  await mkdir(configured, { recursive: true, mode: 0o711 });
  const dataDir = await realpath(configured);
  const link = join(dataDir, 'postgres');
  const target = await linkTarget(link);
  if (target !== null) return { dataDir, cluster: target, account: await accountFor(target) };

  const account = await accountFor(link);
  if (await opens(dataDir, account)) return { dataDir, cluster: link, account };
  if (await exists(link))
    throw new Error(
      `cannot enter ${link}: user ${account.uid} has no permission on a parent directory. Grant x on it, or set DATA_DIR.`,
    );
  await settleElsewhere(link);
  return settle(configured);
}

/** Whether a data folder has a cluster: `initialise` leaves either a whole one or none. Changes nothing. */
export async function isInitialised(configured: string): Promise<boolean> {
  const link = join(configured, 'postgres');
  return exists((await linkTarget(link)) ?? link);
}

async function linkTarget(link: string): Promise<string | null> {
  try {
    const target = resolve(dirname(link), await readlink(link));
    if (await exists(dirname(target))) return target;
    throw new Error(
      `cannot find the database files: ${link} points to ${target}. Restore them, or remove the link to start with an empty database.`,
    );
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'EINVAL')) return null; // nothing there yet, or a plain folder
    throw error;
  }
}

async function accountFor(cluster: string): Promise<Account> {
  const us = ourAccount();
  if (!(await exists(cluster))) return databaseAccount();
  const owner = await stat(cluster);
  if (us.uid !== 0 && owner.uid !== us.uid) {
    throw new Error(
      `cannot use ${cluster}: it belongs to user ${owner.uid}. Start the service as that user, or set another DATA_DIR.`,
    );
  }
  return owner.uid === 0 ? databaseAccount() : { uid: owner.uid, gid: owner.gid };
}

async function opens(dataDir: string, account: Account): Promise<boolean> {
  if (await canEnter(account, dataDir)) return true;
  // The folder itself is ours to open, those above it are not.
  await chmod(dataDir, ((await stat(dataDir)).mode & 0o777) | 0o011);
  return canEnter(account, dataDir);
}

async function settleElsewhere(link: string): Promise<void> {
  await mkdir(HOMES_OF_ROOT, { recursive: true });
  await chmod(HOMES_OF_ROOT, 0o711); // whatever the umask
  // Never an old name again: with DATA_DIR and its link removed, the old data must not come back.
  const home = await mkdtemp(join(HOMES_OF_ROOT, 'postgres-'));
  await chmod(home, 0o711);
  await writeFile(join(home, 'BELONGS-TO'), `${link}\n`);
  try {
    await symlink(join(home, 'cluster'), link);
  } catch (error) {
    await rm(home, { recursive: true });
    if (!hasCode(error, 'EEXIST')) throw error; // another process was first
  }
}

/** Throws ConfigError when the files of the cluster are those of another major version. A new cluster has none yet. */
export async function refuseOtherMajor({ cluster }: Place, installed: number): Promise<void> {
  const files = await readIfThere(join(cluster, 'PG_VERSION'));
  if (files === null || Number(files) === installed) return;
  throw new ConfigError(
    `the embedded database has files of PostgreSQL ${files.trim()}, this release brings ${installed}: see "Upgrade and rollback" in docs/operations.md`,
  );
}

/**
 * Creates the cluster unless it is there: role and database `talkgroup`, UTF-8, checksums. A crash or a second
 * process meanwhile leaves either a whole cluster or none.
 */
export async function initialise({ place, binaries }: { place: Place; binaries: string }): Promise<void> {
  const { cluster, account } = place;
  if (await exists(join(cluster, 'PG_VERSION'))) return;
  const draft = await makeDraft(cluster);
  try {
    await prepare({ draft, account, binaries });
    await rename(join(draft, 'cluster'), cluster);
    await syncFolder(dirname(cluster));
  } catch (error) {
    if (!hasCode(error, 'EEXIST', 'ENOTEMPTY')) throw error; // another process was first
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

async function prepare(job: { draft: string; account: Account; binaries: string }): Promise<void> {
  const { draft, account, binaries } = job;
  const cluster = join(draft, 'cluster');
  const password = join(draft, PASSWORD_FILE);
  // 192 random bits, in letters that need no escape in a URL.
  await writeFile(password, randomBytes(24).toString('base64url'), { mode: 0o600, flush: true });
  await chown(password, account.uid, account.gid);
  await chown(draft, account.uid, account.gid);
  // initdb's own fsync takes 0.2 of its 0.6 s, and without it a power failure could undo what we then rename.
  await runAs(account, join(binaries, 'bin', 'initdb'), [
    ...['-D', cluster, '--username=talkgroup', `--pwfile=${password}`, '--auth=scram-sha-256'],
    // Sorts by code point on every machine, so that an update of the C library cannot break an index.
    ...['--encoding=UTF8', '--no-locale', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'],
    ...['--data-checksums', '--no-instructions'],
  ]);
  const createDatabase = `echo 'create database talkgroup' | "$1" --single -D "$2" -c exit_on_error=on postgres`;
  await runAs(account, '/bin/sh', ['-c', createDatabase, 'sh', join(binaries, 'bin', 'postgres'), cluster]);
  await rename(password, join(cluster, PASSWORD_FILE));
  await syncFolder(cluster);
}

// Lies in the cluster, so that both come to be in one rename and are lost together.
const PASSWORD_FILE = 'talkgroup.password';

/** The password of the role `talkgroup`. */
export async function readPassword(cluster: string): Promise<string> {
  return readFile(join(cluster, PASSWORD_FILE), 'utf8');
}
