// Runs every statement of the service, so that none can hang, pile up or end the process: the guarded SQL client.
//
// Around postgres.js there are, from the outside in: a circuit breaker (statements fail at once while the database is
// away), a gate (a bounded number of running and of waiting statements), a deadline for each statement, one retry where
// the database itself asks for it, and a pool that is replaced as a whole when no connection of it answers.
import { setTimeout as pause } from 'node:timers/promises';
import { AppError, badRequestTexts } from '../errors.js';
import { answered } from './answered.js';
import { type Deadline, DeadlineError, READ_MS_MAX, REQUEST_MS, within } from './deadline.js';
import { type Failure, faultOf, newFailures, reasonOf, suspicious } from './faults.js';
import { createGate } from './gate.js';
import { createPool, type Pool, type Sql } from './pool.js';

type Statement<Row extends object> = (sql: Sql) => Promise<Row[]>;

export interface Database {
  /** Runs one statement that changes nothing. Refuses with `database_unavailable`. */
  read<Row extends object>(deadline: Deadline, statement: Statement<Row>): Promise<Row[]>;
  /** The same on a connection kept for this, whatever waits for the others. Where none is free, as `read`. */
  readReserved<Row extends object>(deadline: Deadline, statement: Statement<Row>): Promise<Row[]>;
  /**
   * Runs one statement that changes something. Refuses with `database_unavailable` when it surely did nothing and
   * with `outcome_unknown` when it was sent and not answered.
   */
  write<Row extends object>(deadline: Deadline, statement: Statement<Row>): Promise<Row[]>;
  /** Waits until the database answers. Refuses with `database_unavailable` at the deadline. For commands. */
  up(deadline: Deadline): Promise<void>;
  /** null while the database answers, else why it does not. */
  trouble(): string | null;
  /** Of now, and counted since the start. */
  figures(): DatabaseFigures;
  /** Ends all connections. What is in flight has one second. */
  close(): Promise<void>;
}

/** Plain numbers. */
export interface DatabaseFigures {
  readonly isUp: boolean;
  readonly connections: number;
  readonly gate: { readonly inside: number; readonly waiting: number; readonly refused: number };
  /** Refused because the database was known to be away. */
  readonly refusedAway: number;
  /** Statements that failed, each of two attempts. */
  readonly failed: Readonly<Record<Failure, number>>;
  /** Pools thrown away after a lost connection, a failed probe, or a deadline while nothing was answered. */
  readonly poolsReplaced: number;
}

export interface DatabaseOptions {
  readonly url: string;
  readonly connections: number;
  /** Of the connections those that only `readReserved` uses. The last one is never among them. */
  readonly reserved?: number;
  /** Calls in flight and waiting. One more is refused at once. A single connection drains 576 of 1 ms in 0.6 s. */
  readonly callsMax?: number;
  /** Statements are refused until this resolves: a database that is not migrated yet is no database. */
  readonly after?: Promise<void>;
  readonly log: { warn(fields: object, message: string): void; info(fields: object, message: string): void };
}

/**
 * Who waited this long for nothing has found the pool bad, unless it answered another caller within this time. A caller
 * with less time left proves nothing.
 */
const PATIENCE_MS = 500;
/** From its start. The server ends a statement after REQUEST_MS. */
const SILENT_MS_MAX = REQUEST_MS + PATIENCE_MS;
/** The winner of a conflict needs a moment to get on: tried again at once, we would be in its way a second time. */
const CONFLICT_PAUSE_MS = 20;
/** Between two probes of a database that is away: back within 2 s of its coming, and no hammering meanwhile. */
const PROBE_PAUSE_MS = 200;
const PROBE_MS_MAX = 1000;

/**
 * Of one user. Two places whatever the pool has: the answers to large lists are written on one thread, which more of
 * them at once would keep from others. Below six connections it is one.
 */
const SHARE = { callsOfCaller: 0.25, callsOfAddress: 0.75 };
const placesOfCaller = (places: number) => Math.min(2, Math.ceil(0.2 * places));

/** Opens the guarded client. It starts closed to callers and opens with the first successful probe. */
export function openDatabase({
  url,
  connections,
  reserved = 0,
  callsMax = 576,
  log,
  after = Promise.resolve(),
}: DatabaseOptions): Database {
  const kept = Math.min(reserved, connections - 1);
  const places = connections - kept;
  const share = { ...SHARE, placesOfCaller: placesOfCaller(places) };
  const gate = createGate({ places, reserved: kept, callsMax, share });
  const retired = new Set<Pool>();
  const failed = newFailures();
  let refusedAway = 0;
  let poolsReplaced = 0;
  let pool = createPool(url, connections - kept, kept);
  let reason: string | null = 'connecting';
  let probing = false;
  let closed = false;
  void after.then(probeUntilUp);

  async function run<Row extends object>(
    kind: 'read' | 'write',
    deadline: Deadline,
    statement: Statement<Row>,
    mayUseReserved = false,
  ) {
    refuseWhileAway();
    const isReserved = mayUseReserved && gate.takeReserved();
    if (!isReserved) await gate.enter(deadline);
    const leave = () => (isReserved ? gate.leaveReserved() : gate.leave(deadline));
    const call: Call<Row> = { kind, deadline, isReserved, statement, released: null };
    try {
      refuseWhileAway(); // gone while we waited
      return await attempt(call, true);
    } finally {
      // A place stands for a connection: another statement would wait behind the one that still runs there.
      if (call.released === null) leave();
      else void call.released.then(leave);
    }
  }

  function refuseWhileAway(): void {
    if (reason === null) return;
    refusedAway++;
    throw new AppError('database_unavailable');
  }

  async function attempt<Row extends object>(call: Call<Row>, mayRetry: boolean): Promise<Row[]> {
    const { kind, deadline, isReserved, statement } = call;
    const used = pool;
    const startedAt = performance.now();
    const at = kind === 'read' ? Math.min(deadline.at, startedAt + READ_MS_MAX) : deadline.at;
    if (at <= startedAt) throw new AppError('database_unavailable');
    const answer = statement(isReserved ? used.reserved : used.sql);
    try {
      const rows = answered(await within(at, answer));
      used.answeredAt = performance.now();
      return rows;
    } catch (error) {
      const fault = faultOf(error);
      if (fault === 'statement') throw error;
      if (fault === 'invalid_text') throw new AppError('bad_request', badRequestTexts.unstorable_text);
      failed[fault]++;
      const isLate = error instanceof DeadlineError;
      const isHasty = at - startedAt < PATIENCE_MS;
      const answersOthers = performance.now() - used.answeredAt < PATIENCE_MS;
      if (suspicious.has(fault) && !(isLate && (isHasty || answersOthers))) distrust(used, error);
      if (isLate) call.released = released(used, answer, startedAt);
      if (mayRetry && (fault === 'conflict' || fault === 'read_only')) {
        if (fault === 'conflict') await pause(CONFLICT_PAUSE_MS);
        return attempt(call, false);
      }
      throw new AppError(kind === 'write' && fault === 'lost' ? 'outcome_unknown' : 'database_unavailable');
    }
  }

  /**
   * Resolves when the connection of a statement that no caller waits for is free again, or its pool replaced. The server
   * ends each statement in time. A connection that stays silent beyond that is broken, whatever the others answer.
   */
  function released(used: Pool, answer: Promise<unknown>, startedAt: number): Promise<void> {
    if (used !== pool) return Promise.resolve();
    return new Promise((resolve) => {
      const release = () => {
        clearTimeout(overdue);
        used.abandoned.delete(release);
        resolve();
      };
      const overdue = setTimeout(
        () => distrust(used, new DeadlineError('no answer from a connection')),
        Math.max(0, startedAt + SILENT_MS_MAX - performance.now()),
      ).unref();
      used.abandoned.add(release);
      answer.then(release, release);
    });
  }

  /**
   * After a connection error, or a deadline while nothing was answered, no connection of that pool is worth a second
   * try. postgres.js 3.4.9 cannot drop one connection of several: which of them runs a statement it does not tell.
   */
  function distrust(used: Pool, error: unknown): void {
    if (used !== pool || closed) return;
    log.warn({ reason: reasonOf(error) }, 'database pool replaced');
    replacePool();
    void probeUntilUp();
  }

  /** Statements in flight on the old pool have deadlines of their own. After the longest one it is destroyed. */
  function replacePool(): void {
    const old = pool;
    pool = createPool(url, connections - kept, kept);
    poolsReplaced++;
    for (const release of [...old.abandoned]) release();
    retired.add(old);
    void old.end(REQUEST_MS).then(() => retired.delete(old));
  }

  /** One probe at a time. Callers are refused from the first failed probe to the first that succeeds. */
  async function probeUntilUp(): Promise<void> {
    if (probing) return;
    probing = true;
    while (!closed) {
      const used = pool;
      try {
        await within(performance.now() + PROBE_MS_MAX, used.sql`select 1`);
        if (reason !== null) log.info({}, 'database up');
        reason = null;
        break;
      } catch (error) {
        // Expected: refused, reset, starting up, or no answer at all.
        if (reason === null) log.warn({ reason: reasonOf(error) }, 'database down');
        reason = reasonOf(error);
        if (used === pool && !closed) replacePool();
        await pause(PROBE_PAUSE_MS);
      }
    }
    probing = false;
  }

  return {
    read: (deadline, statement) => run('read', deadline, statement),
    readReserved: (deadline, statement) => run('read', deadline, statement, true),
    write: (deadline, statement) => run('write', deadline, statement),
    async up(deadline) {
      while (reason !== null) {
        if (performance.now() > deadline.at) throw new AppError('database_unavailable');
        await pause(20);
      }
    },
    trouble: () => reason,
    figures: () => ({
      isUp: reason === null,
      connections,
      gate: gate.figures(),
      refusedAway,
      failed,
      poolsReplaced,
    }),
    async close() {
      closed = true;
      reason = 'closed';
      await Promise.all([pool, ...retired].map((each) => each.end(CLOSE_MS_MAX)));
    },
  };
}

/** What is in flight at a close has this long. */
const CLOSE_MS_MAX = 1000;

/** One statement on its way through the gate. */
interface Call<Row extends object> {
  readonly kind: 'read' | 'write';
  readonly deadline: Deadline;
  readonly isReserved: boolean;
  readonly statement: Statement<Row>;
  /** Settles when the connection of a statement whose caller gave up is free again. null: no caller gave up. */
  released: Promise<void> | null;
}
