// Makes the short private folder of the database's sockets, and the connection string that leads there.
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { constants } from 'node:fs';
import { type FileHandle, lstat, mkdir, mkdtemp, open, rm, rmdir } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { hasCode } from '../../files.js';
import { type Account, canEnter, ourAccount } from './account.js';
import type { Place } from './cluster.js';

/** File name of a socket on which a living launcher of the database accepts connections, and closes them. */
const LAUNCHER = 'launcher.sock';

/*
 * `postgres://user:secret@HOST/name` carries a folder as HOST when it is percent-encoded, but not for all programs:
 * postgres.js takes HOST for a folder only when it contains a comma, libpq (psql, pg_dump) splits it at the comma.
 * So we say `<folder>/,`: libpq tries `<folder>/` first, postgres.js finds a folder of the name `,` inside it,
 * and PostgreSQL listens in both.
 */
const COMMA = ',';

/** The two folders PostgreSQL listens in. */
export const socketFolders = (folder: string): readonly string[] => [folder, join(folder, COMMA)];

/** The same as its setting `unix_socket_directories` takes them. */
export const socketDirectories = (folder: string): string =>
  socketFolders(folder)
    .map((path) => `"${path}"`)
    .join(',');

/** Connection string of database and role `talkgroup`, for postgres.js and libpq alike. */
export function connectionString({ folder, password }: { folder: string; password: string }): string {
  return `postgres://talkgroup:${password}@${encodeURIComponent(join(folder, COMMA))}/talkgroup`;
}

/** The folder a string of `connectionString` leads to. */
export function folderOf(url: string): string {
  return dirname(decodeURIComponent(new URL(url).hostname));
}

/**
 * Path of the place's socket folder, short enough whatever the length of DATA_DIR: the same at each start, unless another
 * account of the machine has put something there. Then it is a new one that could not be foreseen. postgres.url names it.
 */
export async function socketFolder({ dataDir, account }: Place): Promise<string> {
  const hash = createHash('sha256').update(`${account.uid}:${dataDir}`).digest('hex').slice(0, 16);
  const name = `talkgroup-radio-${hash}`;
  const short = Buffer.byteLength(join(tmpdir(), `${name}-XXXXXX`, COMMA, '.s.PGSQL.5432')) <= PATH_BYTES_MAX;
  // Root's own temporary folder may be closed to the account.
  const path = join(short && (await canEnter(account, tmpdir())) ? tmpdir() : '/tmp', name);
  return (await isForeign(path, account)) ? mkdtemp(`${path}-`) : path;
}

async function isForeign(path: string, account: Account): Promise<boolean> {
  try {
    const found = await lstat(path);
    return !found.isDirectory() || ![account.uid, ourAccount().uid].includes(found.uid);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return false;
    throw error;
  }
}

// What macOS allows for a socket. Linux allows 107.
const PATH_BYTES_MAX = 103;

/** Makes the folder if need be. Throws when it is not ours alone, for then another account could pose as the database. */
export async function prepareSocketFolder(folder: string, account: Account): Promise<void> {
  await privateFolder(folder, account);
  await privateFolder(join(folder, COMMA), account);
}

async function privateFolder(path: string, account: Account): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 });
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error;
  }
  const folder = await openFolder(path);
  try {
    const owner = (await folder?.stat())?.uid;
    if (folder === null || (owner !== account.uid && owner !== ourAccount().uid)) {
      throw new Error(
        `cannot use the socket directory ${path}: it is not a directory of this user. Remove it.`,
      );
    }
    await folder.chmod(0o700);
    await folder.chown(account.uid, account.gid);
  } finally {
    await folder?.close();
  }
}

/** Null for what is no folder, and for the closed folder of another account. */
async function openFolder(path: string): Promise<FileHandle | null> {
  try {
    // Checked and changed through one descriptor, so that no account can put a link in its place in between.
    return await open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  } catch (error) {
    if (hasCode(error, 'ENOTDIR', 'ELOOP', 'EACCES')) return null;
    throw error;
  }
}

/** Removes the folder when it is empty, so never under the feet of another launcher that already uses it. */
export async function removeSocketFolder(folder: string): Promise<void> {
  for (const path of [join(folder, COMMA), folder]) {
    try {
      await rmdir(path);
    } catch (error) {
      if (!hasCode(error, 'ENOENT', 'ENOTEMPTY', 'EEXIST')) throw error;
    }
  }
}

/** Shows that the folder's database has a living launcher. Only for the owner of the launcher lock. */
export async function announceLauncher(folder: string): Promise<Server> {
  const path = join(folder, LAUNCHER);
  await rm(path, { force: true }); // of a launcher that was killed
  const server = createServer((socket) => socket.destroy());
  // Accepting fails when descriptors run out. The kernel has told the asker by then that we live.
  server.on('error', () => {});
  await once(server.listen(path), 'listening');
  return server;
}

/** Whether a living process has announced itself in the folder. The kernel answers for one that is busy or stopped. */
export async function launcherLives(folder: string): Promise<boolean> {
  const socket = connect(join(folder, LAUNCHER));
  try {
    await once(socket, 'connect');
    return true;
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ECONNREFUSED')) return false;
    if (hasCode(error, 'EAGAIN')) return true; // more askers at once than its backlog holds
    throw error;
  } finally {
    socket.destroy();
  }
}
