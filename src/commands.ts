// Runs the commands that need the settings or the database. cli.ts loads it when one of them runs.
import { randomBytes } from 'node:crypto';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { createPasswords } from './auth/passwords.js';
import { accountNamed, addAdmin, promote, register, setPassword } from './auth/store.js';
import { namesSet, readConfig, readSettings } from './config/config.js';
import { effectiveSettings } from './config/effective.js';
import { settingsAsEnvFile, settingsAsJsonSchema, settingsAsMarkdown } from './config/reference.js';
import { isPassword } from './credentials/passwords.js';
import { isSamplePassword } from './credentials/samples.js';
import { isNewUsername, normalizeUsername } from './credentials/usernames.js';
import { type Database, openDatabase } from './db/client.js';
import { deadlineIn } from './db/deadline.js';
import { borrowEmbedded, hasEmbedded } from './db/embedded.js';
import { migrate } from './db/migrate.js';
import { takeBack } from './db/revocation.js';
import { EPOCHS_KEPT } from './db/rotation.js';
import { type HolderId, readId, type TalkgroupId } from './ids.js';
import { exportEpochs } from './keys/exporting.js';
import { checkSecrets, renewSecretOf, rewrapSecrets } from './keys/secrets.js';
import { createKeyring } from './keys/wrapping.js';
import { createLog } from './log.js';
import { CLEAR_TEXT_RULE } from './text.js';
import { askToReload } from './tls/reload.js';

/** Time limit of a command (ms). No request waits for it, so it can wait for a database that is starting. */
const COMMAND_MS = 10_000;

/** Adds an administrator. Asks for the password. */
export async function addAdminCommand(username: string): Promise<void> {
  const name = readUsername(username);
  const password = await readNewPassword();
  if (isSamplePassword(password, name)) fail('this password is too common: choose another one');
  const passwordHash = await createPasswords().hash(password);
  const outcome = await withDatabase(
    (database) => addAdmin(database, deadlineIn(COMMAND_MS), { username: name, passwordHash }),
    { mayCreate: true },
  );
  if (outcome === 'kept') fail(`${name} is already an admin: nothing was changed`);
  if (outcome === 'plain_user') fail(`${name} is a plain user: use --promote to make it an admin`);
  console.log(`${name}: ${outcome}${inDataDir()}`);
}

/** Makes an existing user an administrator. */
export async function promoteCommand(text: string): Promise<void> {
  const username = readUsername(text);
  await withKnownUser(username, `promoted${inDataDir()}`, (database) =>
    promote(database, deadlineIn(COMMAND_MS), username),
  );
}

/** Makes an administrator a plain user, and voids all its tokens. */
export async function removeAdminCommand(username: string): Promise<void> {
  const name = readUsername(username);
  if (name === readConfig().ADMIN_USERNAME)
    fail(`${name} is ADMIN_USERNAME: set another one before, or the service will not start`);
  const outcome = await withDatabase(
    async (database) => {
      const account = await accountNamed(database, deadlineIn(COMMAND_MS), name);
      if (account?.role !== 'admin') return account === null ? 'unknown' : 'plain';
      return takeBack(database, deadlineIn(COMMAND_MS), {
        username: name,
        isDemoted: true,
        withLogins: true,
      });
    },
    { mayCreate: false },
  );
  if (outcome === 'unknown') fail(`no such user: ${name}`);
  if (outcome === 'plain') fail(`${name} is a plain user: nothing was changed`);
  if (!outcome) fail(`${name} is the only admin: add another one before`);
  console.log(`${name}: a plain user now, revoked`);
}

/** Sets the password of a user, and revokes all tokens. Asks for the password. */
export const setPasswordCommand = async (username: string): Promise<void> =>
  takeBackWith(username, await readNewPassword(), 'password set, revoked');

/** Sets a password that nobody knows, and revokes all tokens. */
export const lockCommand = (username: string): Promise<void> =>
  takeBackWith(
    username,
    randomBytes(24).toString('base64url'),
    "locked, until 'user set-password' sets a password",
  );

async function takeBackWith(text: string, password: string, done: string): Promise<void> {
  const username = normalizeUsername(text);
  const passwordHash = await createPasswords().hash(password);
  await withKnownUser(username, done, async (database) => {
    // First, so that a login behind the revocation has no other one.
    const isKnown = await setPassword(database, deadlineIn(COMMAND_MS), { username, passwordHash });
    return isKnown && takeBack(database, deadlineIn(COMMAND_MS), { username, withLogins: true });
  });
}

/** Adds a user, also while REGISTRATION is closed. Asks for the password. */
export async function addUserCommand(username: string): Promise<void> {
  const name = readUsername(username);
  const passwordHash = await createPasswords().hash(await readNewPassword());
  const added = await withDatabase(
    (database) => register(database, deadlineIn(COMMAND_MS), { username: name, passwordHash }),
    { mayCreate: true },
  );
  if (added === 'username_taken') fail(`username taken: ${name}`);
  console.log(`${name}: created${inDataDir()}`);
}

/** Revokes all tokens issued so far to a user. */
export async function revokeCommand(text: string): Promise<void> {
  const username = normalizeUsername(text);
  await withKnownUser(username, 'revoked', (database) =>
    takeBack(database, deadlineIn(COMMAND_MS), { username }),
  );
}

/** Prints what was done. `work` resolves with false for a user that is not known. */
async function withKnownUser(
  username: string,
  done: string,
  work: (database: Database) => Promise<boolean>,
): Promise<void> {
  if (!(await withDatabase(work, { mayCreate: false }))) fail(`no such user: ${username}`);
  console.log(`${username}: ${done}`);
}

/** Migrates the database to the schema version of this release. */
export async function migrateCommand(): Promise<void> {
  console.log(`database at version ${await withDatabaseUrl(migrate, { mayCreate: true })}`);
}

/** Encrypts the master secrets with the first key of SECRETS_KEY. */
export async function rotateSecretsCommand(): Promise<void> {
  const keyring = createKeyring(readConfig().SECRETS_KEY);
  const { wrapsWith } = keyring;
  if (wrapsWith === null) fail('SECRETS_KEY is not set: no key to encrypt with');
  const { wrapped, unreadable, left } = await withDatabase(
    async (database) => {
      await checkSecrets(database, deadlineIn(COMMAND_MS), keyring);
      return rewrapSecrets(database, keyring);
    },
    { mayCreate: false },
  );
  console.log(`secrets encrypted with key ${wrapsWith}: ${wrapped}`);
  if (unreadable.length > 0) fail(`cannot decrypt the secrets of these talkgroups: ${unreadable.join(', ')}`);
  if (left > 0) fail(`${left} secrets were added by nodes with a different first key: run the command again`);
}

/** Prints the keys of a talkgroup, sealed for one key holder, as JSON. */
export async function exportSecretsCommand(options: ExportOptions): Promise<void> {
  const talkgroup = readIdOf<TalkgroupId>('--talkgroup', options.talkgroup);
  const holder = readIdOf<HolderId>('--holder', options.holder);
  const epochs = /^[1-9]\d?$/.test(options.epochs) ? Number(options.epochs) : 0;
  if (epochs < 1 || epochs > EPOCHS_KEPT)
    fail(`--epochs must be an integer from 1 to ${EPOCHS_KEPT}, got "${options.epochs}"`);
  const keyring = createKeyring(readConfig().SECRETS_KEY);
  const parts = { keyring, log: createLog('warn'), ms: COMMAND_MS };
  const exported = await withDatabase(
    (database) => exportEpochs({ database, ...parts }, { talkgroup, holder, epochs }),
    { mayCreate: false },
  );
  if (exported === null)
    fail(
      `key holder ${holder} gets no keys of talkgroup ${talkgroup}: accept it, and permit its user, a member, to have keys`,
    );
  if (typeof exported === 'string') fail(cannotDecrypt(talkgroup, exported));
  console.log(JSON.stringify(exported));
}

export interface ExportOptions {
  readonly talkgroup: string;
  readonly holder: string;
  readonly epochs: string;
}

const cannotDecrypt = (talkgroup: TalkgroupId, why: 'unknown_key' | 'damaged') =>
  why === 'unknown_key'
    ? `cannot decrypt the secret of talkgroup ${talkgroup}: set SECRETS_KEY as for the service`
    : `cannot decrypt the secret of talkgroup ${talkgroup}: it was changed in the database`;

interface RenewOptions {
  readonly talkgroup: string;
  readonly restored?: boolean;
}

/** Replaces the master secret of a talkgroup and rotates its keys. */
export async function renewSecretCommand(options: RenewOptions): Promise<void> {
  const { restored: isRestored = false } = options;
  const talkgroup = readIdOf<TalkgroupId>('--talkgroup', options.talkgroup);
  const keyring = createKeyring(readConfig().SECRETS_KEY);
  const renewed = await withDatabase(
    async (database) => {
      await checkSecrets(database, deadlineIn(COMMAND_MS), keyring); // else nodes could not decrypt the new one
      return renewSecretOf(database, deadlineIn(COMMAND_MS), { talkgroup, keyring, isRestored });
    },
    { mayCreate: false },
  );
  if (renewed === null) fail(`no such talkgroup: ${talkgroup}`);
  if (renewed === 'no_secrets_key')
    fail(`SECRETS_KEY is not set, and the secret of talkgroup ${talkgroup} is encrypted`);
  console.log(`${talkgroup}: renewed, rotation counter ${renewed.rotation_counter}`);
}

function readIdOf<Id extends TalkgroupId | HolderId>(option: string, text: string): Id {
  return readId<Id>(text) ?? fail(`${option} must be an id, got "${text}"`);
}

/** Makes the running service read its certificate now. */
export async function reloadCommand(): Promise<void> {
  const config = readSettings();
  const { isPresented, text } = await askToReload(config);
  if (!isPresented) fail(text);
  console.log(text);
}

/** Prints the effective settings, or with a format the reference of all settings. */
export function configCommand(format?: keyof typeof references): void {
  console.log(format === undefined ? effectiveSettings(readConfig(), namesSet()) : references[format]());
}

const references = { md: settingsAsMarkdown, env: settingsAsEnvFile, json: settingsAsJsonSchema };

/** Throws ConfigError when a setting is wrong. */
export const checkSettings = (): void => void readConfig();

function fail(message: string): never {
  throw new Error(message);
}

/** The data directory for a message. Empty with DATABASE_URL. */
function inDataDir(): string {
  const { DATABASE_URL, DATA_DIR } = readConfig();
  return DATABASE_URL === undefined ? ` in DATA_DIR ${resolve(DATA_DIR)}` : '';
}

interface Creation {
  /** Without an embedded database in DATA_DIR, a command creates one (true) or fails (false). */
  readonly mayCreate: boolean;
}

/** Uses the database of the running service, or starts the embedded one for this command alone. */
async function withDatabaseUrl<T>(work: (url: string) => Promise<T>, { mayCreate }: Creation): Promise<T> {
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

function withDatabase<T>(work: (database: Database) => Promise<T>, creation: Creation): Promise<T> {
  return withDatabaseUrl(async (url) => {
    await migrate(url);
    const database = openDatabase({ url, connections: 1, log: createLog('warn') });
    try {
      await database.up(deadlineIn(COMMAND_MS));
      return await work(database);
    } finally {
      await database.close();
    }
  }, creation);
}

function readUsername(text: string): string {
  if (!isNewUsername(text)) fail(`the username must have 1 to 64 characters and ${CLEAR_TEXT_RULE}`);
  return normalizeUsername(text);
}

async function readNewPassword(): Promise<string> {
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
