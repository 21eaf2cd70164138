// What the commands share: the database of the service, passwords from the prompt, and how a command fails.
import { type FileHandle, open } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { readConfig } from '../config/config.js';
import { isPassword } from '../credentials/passwords.js';
import { isNewUsername, normalizeUsername } from '../credentials/usernames.js';
import type { Actor } from '../db/acts.js';
import { type Database, openDatabase } from '../db/client.js';
import { type Deadline, DeadlineError, deadlineIn } from '../db/deadline.js';
import { borrowEmbedded, hasEmbedded } from '../db/embedded.js';
import { migrate } from '../db/migrate.js';
import { hasCode } from '../files.js';
import { createLog } from '../log.js';
import { CLEAR_TEXT_RULE } from '../text.js';

/** Time limit of a statement of a command (ms). No request waits for it, so it can wait for a database that is starting. */
export const COMMAND_MS = 10_000;

/** Of one statement. */
export const soon = (): Deadline => deadlineIn(COMMAND_MS);

/** Who runs this command, as the audit log names it: the account of the system. */
export const operator = (): Actor => ({ id: null, name: `command ${accountName()}`, way: 'command' });

function accountName(): string {
  try {
    return userInfo().username;
  } catch {
    // Expected in a container whose user is a number only.
    return String(process.getuid?.() ?? 'unknown');
  }
}

/** cli.ts prints the message, and the exit code is 1. */
export function fail(message: string): never {
  throw new Error(message);
}

/** The data directory for a message. Empty with DATABASE_URL. */
export function inDataDir(): string {
  const { DATABASE_URL, DATA_DIR } = readConfig();
  return DATABASE_URL === undefined ? ` in DATA_DIR ${resolve(DATA_DIR)}` : '';
}

/** Ctrl-C and SIGTERM end the process behind `act`. The answer takes that back. */
export function whenInterrupted(act: () => void): () => void {
  const end = () => {
    act();
    process.exit(1);
  };
  const signals = ['SIGINT', 'SIGTERM'] as const;
  for (const signal of signals) process.once(signal, end);
  return () => {
    for (const signal of signals) process.off(signal, end);
  };
}

interface Creation {
  /** Without an embedded database in DATA_DIR, a command creates one (true) or fails (false). */
  readonly mayCreate: boolean;
}

/** Uses the database of the running service, or starts the embedded one for this command alone. */
export async function withDatabaseUrl<T>(
  work: (url: string) => Promise<T>,
  { mayCreate }: Creation,
): Promise<T> {
  const config = readConfig();
  if (config.DATABASE_URL !== undefined) return work(config.DATABASE_URL);
  if (!(await hasEmbedded(config.DATA_DIR))) {
    // An operator who forgot DATA_DIR would otherwise read `no such user` of an empty database.
    if (!mayCreate) fail(`no database${inDataDir()}: set DATA_DIR or DATABASE_URL as for the service`);
    console.error(`new database${inDataDir()}`);
  }
  const embedded = await borrowEmbedded({ dataDir: config.DATA_DIR, log: createLog('warn') });
  try {
    return await work(embedded.url);
  } finally {
    await embedded.stop();
  }
}

export function withDatabase<T>(work: (database: Database) => Promise<T>, creation: Creation): Promise<T> {
  return withDatabaseUrl(async (url) => {
    await migrate(url).catch(unanswered);
    const database = openDatabase({ url, connections: 1, log: createLog('warn') });
    try {
      await database.up(soon());
      return await work(database);
    } finally {
      await database.close();
    }
  }, creation);
}

/** Of a database that is away, slow or stands still. */
function unanswered(error: unknown): never {
  if (error instanceof DeadlineError)
    fail('the database did not answer in time: look at PostgreSQL and the network to it');
  throw error;
}

/** Of an account that does not exist yet. In NFC. */
export function readUsername(text: string): string {
  if (!isNewUsername(text)) fail(`the username must have 1 to 64 characters and ${CLEAR_TEXT_RULE}`);
  return normalizeUsername(text);
}

export async function readNewPassword(): Promise<string> {
  const password = await readPassword();
  if (!isPassword(password)) fail('the password must have 1 to 72 bytes of UTF-8 without NUL');
  const lengthMin = readConfig().PASSWORD_MIN_LENGTH;
  if ([...password].length < lengthMin) fail(`the password must have at least ${lengthMin} characters`);
  return password;
}

/** Reads from the terminal without echo, else the first line of standard input. */
export async function readPassword(): Promise<string> {
  const { stdin, stderr } = process;
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  if (stdin.isTTY) stderr.write('Password: ');
  const lines = createInterface({ input: stdin, output: silent, terminal: stdin.isTTY });
  for await (const line of lines) {
    lines.close();
    if (stdin.isTTY) stderr.write('\n');
    return line;
  }
  return '';
}

const OWNER_ONLY = 0o600;

/** That only its owner can read. It replaces none. */
export async function createNew(file: string): Promise<FileHandle> {
  try {
    return await open(file, 'wx', OWNER_ONLY);
  } catch (error) {
    if (hasCode(error, 'EEXIST')) fail(`${file} exists: it is not replaced`);
    throw error;
  }
}
