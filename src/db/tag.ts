// Tells databases apart, so that nodes of two of them never take each other for nodes of one service.
import { createHash } from 'node:crypto';
import type { Database } from './client.js';
import type { Deadline } from './deadline.js';

/**
 * A u32 that all nodes of one database read, before and after a failover to a standby. A dump that is restored is another
 * database. LIMIT: a copy of the server's files, such as a snapshot of its disk, is the same one. Nothing in the files can
 * tell a copy from a standby that took over. Refuses like `read`.
 */
export async function databaseTag(database: Database, deadline: Deadline): Promise<number> {
  const [found] = await database.read<{ identity: string }>(
    deadline,
    (sql) => sql`
      select system_identifier || '.' || pg_database.oid as identity
      from pg_control_system(), pg_database
      where datname = current_database()`,
  );
  if (found === undefined) throw new Error('the current database is not in pg_database');
  return createHash('sha256').update(found.identity).digest().readUInt32BE();
}
