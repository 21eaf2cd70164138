// Compares the connections that the nodes of one database keep with those that its server allows.
import type { Database } from './client.js';
import type { Deadline } from './deadline.js';
import { listeningNodes } from './pool.js';

/**
 * Of the pool of each relay thread. Its loads of memberships and positions are batched and short, so a few do. One of
 * several threads loads fewer sessions.
 */
export const relayConnections = (threads: number): number => (threads > 1 ? 3 : 4);

/**
 * Most connections that a node keeps: the pool of the main thread, a pool for each relay thread, and one that listens. For
 * a few seconds there are more: one that migrates, and both pools while one replaces the other.
 */
export const connectionsOfNode = ({ pool, threads }: { pool: number; threads: number }): number =>
  pool + threads * relayConnections(threads) + 1;

interface Told {
  /** Connections of one node. */
  readonly connectionsOfNode: number;
  /** Nodes that listen already, and this one. A node that starts at the same time may be missing. */
  readonly nodes: number;
  /** That the server allows for ordinary roles. */
  readonly connectionsMax: number;
}

/** Logs how many connections the nodes need, and warns when the server allows fewer. Refuses like `read`. */
export async function checkConnections(
  database: Database,
  deadline: Deadline,
  { ofNode, log }: { ofNode: number; log: Log },
): Promise<void> {
  const [found] = await database.read<{ others: number; max: number }>(
    deadline,
    (sql) => sql`
      select
        ${listeningNodes(sql)} as others,
        current_setting('max_connections')::int
          - current_setting('superuser_reserved_connections')::int
          - coalesce(current_setting('reserved_connections', true), '0')::int as max`,
  );
  if (found === undefined) return;
  const told: Told = {
    connectionsOfNode: ofNode,
    nodes: found.others + 1,
    connectionsMax: found.max,
  };
  if (told.nodes * ofNode <= told.connectionsMax) log.info(told, 'database connections suffice');
  else log.warn(told, 'database connections do not suffice: raise max_connections, or lower DATABASE_POOL');
}

interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}
