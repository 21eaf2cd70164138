// The embedded database: a PostgreSQL server that is this process's child and lives and dies with it.
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import type { Server } from 'node:net';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { usableBinaries } from './embedded/binaries.js';
import { initialise, type Place, readPassword, settle } from './embedded/cluster.js';
import { hasCode } from './embedded/files.js';
import { interruptOrphan, readPidFile } from './embedded/pid-file.js';
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
} from './embedded/sockets.js';
import { supervise } from './embedded/supervisor.js';

/** A PostgreSQL server that keeps its data in a folder of ours. */
export interface EmbeddedPostgres {
  /** Connection string for postgres.js and psql; stays the same when the server is restarted. */
  readonly url: string;
  /** Shuts the server down, within 15 s at worst, and removes its sockets and postgres.url; may be called again. */
  stop(): Promise<void>;
}

export interface EmbeddedOptions {
  /** Folder that holds the data and everything else that belongs to the database; made if need be. */
  readonly dataDir: string;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
  /** PostgreSQL settings beyond or instead of ours. */
  readonly settings?: Readonly<Record<string, string>>;
}

/**
 * Starts the database of a data folder, creating it the first time, and keeps it running until `stop` or until this
 * process ends, be it by kill -9. Throws at once when another process runs it.
 */
export async function startEmbedded(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const database = await tryStart(options);
  if (database === 'taken') {
    throw new Error(`Another process already runs the embedded database in ${options.dataDir}`);
  }
  return database;
}

/** Connection string of the server some living process runs on the data folder, or null. */
export async function runningEmbedded(dataDir: string): Promise<string | null> {
  try {
    const url = await readFile(urlPath(dataDir), 'utf8');
    return (await launcherLives(folderOf(url))) ? url : null;
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return null;
    throw error;
  }
}

/** The running server of the data folder, whose `stop` then leaves it alone, or else one started for the caller. */
export async function borrowEmbedded(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  for (;;) {
    const url = await runningEmbedded(options.dataDir);
    if (url !== null) return { url, stop: async () => {} };
    const database = await tryStart(options);
    if (database !== 'taken') return database;
    await delay(100); // somebody else is starting it
  }
}

async function tryStart(options: EmbeddedOptions): Promise<EmbeddedPostgres | 'taken'> {
  const { dataDir, log, settings } = options;
  const place = await settle(dataDir);
  const sockets = await socketFolder(place);
  if (await isTaken(place, sockets)) return 'taken';
  const binaries = await usableBinaries({ account: place.account, home: dirname(place.cluster) });
  await initialise({ place, binaries });
  const launch = async () => {
    await prepareSocketFolder(sockets, place.account);
    return startPostmaster({ place, binaries, settings: { ...serverSettings(sockets), ...settings } });
  };
  const postmaster = await launchFirst({ place, sockets, launch });
  return postmaster === 'taken' ? 'taken' : keep({ place, sockets, launch, postmaster, log });
}

interface Launch {
  readonly place: Place;
  /** Socket folder. */
  readonly sockets: string;
  readonly launch: () => Promise<Postmaster>;
}

// PostgreSQL's own lock on its data directory, not our sockets, decides between two launchers.
async function launchFirst({ place, sockets, launch }: Launch): Promise<Postmaster | 'taken'> {
  const startMs = performance.now();
  for (;;) {
    const postmaster = await launch();
    if (await postmaster.reaches('locked')) return postmaster;
    if (await isTaken(place, sockets)) return 'taken';
    const words = await postmaster.lastWords();
    const waitedMs = performance.now() - startMs;
    if (!OCCUPIED.test(words) || waitedMs > PREDECESSOR_MS_MAX) {
      await removeSocketFolder(sockets);
      throw notStarted(place, words);
    }
    if (waitedMs > ORPHAN_MS) await interruptOrphan(place.cluster, sockets);
    await delay(100);
  }
}

// Said while a predecessor whose launcher was killed is shutting down, and while it removes our socket folder.
const OCCUPIED =
  /lock file "[^"]*" already exists|pre-existing shared memory block|could not create lock file/;
const PREDECESSOR_MS_MAX = 10_000;
// The predecessor's guard needs a tenth of a second; when nothing has ended by now, it was killed too.
const ORPHAN_MS = 2_000;

function notStarted({ dataDir }: Place, words: string): Error {
  return new Error(`The embedded database in ${dataDir} does not start: ${words}`);
}

async function keep(
  job: Launch & { postmaster: Postmaster; log: EmbeddedOptions['log'] },
): Promise<EmbeddedPostgres> {
  const { place, sockets, postmaster, log } = job;
  let running: { stop(): Promise<void> } = postmaster;
  let launcher: Server | undefined;
  const end = async () => {
    await rm(urlPath(place.dataDir), { force: true });
    launcher?.close();
    await running.stop();
    await removeSocketFolder(sockets);
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
    if (!(await postmaster.reaches('ready'))) throw notStarted(place, await postmaster.lastWords());
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

async function isTaken(place: Place, sockets: string): Promise<boolean> {
  if (await launcherLives(sockets)) return true;
  // Its TMPDIR, and so its folder, may be another than ours.
  const theirs = (await readPidFile(place.cluster))?.socketFolder;
  return theirs ? launcherLives(theirs) : false;
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
