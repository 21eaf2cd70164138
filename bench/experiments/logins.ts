// Logs users in beside another load, with bcrypt as shipped.
import { hash } from '@node-rs/bcrypt';
import type { LoginsPiece, LoginsPlayed, LoginsSetup } from '../generator/loads/logins.js';
import type { Player } from '../generator/player.js';
import type { Bench } from '../scenario.js';
import type { Relay } from '../servers/relay.js';
import { enlist } from '../servers/users.js';

const PASSWORD = 'the same for everybody';
/** Of the service's own hashes. */
export const PASSWORD_COST = 10;

export type LoginsPlayer = Player<LoginsPiece, LoginsPlayed, null>;

/** Each login may have a connection of its own. */
export async function withLogins<T>(
  bench: Bench,
  { relay, users: count }: { readonly relay: Relay; readonly users: number },
  use: (logins: LoginsPlayer) => Promise<T>,
): Promise<T> {
  const users = await enlist(relay, { users: count, passwordHash: await hash(PASSWORD, PASSWORD_COST) });
  const { restUrl: url, jwtSecret } = relay;
  return bench.withPlayer<LoginsSetup, LoginsPiece, LoginsPlayed, null, T>(
    new URL('../generator/loads/logins.js', import.meta.url),
    { url, connectionsMax: count, users, password: PASSWORD, jwtSecret },
    use,
  );
}
