// The guarded SQL client: every statement of the service goes through here, and none can hang, pile up or crash us.
//
// Around postgres.js stand, from the outside in: a circuit breaker (a database known to be away costs nothing),
// a gate (a bounded number of statements in flight, a bounded queue before it), a deadline for each statement,
// one retry where the database itself asks for it, and a pool that is thrown away whole when it misbehaves.
import postgres from 'postgres';
import { AppError } from '../errors.js';

export type Sql = postgres.Sql<{ timestamptz: string; int8: number }>;
type Statement<Row extends object> = (sql: Sql) => Promise<Row[]>;

/** A moment on the monotonic clock (ms, `performance.now()`) after which nobody waits any more. */
export interface Deadline {
  readonly at: number;
}

/** The deadline of work that may take `ms` milliseconds from now. */
export const deadlineIn = (ms: number): Deadline => ({ at: performance.now() + ms });

/** From arrival to answer, a REST request has this long for the gate, all statements and a retry. */
export const REQUEST_MS = 2500;
/** A single read may take this long of it. */
export const READ_MS_MAX = 1500;

export interface Database {
  /** Runs one statement that changes nothing. Refuses with `database_unavailable`. */
  read<Row extends object>(deadline: Deadline, statement: Statement<Row>): Promise<Row[]>;
  /**
   * Runs one statement that changes something. Refuses with `database_unavailable` when it surely did nothing and
   * with `outcome_unknown` when it was sent and not answered.
   */
  write<Row extends object>(deadline: Deadline, statement: Statement<Row>): Promise<Row[]>;
  /** Waits until the database answers; refuses with `database_unavailable` at the deadline. For commands. */
  up(deadline: Deadline): Promise<void>;
  /** null while the database answers, else why it does not. */
  trouble(): string | null;
  /** Ends all connections; what is in flight has one second. */
  close(): Promise<void>;
}

export interface DatabaseOptions {
  readonly url: string;
  readonly connections: number;
  /** Statements are refused until this resolves: a database that is not migrated yet is no database. */
  readonly after?: Promise<void>;
  readonly log: { warn(fields: object, message: string): void; info(fields: object, message: string): void };
}

/** In flight at once: postgres.js pipelines, so more than connections; few enough that each meets its deadline. */
const IN_FLIGHT_MAX = 64;
/** Waiting for the gate; one more is refused at once. 512 reads of 1 ms each drain within half a second. */
const WAITING_MAX = 512;
/** Between two probes of a database that is away: back within 2 s of its coming, and no hammering meanwhile. */
const PROBE_PAUSE_MS = 200;
const PROBE_MS_MAX = 1000;

/** Opens the guarded client. It starts closed to callers and opens with the first successful probe. */
export function openDatabase({ url, connections, log, after = Promise.resolve() }: DatabaseOptions): Database {
  const gate = createGate();
  let pool = createPool(url, connections);
  let reason: string | null = 'connecting';
  let probing = false;
  let closed = false;
  void after.then(probeUntilUp);

  async function run<Row extends object>(
    kind: 'read' | 'write',
    deadline: Deadline,
    statement: Statement<Row>,
  ) {
    if (reason !== null) throw new AppError('database_unavailable');
    await gate.enter(deadline);
    try {
      return await attempt(kind, deadline, statement, true);
    } finally {
      gate.leave();
    }
  }

  async function attempt<Row extends object>(
    kind: 'read' | 'write',
    deadline: Deadline,
    statement: Statement<Row>,
    mayRetry: boolean,
  ): Promise<Row[]> {
    const used = pool;
    const at = kind === 'read' ? Math.min(deadline.at, performance.now() + READ_MS_MAX) : deadline.at;
    try {
      return await within(at, statement(used));
    } catch (error) {
      const fault = faultOf(error);
      if (fault === 'statement') throw error;
      if (fault === 'invalid_text')
        throw new AppError('bad_request', 'a text holds characters that cannot be stored');
      if (fault === 'lost' || fault === 'unreachable' || fault === 'read_only') distrust(used, error);
      if (mayRetry && (fault === 'conflict' || fault === 'read_only'))
        return attempt(kind, deadline, statement, false);
      throw new AppError(kind === 'write' && fault === 'lost' ? 'outcome_unknown' : 'database_unavailable');
    }
  }

  /** After a deadline or a connection error no connection of that pool is worth a second try. */
  function distrust(used: Sql, error: unknown): void {
    if (used !== pool || closed) return;
    log.warn({ reason: reasonOf(error) }, 'database pool replaced');
    pool = createPool(url, connections);
    retire(used);
    void probeUntilUp();
  }

  /** One probe at a time; callers are refused from the first failed probe to the first that succeeds. */
  async function probeUntilUp(): Promise<void> {
    if (probing) return;
    probing = true;
    while (!closed) {
      const used = pool;
      try {
        await within(performance.now() + PROBE_MS_MAX, used`select 1`);
        if (reason !== null) log.info({}, 'database up');
        reason = null;
        break;
      } catch (error) {
        // Expected: refused, reset, starting up, or no answer at all.
        if (reason === null) log.warn({ reason: reasonOf(error) }, 'database down');
        reason = reasonOf(error);
        if (used === pool && !closed) {
          pool = createPool(url, connections);
          retire(used);
        }
        await pause(PROBE_PAUSE_MS);
      }
    }
    probing = false;
  }

  return {
    read: (deadline, statement) => run('read', deadline, statement),
    write: (deadline, statement) => run('write', deadline, statement),
    async up(deadline) {
      while (reason !== null) {
        if (performance.now() > deadline.at) throw new AppError('database_unavailable');
        await pause(20);
      }
    },
    trouble: () => reason,
    async close() {
      closed = true;
      reason = 'closed';
      await pool.end({ timeout: 1 });
    },
  };
}

/** Statements in flight on a retired pool have deadlines of their own; after the longest one it is destroyed. */
function retire(pool: Sql): void {
  pool.end({ timeout: REQUEST_MS / 1000 }).catch(() => {
    // Expected: connections that end with an error while they are ended.
  });
}

function createPool(url: string, connections: number): Sql {
  return postgres(url, {
    max: connections,
    fetch_types: false, // one round trip less on every new connection; we use no array types of our own
    connect_timeout: 2,
    backoff: () => 0.05, // the breaker does the waiting
    onnotice: () => {},
    connection: {
      application_name: 'talkgroup-radio',
      // The server gives up when we do: a statement stuck behind a lock does not outlive its request.
      statement_timeout: REQUEST_MS,
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
}

/** A connection of its own that LISTENs; for notices.ts. Never through a transaction pooler. */
export function openListeningClient(url: string): Sql {
  return postgres(url, {
    max: 1,
    fetch_types: false,
    connect_timeout: 2,
    backoff: () => 0.05,
    max_lifetime: null,
    onnotice: () => {},
    connection: { application_name: 'talkgroup-radio-notices' },
  }) as Sql;
}

/** A client for migrations: one connection, no deadline, because a migration may take its time. */
export function openMigrationClient(url: string): Sql {
  return postgres(url, {
    max: 1,
    fetch_types: false,
    connect_timeout: 5,
    onnotice: () => {},
    connection: { application_name: 'talkgroup-radio-migrate' },
  }) as Sql;
}

class DeadlineError extends Error {
  override name = 'DeadlineError';
}

/** The answer, or DeadlineError at `at`; the statement itself is left to its pool, which is thrown away then. */
async function within<T>(at: number, answer: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new DeadlineError('no answer before the deadline')),
      Math.max(0, at - performance.now()),
    );
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
    answer.catch(() => {
      // Expected after a deadline: the retired pool rejects what it still held.
    });
  }
}

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/**
 * `statement`: the caller's own business (a constraint, a bug). `conflict`: the database asks for another try.
 * `refused`: it did nothing and said so. `unreachable`: never sent. `read_only`: a standby, nothing done.
 * `lost`: sent, and no answer came.
 */
type Fault = 'statement' | 'conflict' | 'invalid_text' | 'refused' | 'unreachable' | 'read_only' | 'lost';

/** SQLSTATE (PostgreSQL documentation, appendix A), or postgres.js or Node code -> what it means for us. */
const faults: Readonly<Record<string, Fault>> = {
  '40001': 'conflict', // serialization failure
  '40P01': 'conflict', // deadlock
  '22021': 'invalid_text',
  '22P02': 'invalid_text',
  '22P05': 'invalid_text',
  '57014': 'refused', // statement_timeout
  '53100': 'refused', // disk full
  '53200': 'refused', // out of memory
  '25006': 'read_only',
  '53300': 'unreachable', // too many connections
  '57P03': 'unreachable', // starting up
  ECONNREFUSED: 'unreachable',
  ENOENT: 'unreachable', // no socket file yet
  ENOTFOUND: 'unreachable',
  EAI_AGAIN: 'unreachable',
  CONNECT_TIMEOUT: 'unreachable',
};

function faultOf(error: unknown): Fault {
  if (error instanceof DeadlineError) return 'lost';
  const code = (error as { code?: unknown }).code;
  if (typeof code !== 'string') return 'statement';
  const known = faults[code];
  if (known !== undefined) return known;
  if (/^(08|57P)/.test(code)) return 'lost'; // connection exceptions, shutdown, crash
  return SQLSTATE.test(code) ? 'statement' : 'lost'; // ECONNRESET, CONNECTION_CLOSED, CONNECTION_DESTROYED ...
}

const SQLSTATE = /^[0-9A-Z]{5}$/;

function reasonOf(error: unknown): string {
  const { code, message } = error as { code?: string; message?: string };
  return code ?? message ?? 'unknown';
}

/** At most IN_FLIGHT_MAX inside and WAITING_MAX before it; first come, first served; a full queue refuses at once. */
function createGate() {
  const waiting: { deadline: Deadline; admit: () => void; refuse: (error: AppError) => void }[] = [];
  let inside = 0;

  return {
    async enter(deadline: Deadline): Promise<void> {
      if (inside < IN_FLIGHT_MAX) {
        inside++;
        return;
      }
      if (waiting.length >= WAITING_MAX) throw new AppError('database_unavailable');
      await new Promise<void>((admit, refuse) => waiting.push({ deadline, admit, refuse }));
    },
    leave(): void {
      for (;;) {
        const next = waiting.shift();
        if (next === undefined) {
          inside--;
          return;
        }
        if (next.deadline.at > performance.now()) {
          next.admit(); // our place is handed over, `inside` stays
          return;
        }
        next.refuse(new AppError('database_unavailable'));
      }
    },
  };
}
