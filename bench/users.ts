// A fleet of users in one talkgroup, written straight into the database of a running relay.
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createSigner } from 'fast-jwt';
import postgres from 'postgres';
import type { Relay } from './server.js';

/** Users that are members of one talkgroup, each with a token. */
export interface Fleet {
  /** The talkgroup's number, as frames carry it. */
  readonly talkgroup: number;
  readonly tokens: readonly string[];
}

/** Nobody logs in with it: registering a thousand users over REST would hash for a minute. */
const PASSWORD_HASH = '$2b$10$benchbenchbenchbenchbenchbenchbenchbenchbenchbenchbenc';

/** Must run before any of the users connects: it sends no notices. */
export async function enlist({ dataDir, jwtSecret }: Relay, count: number): Promise<Fleet> {
  const url = await readFile(join(dataDir, 'postgres.url'), 'utf8');
  const sql = postgres(url, { max: 1, fetch_types: false });
  try {
    const users = await sql<{ id: string; username: string }[]>`
      insert into users (username, password_hash)
      select 'bench-' || n, ${PASSWORD_HASH} from generate_series(1, ${count}::int) as n
      returning id, username`;
    const [talkgroup] = await sql<{ id: string; number: string }[]>`
      insert into talkgroups (name, master_secret) values ('bench', ${randomBytes(32)}) returning id, number`;
    if (talkgroup === undefined) throw new Error('insert returned no row');
    await sql`
      insert into memberships (user_id, talkgroup_id, site)
      select id, ${talkgroup.id}::uuid, 'bench' from users where username like 'bench-%'`;
    const sign = createSigner({ key: jwtSecret, algorithm: 'HS256' });
    return {
      talkgroup: Number(talkgroup.number),
      tokens: users.map(({ id, username }) => sign({ sub: id, username, role: 'user' })),
    };
  } finally {
    await sql.end();
  }
}
