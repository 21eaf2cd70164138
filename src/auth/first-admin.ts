// Creates the administrator that the settings name, at the start of the service.
import { randomBytes } from 'node:crypto';
import type { Actor } from '../db/acts.js';
import type { Database } from '../db/client.js';
import { deadlineIn, REQUEST_MS } from '../db/deadline.js';
import { ConfigError } from '../errors.js';
import type { Passwords } from './passwords.js';
import { addAdmin, hasAdmin } from './store.js';

/** The service, as the audit log names it. */
export const SERVICE: Actor = { id: null, name: 'service', way: 'service' };

export interface AdminParts {
  readonly config: {
    readonly ADMIN_USERNAME: string;
    readonly ADMIN_PASSWORD?: string | undefined;
    readonly DATABASE_URL?: string | undefined;
  };
  readonly database: Database;
  readonly passwords: Passwords;
  readonly log: { warn(fields: object, message: string): void };
}

/**
 * Creates the admin ADMIN_USERNAME if missing. The password, when it was generated. With an external database and no
 * ADMIN_PASSWORD it creates none.
 */
export async function makeAdmin({ config, database, passwords, log }: AdminParts): Promise<string | null> {
  const generated = config.ADMIN_PASSWORD === undefined && config.DATABASE_URL === undefined;
  const password = config.ADMIN_PASSWORD ?? (generated ? randomBytes(12).toString('base64url') : null);
  if (password === null) {
    if (await hasAdmin(database, deadlineIn(REQUEST_MS), config.ADMIN_USERNAME)) return null;
    log.warn({ username: config.ADMIN_USERNAME }, 'no admin created: ADMIN_PASSWORD is not set');
    return null;
  }
  const passwordHash = await passwords.hash(password);
  const outcome = await addAdmin(database, deadlineIn(REQUEST_MS), {
    ...{ username: config.ADMIN_USERNAME, passwordHash, by: SERVICE },
  });
  if (outcome === 'plain_user') {
    throw new ConfigError(
      `ADMIN_USERNAME must not be the name of a plain user, got "${config.ADMIN_USERNAME}". Choose another name. If you know the user, promote it with 'admin add --promote'. If not, give it a password with 'user set-password' before.`,
    );
  }
  return outcome === 'created' && generated ? password : null;
}
