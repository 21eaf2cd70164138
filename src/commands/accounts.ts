// Runs the commands that manage accounts.
import { randomBytes } from 'node:crypto';
import { createPasswords } from '../auth/passwords.js';
import { passwordToo, setPassword } from '../auth/setting/store.js';
import { storeCode } from '../auth/setup/store.js';
import { accountNamed, addAdmin, promote } from '../auth/store.js';
import { setupLink } from '../client/setup-link.js';
import { readConfig } from '../config/config.js';
import { isSamplePassword } from '../credentials/samples.js';
import { HOURS_MAX, newSetupCode } from '../credentials/setup-codes.js';
import { normalizeUsername } from '../credentials/usernames.js';
import type { Database } from '../db/client.js';
import { takeBack } from '../db/revocation.js';
import { fail, inDataDir, operator, readNewPassword, readUsername, soon, withDatabase } from './running.js';

/** Adds an administrator. Asks for the password. */
export async function addAdminCommand(username: string): Promise<void> {
  const name = readUsername(username);
  const password = await readNewPassword();
  if (isSamplePassword(password, name)) fail('this password is too common: choose another one');
  const passwordHash = await createPasswords().hash(password);
  const outcome = await withDatabase(
    (database) => addAdmin(database, soon(), { username: name, passwordHash, by: operator() }),
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
    promote(database, soon(), { username, by: operator() }),
  );
}

/** Makes an administrator a plain user, and voids all its tokens. */
export async function removeAdminCommand(username: string): Promise<void> {
  const name = readUsername(username);
  if (name === readConfig().ADMIN_USERNAME)
    fail(`${name} is ADMIN_USERNAME: set another one before, or the service will not start`);
  const outcome = await withDatabase(
    async (database) => {
      const account = await accountNamed(database, soon(), name);
      if (account?.role !== 'admin') return account === null ? 'unknown' : 'plain';
      return takeBack(database, soon(), {
        ...{ username: name, by: operator(), act: 'admin_removed' },
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

/** Sets the password of a user, and revokes all tokens unless they are kept. Asks for the password. */
export async function setPasswordCommand(
  username: string,
  { keepTokens = false }: { keepTokens?: boolean },
): Promise<void> {
  const password = await readNewPassword();
  if (!keepTokens)
    return takeBackWith(username, password, { act: 'password_set', done: 'password set, revoked' });
  const name = normalizeUsername(username);
  const passwordHash = await createPasswords().hash(password);
  await withKnownUser(name, 'password set', (database) =>
    setPassword(database, soon(), { username: name, passwordHash, by: operator() }),
  );
}

/** Sets a password that no user knows, and revokes all tokens. */
export const lockCommand = (username: string): Promise<void> =>
  takeBackWith(username, randomBytes(24).toString('base64url'), {
    act: 'user_locked',
    done: "locked, until 'user set-password' sets a password",
  });

async function takeBackWith(
  text: string,
  password: string,
  { act, done }: { act: 'password_set' | 'user_locked'; done: string },
): Promise<void> {
  const username = normalizeUsername(text);
  const also = passwordToo(await createPasswords().hash(password));
  await withKnownUser(username, done, (database) =>
    takeBack(database, soon(), { username, by: operator(), act, also, withLogins: true }),
  );
}

/** Makes a setup code, and prints it with its link. */
export async function setupCodeCommand(
  text: string,
  { hours, address }: { hours: string; address?: string },
): Promise<void> {
  const username = normalizeUsername(text);
  const wanted = readHours(hours);
  const origin = address === undefined ? null : readOrigin(address);
  const { text: code, hash } = newSetupCode();
  const expiresAt = await withDatabase(
    async (database) => {
      const account = await accountNamed(database, soon(), username);
      if (account === null) return null;
      const order = { user: account.id, hash, hours: wanted, mayBeAdmin: true, by: operator() };
      return storeCode(database, soon(), order);
    },
    { mayCreate: false },
  );
  if (expiresAt === null) fail(`no such user: ${username}`);
  console.log(`${code}\nvalid until ${expiresAt}`);
  if (origin !== null) console.log(setupLink(origin, code));
}

/** Of a setup code. */
export function readHours(text: string): number {
  const hours = /^[1-9]\d{0,2}$/.test(text) ? Number(text) : 0;
  if (hours < 1 || hours > HOURS_MAX)
    fail(`--hours must be an integer from 1 to ${HOURS_MAX}, got "${text}"`);
  return hours;
}

/** The part of the address that the link begins with. */
export function readOrigin(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (
    url === null ||
    !['https:', 'http:'].includes(url.protocol) ||
    (url.pathname !== '/' && url.pathname !== '')
  )
    fail(`--address must be an address such as https://radio.example.com, got "${text}"`);
  return url.origin;
}

/** Revokes all tokens issued so far to a user. */
export async function revokeCommand(text: string): Promise<void> {
  const username = normalizeUsername(text);
  await withKnownUser(username, 'revoked', (database) =>
    takeBack(database, soon(), { username, by: operator(), act: 'tokens_revoked' }),
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
