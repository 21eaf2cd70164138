// Runs the embedded database: a PostgreSQL server that is a child of this process and ends with it.
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import type { Server } from 'node:net';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { ConfigError } from '../errors.js';
import { hasCode } from '../files.js';
import { installedMajor, usableBinaries } from './embedded/binaries.js';
import { type Claim, claim, lockServer, type Taken } from './embedded/claim.js';
import {
  initialise,
  isInitialised,
  type Place,
  readPassword,
  refuseOtherMajor,
  settle,
} from './embedded/cluster.js';
import { removeDeadLocks } from './embedded/pid-file.js';
import { type Postmaster, startPostmaster } from './embedded/postmaster.js';
import {
  announceLauncher,
  connectionString,
  folderOf,
  launcherLives,
  prepareSocketFolder,
  removeSocketFolder,
  socketDirectories,
  socketFolder,
  socketFolders,
} from './embedded/sockets.js';
import { supervise } from './embedded/supervisor.js';

/** A PostgreSQL server that keeps its data in a folder of ours. */
export interface EmbeddedPostgres {
  /** Connection string for postgres.js and psql. Stays the same when the server is restarted. */
  readonly url: string;
  /** Shuts the server down, within 15 s at worst, and removes its sockets and postgres.url. May be called again. */
  stop(): Promise<void>;
}

export interface EmbeddedOptions {
  /** Folder that holds the data and everything else that belongs to the database. Made if need be. */
  readonly dataDir: string;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
  /** PostgreSQL settings beyond or instead of ours. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Ends the wait for the server of an earlier start, with a rejection. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Starts the database of a data folder, creating it the first time, and keeps it running until `stop` or until this
 * process ends, be it by kill -9. Throws at once, and changes nothing, when another process runs it, also in another
 * container.
 */
export async function startEmbedded(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const database = await tryStart(options);
  if (!('takenBy' in database)) return database;
  throw new Error(
    `cannot start the embedded database: ${inUse(options, database)} Stop that instance, or set another DATA_DIR.`,
  );
}

const inUse = ({ dataDir }: EmbeddedOptions, { takenBy }: Taken) =>
  `DATA_DIR ${dataDir} is in use by another instance, possibly in another container (${takenBy}).`;

/** Whether there is an embedded database in the data folder. Changes nothing. */
export const hasEmbedded = (dataDir: string): Promise<boolean> => isInitialised(dataDir);

/** Connection string of the server some living process runs on the data folder, or null. */
export async function runningEmbedded(dataDir: string): Promise<string | null> {
  try {
    const url = await usable(dataDir, () => readFile(urlPath(dataDir), 'utf8'));
    return (await launcherLives(folderOf(url))) ? url : null;
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return null;
    throw error;
  }
}

/**
 * The running server of the data folder, whose `stop` then leaves it alone, or else one started for the caller. Throws
 * after 10 s when another process runs it where its sockets cannot be reached.
 */
export async function borrowEmbedded(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const startMs = performance.now();
  for (;;) {
    const url = await runningEmbedded(options.dataDir);
    if (url !== null) return { url, stop: async () => {} };
    const database = await tryStart(options);
    if (!('takenBy' in database)) return database;
    if (performance.now() - startMs > BORROW_MS_MAX)
      throw new Error(
        `cannot reach the embedded database: ${inUse(options, database)} Run the command there.`,
      );
    await delay(100); // another process is starting it, or has just ended it
  }
}

// An ordinary start takes a second.
const BORROW_MS_MAX = 10_000;

async function tryStart(options: EmbeddedOptions): Promise<EmbeddedPostgres | Taken> {
  const { dataDir } = options;
  const place = await usable(dataDir, () => settle(dataDir));
  const claimed = await usable(dataDir, () => claim(place));
  if ('takenBy' in claimed) return claimed;
  try {
    return await start({ ...options, place, sockets: await socketFolder(place), claimed });
  } catch (error) {
    await claimed.release();
    throw error;
  }
}

/** Throws ConfigError when this account may not use the folder, as after a start by root or on a disk that is read only. */
async function usable<T>(dataDir: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (!hasCode(error, 'EROFS', 'EACCES', 'EPERM')) throw error;
    throw new ConfigError(
      `DATA_DIR ${dataDir} cannot be used by this account (${(error as Error).message}). Let the account of the service own it and all that is in it.`,
    );
  }
}

interface Job extends EmbeddedOptions {
  readonly place: Place;
  /** Socket folder. */
  readonly sockets: string;
  readonly claimed: Claim;
}

async function start(job: Job): Promise<EmbeddedPostgres> {
  const { place, sockets, settings } = job;
  const binaries = await usableBinaries({ account: place.account, home: dirname(place.cluster) });
  await refuseOtherMajor(place, await installedMajor());
  await initialise({ place, binaries });
  const launch = async () => {
    await prepareSocketFolder(sockets, place.account);
    const lock = await lockServer(job);
    try {
      await removeDeadLocks(place.cluster, socketFolders(sockets));
      return await startPostmaster({
        place,
        binaries,
        settings: { ...serverSettings(sockets), ...settings },
        lockFd: lock.file.fd,
      });
    } finally {
      await lock.release(); // the server has it now
    }
  };
  return keep({ ...job, launch, postmaster: await launch() });
}

function notStarted({ dataDir }: Place, words: string): Error {
  return new Error(`cannot start the embedded database in ${dataDir}: ${words}`);
}

async function keep(
  job: Job & { launch: () => Promise<Postmaster>; postmaster: Postmaster },
): Promise<EmbeddedPostgres> {
  const { place, sockets, claimed, postmaster, log } = job;
  let running: { stop(): Promise<void> } = postmaster;
  let launcher: Server | undefined;
  const end = async () => {
    await rm(urlPath(place.dataDir), { force: true });
    launcher?.close();
    await running.stop();
    await removeSocketFolder(sockets);
    await claimed.release();
  };
  let ended: Promise<void> | undefined;
  const stop = () => {
    ended ??= end();
    return ended;
  };
  try {
    // What a killed predecessor left would be found before we accept connections.
    await rm(urlPath(place.dataDir), { force: true });
    launcher = await announceLauncher(sockets);
    if (!(await postmaster.ready())) throw notStarted(place, await postmaster.lastWords());
    running = supervise(job);
    const url = connectionString({ folder: sockets, password: await readPassword(place.cluster) });
    await writeWhole(urlPath(place.dataDir), url);
    log.info({ dataDir: place.dataDir, files: place.cluster }, 'embedded database started');
    return { url, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function serverSettings(sockets: string): Record<string, string> {
  return {
    listen_addresses: '',
    unix_socket_directories: socketDirectories(sockets),
    // For a small machine that this is not the only service of: our pool is 10 connections a process.
    max_connections: '100',
    shared_buffers: '128MB',
    io_method: 'sync', // saves the three helper processes of `worker`
    timezone: 'UTC',
    log_timezone: 'UTC',
    // No ERROR: those the service sees itself, and their texts repeat what users sent.
    log_min_messages: 'log',
    log_checkpoints: 'off',
  };
}

function urlPath(dataDir: string): string {
  return join(dataDir, 'postgres.url');
}

async function writeWhole(path: string, text: string): Promise<void> {
  const draft = `${path}.${process.pid}`;
  await writeFile(draft, text, { mode: 0o600 });
  await rename(draft, path);
}
