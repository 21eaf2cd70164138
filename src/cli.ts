#!/usr/bin/env node
// The command line: accounts that no public route makes, migrations, and a radio in the terminal.
import http from 'node:http';
import https from 'node:https';
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { Command } from 'commander';
import { createPasswords } from './auth/passwords.js';
import { isSamplePassword } from './auth/samples.js';
import { isPassword } from './auth/schemas.js';
import { addAdmin, register, revokeUser } from './auth/store.js';
import { isUsername, normalizeUsername } from './auth/usernames.js';
import { listenToFile, talkFile } from './client/terminal.js';
import { readConfig } from './config.js';
import { type Database, openDatabase } from './db/client.js';
import { deadlineIn } from './db/deadline.js';
import { borrowEmbedded } from './db/embedded.js';
import { migrate } from './db/migrate.js';
import { checkSecrets, rewrapSecrets } from './keys/secrets.js';
import { createKeyring } from './keys/wrapping.js';
import { createLog } from './log.js';

/** A command has no request behind it: it may wait for a database that is just coming up. */
const COMMAND_MS = 10_000;

const program = new Command('talkgroup-radio').description(
  'Talkgroup Radio Service: administration and a radio in the terminal',
);

program
  .command('admin')
  .description('administrator accounts')
  .command('add')
  .argument('<username>', 'name of the account')
  .option('--promote', 'make an existing plain user an admin; it keeps its password')
  .description('add an administrator; the password is asked for, or read from standard input')
  .action(async (username: string, { promote = false }: { promote?: boolean }) => {
    const name = readUsername(username);
    const password = await readNewPassword();
    if (isSamplePassword(password, name)) fail('the password is one of those that are tried first');
    const passwordHash = await createPasswords().hash(password);
    const outcome = await withDatabase((database) =>
      addAdmin(database, deadlineIn(COMMAND_MS), { username: name, passwordHash, promote }),
    );
    if (outcome === 'kept') fail(`${name} is an admin already, and keeps its password`);
    if (outcome === 'plain_user') fail(`${name} is a plain user; --promote makes it an admin`);
    console.log(`${name}: ${outcome}`);
  });

program
  .command('user')
  .description('user accounts')
  .command('add')
  .argument('<username>', 'name of the account')
  .description('add a user, also while REGISTRATION is closed; the password is read as by admin add')
  .action(async (username: string) => {
    const name = readUsername(username);
    const passwordHash = await createPasswords().hash(await readNewPassword());
    const added = await withDatabase((database) =>
      register(database, deadlineIn(COMMAND_MS), { username: name, passwordHash }),
    );
    if (added === 'username_taken') fail(`username taken: ${name}`);
    console.log(`${name}: created`);
  });

program
  .command('revoke')
  .argument('<username>', 'whose phone was lost')
  .description(
    "refuse all of a user's tokens issued so far and close the user's live sockets; a new login works at once",
  )
  .action(async (username: string) => {
    const name = normalizeUsername(username);
    const known = await withDatabase((database) => revokeUser(database, deadlineIn(COMMAND_MS), name));
    if (!known) fail('no such user');
    console.log(`${name}: revoked`);
  });

program
  .command('migrate')
  .description('bring the database to the version of this code')
  .action(async () => {
    console.log(`database at version ${await withDatabaseUrl(migrate)}`);
  });

program
  .command('secrets')
  .description("the talkgroups' master secrets")
  .command('rotate')
  .description('wrap all of them with the first key of SECRETS_KEY; safe beside running nodes and to repeat')
  .action(async () => {
    const keyring = createKeyring(readConfig().SECRETS_KEY);
    const { wrapsWith } = keyring;
    if (wrapsWith === null) fail('SECRETS_KEY is not set: there is no key to wrap with');
    const { wrapped, unreadable, left } = await withDatabase(async (database) => {
      await checkSecrets(database, deadlineIn(COMMAND_MS), keyring);
      return rewrapSecrets(database, keyring);
    });
    console.log(`wrapped with key ${wrapsWith}: ${wrapped}`);
    if (unreadable.length > 0) fail(`damaged, left as they are: talkgroups ${unreadable.join(', ')}`);
    if (left > 0) fail(`left: ${left}, made meanwhile by nodes with another first key; run it again`);
  });

program
  .command('health')
  .description('whether the service on this machine is alive; exit code 1 when not')
  .action(async () => {
    const { PORT, TLS_CERT_FILE } = readConfig();
    if (!(await isAlive(PORT, TLS_CERT_FILE !== undefined))) fail('not alive');
  });

const radio = program.command('radio').description('a radio in the terminal');

radio
  .command('talk')
  .description('speak an Ogg Opus file into a talkgroup, in real time')
  .requiredOption('--url <url>', 'address of the relay, such as ws://127.0.0.1:3001')
  .requiredOption('--token <jwt>', 'access token from POST /auth/login')
  .requiredOption('--talkgroup <name or id>', 'a talkgroup the user is a member of')
  .requiredOption('--file <path>', 'what to say')
  .option('--priority <0..7>', 'from 4 on it preempts others, for admins and in an emergency', readPriority)
  .option('--queue', 'wait for the floor where somebody else talks')
  .action(
    async (options: {
      url: string;
      token: string;
      talkgroup: string;
      file: string;
      priority?: number;
      queue?: boolean;
    }) => {
      const { code } = await talkFile({
        ...options,
        signal: interrupted(),
        report: (line) => console.error(line),
      });
      if (code !== 'released') fail(`the talk ended: ${code}`);
    },
  );

radio
  .command('listen')
  .description('write what is heard to an Ogg Opus file, until Ctrl-C or so many bursts')
  .requiredOption('--url <url>', 'address of the relay, such as ws://127.0.0.1:3001')
  .requiredOption('--token <jwt>', 'access token from POST /auth/login')
  .requiredOption('--out <path>', 'file to write')
  .option('--talkgroup <name or id>', 'only this talkgroup')
  .option('--bursts <n>', 'end after so many talk bursts', readCount)
  .action(
    async (options: { url: string; token: string; out: string; talkgroup?: string; bursts?: number }) => {
      const heard = await listenToFile({
        ...options,
        signal: interrupted(),
        report: (line) => console.error(line),
      });
      console.log(`${options.out}: ${heard.bursts} bursts, ${heard.packets} packets`);
    },
  );

try {
  await program.parseAsync();
} catch (error) {
  fail((error as Error).message);
}

function fail(message: string): never {
  console.error(message);
  process.exit(1);
}

/** Asks over loopback, where the certificate's name is not ours to check. */
function isAlive(port: number, secure: boolean): Promise<boolean> {
  const options = { host: '127.0.0.1', port, path: '/healthz', timeout: 2000, rejectUnauthorized: false };
  return new Promise((resolve) => {
    const request = (secure ? https : http).get(options, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    request.on('error', () => resolve(false));
    request.on('timeout', () => request.destroy());
  });
}

function readCount(text: string): number {
  return /^[1-9]\d{0,5}$/.test(text) ? Number(text) : fail('--bursts takes a number from 1 on');
}

function readPriority(text: string): number {
  return /^[0-7]$/.test(text) ? Number(text) : fail('--priority takes a number from 0 to 7');
}

function interrupted(): AbortSignal {
  const controller = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => controller.abort());
  return controller.signal;
}

/** The running service's database, or the embedded one started for this command alone. */
async function withDatabaseUrl<T>(work: (url: string) => Promise<T>): Promise<T> {
  const config = readConfig();
  if (config.DATABASE_URL !== undefined) return work(config.DATABASE_URL);
  const embedded = await borrowEmbedded({ dataDir: config.DATA_DIR, log: createLog('warn') });
  try {
    return await work(embedded.url);
  } finally {
    await embedded.stop();
  }
}

function withDatabase<T>(work: (database: Database) => Promise<T>): Promise<T> {
  return withDatabaseUrl(async (url) => {
    await migrate(url);
    const database = openDatabase({ url, connections: 1, log: createLog('warn') });
    try {
      await database.up(deadlineIn(COMMAND_MS));
      return await work(database);
    } finally {
      await database.close();
    }
  });
}

function readUsername(text: string): string {
  if (!isUsername(text)) fail('the username must have 1 to 64 characters, none of them a control character');
  return normalizeUsername(text);
}

async function readNewPassword(): Promise<string> {
  const password = await askPassword();
  if (!isPassword(password)) fail('the password must have 1 to 72 bytes and no NUL');
  const lengthMin = readConfig().PASSWORD_MIN_LENGTH;
  if ([...password].length < lengthMin) fail(`the password must have at least ${lengthMin} characters`);
  return password;
}

/** From the terminal without echo, else the first line of standard input. */
async function askPassword(): Promise<string> {
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
