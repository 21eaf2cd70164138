// Runs the command that prints tokens of users, for programs that connect as them, such as a load test.
import { secretIfKept } from '../auth/secret.js';
import { claimsFor, type Obstacle } from '../auth/token-making/store.js';
import { createTokenSigner } from '../auth/tokens.js';
import { readConfig } from '../config/config.js';
import { normalizeUsername } from '../credentials/usernames.js';
import { fail, inDataDir, operator, soon, withDatabase } from './running.js';

/** Prints a line for each user: name, tab, token. With one user that gets none it prints nothing and writes no act. */
export async function tokenCommand(names: readonly string[]): Promise<void> {
  const usernames = [...new Set(names.map(normalizeUsername))];
  const lines = await withDatabase(
    async (database) => {
      const sign = createTokenSigner(await keyOfTokens());
      const made = await claimsFor(database, soon(), { usernames, by: operator() });
      const refused = made.flatMap((one) => ('why' in one ? [reasonOf(one)] : []));
      if (refused.length > 0) fail(refused.join('\n'));
      return made.map((one) => ('why' in one ? '' : `${one.username}\t${sign(one)}\n`));
    },
    { mayCreate: false },
  );
  process.stdout.write(lines.join(''));
}

/** That of the service. This makes none: no service would know it. */
async function keyOfTokens(): Promise<string> {
  const { JWT_SECRET, DATA_DIR } = readConfig();
  const key = JWT_SECRET ?? (await secretIfKept(DATA_DIR));
  return key ?? fail(`no token key${inDataDir()}: start the service once, or set JWT_SECRET as for it`);
}

function reasonOf({ username, why }: Obstacle): string {
  if (why === 'unknown') return `no such user: ${username}`;
  // A token does not expire, and in a file it would open all that an administrator may do to each reader of the file.
  if (why === 'admin') return `${username} is an admin: this command makes no token of an administrator`;
  return `${username}: the device of the user is disabled. Enable it before: no token works until then`;
}
