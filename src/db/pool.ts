// Opens the connections to the database: a pool, one connection that listens, and one that migrates.
import { setTimeout as pause } from 'node:timers/promises';
import postgres from 'postgres';
import { REQUEST_MS } from './deadline.js';
import { type OwnSockets, ownSockets } from './own-sockets.js';

export type Sql = postgres.Sql<{ timestamptz: string; int8: number }>;

/** One client of postgres.js. */
export interface Client<S = postgres.Sql> {
  readonly sql: S;
  /** Ends its connections when their statements are answered, and after `ms` whatever happens. */
  end(ms: number): Promise<void>;
}

export interface Pool extends Client<Sql> {
  /** When a statement was last answered (ms, monotonic). */
  answeredAt: number;
  /** What gives back the places of statements that still run although no caller waits for them. */
  readonly abandoned: Set<() => void>;
  /** On connections of its own: a statement whose caller gave up occupies one of the others until the server ends it. */
  readonly reserved: Sql;
}

/** Opens `connections` for all statements and `reserved` more for `readReserved`. */
export function createPool(url: string, connections: number, reserved: number): Pool {
  const ordinary = openClient(url, connections);
  const kept = reserved === 0 ? ordinary : openClient(url, reserved);
  return {
    sql: ordinary.sql,
    reserved: kept.sql,
    answeredAt: Number.NEGATIVE_INFINITY,
    abandoned: new Set(),
    async end(ms) {
      await Promise.all([...new Set([ordinary, kept])].map((client) => client.end(ms)));
    },
  };
}

function openClient(url: string, connections: number): Client<Sql> {
  const sockets = ownSockets();
  const sql = postgres(url, {
    ...common(sockets),
    max: connections,
    connect_timeout: 2,
    connection: {
      application_name: 'talkgroup-radio',
      DateStyle: 'ISO', // what the parser below reads
      // The server gives up when we do: a statement does not outlive its request.
      statement_timeout: REQUEST_MS,
      lock_timeout: LOCK_MS_MAX,
    },
    types: {
      // What the contract shows: ISO 8601 in UTC.
      timestamptz: {
        to: 1184,
        from: [1184],
        serialize: (value: string) => value,
        parse: (text: string) => new Date(text).toISOString(),
      },
      // Talkgroup numbers, session blocks and Unix seconds: all below 2^53.
      int8: { to: 20, from: [20], serialize: (value: number) => String(value), parse: Number },
    },
  });
  return { sql, end: (ms) => end({ sql, sockets, ms }) };
}

/**
 * Who waits for a lock is refused by the server, which surely did nothing then, before our deadline would leave that
 * open, but after the one second PostgreSQL lets pass before it looks for a deadlock.
 */
const LOCK_MS_MAX = 1200;

/** The name of such a connection, as PostgreSQL lists it in pg_stat_activity. Each node has one. */
const LISTENING = 'talkgroup-radio-notices';

/** The number of nodes that listen to this database. A node that starts at the same time may be missing. */
export const listeningNodes = (sql: Sql) => sql`
  (select count(*)::int from pg_stat_activity
   where datname = current_database() and application_name = ${LISTENING})`;

/** One connection that runs LISTEN, for notices.ts. It must not go through a transaction pooler. */
export function openListeningClient(url: string): Client {
  return openSingle(url, { name: LISTENING, connectS: 2, sockets: ownSockets() });
}

/**
 * A client for migrations, a backup and a restore: no deadline, because they may take their time, and one connection that is
 * never replaced, because a lock or a transaction would end with it unnoticed. `name` is how PostgreSQL lists it.
 */
export function openWorkClient(url: string, name: string): Client {
  return openSingle(url, { name, connectS: 5, sockets: ownSockets(1) });
}

interface Single {
  /** As PostgreSQL lists it in pg_stat_activity. */
  readonly name: string;
  /** Time limit for a new connection (s). */
  readonly connectS: number;
  readonly sockets: OwnSockets;
}

/** One connection that is kept for as long as it lives. */
function openSingle(url: string, { name, connectS, sockets }: Single): Client {
  const sql = postgres(url, {
    ...common(sockets),
    max: 1,
    connect_timeout: connectS,
    max_lifetime: null,
    connection: { application_name: name },
  });
  return { sql, end: (ms) => end({ sql, sockets, ms }) };
}

/** `socket` and `max_pipeline` are documented, but not in the types of postgres.js: hence an object of their own. */
const common = ({ socket }: OwnSockets) => ({
  socket,
  max_pipeline: 0, // a statement sent behind another would wait for that one's lock
  fetch_types: false, // one round trip less on every new connection. We use no array types of our own
  backoff: () => 0.05, // the breaker does the waiting
  onnotice: () => {},
});

async function end(client: { sql: postgres.Sql; sockets: OwnSockets; ms: number }): Promise<void> {
  // On a half-open link postgres.js waits for ever.
  await Promise.race([client.sql.end(), pause(client.ms, undefined, { ref: false })]);
  client.sockets.close();
}
