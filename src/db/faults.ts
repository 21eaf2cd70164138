// Classifies the failure of a statement by the error of postgres.js, Node or PostgreSQL.
import { DeadlineError } from './deadline.js';

/**
 * `statement`: the caller's own business (a constraint, a bug). `conflict`: the database asks for another try.
 * `refused`: it did nothing and said so. `unreachable`: never sent. `read_only`: a standby, nothing done.
 * `lost`: sent, and no answer came.
 */
export type Fault =
  | 'statement'
  | 'conflict'
  | 'invalid_text'
  | 'refused'
  | 'unreachable'
  | 'read_only'
  | 'lost';

/** What is not the caller's own mistake. */
export type Failure = Exclude<Fault, 'statement' | 'invalid_text'>;

/** None of any kind yet. */
export const newFailures = (): Record<Failure, number> => ({
  conflict: 0,
  refused: 0,
  unreachable: 0,
  read_only: 0,
  lost: 0,
});

/** After these no connection of the pool is worth a second try. */
export const suspicious: ReadonlySet<Fault> = new Set(['unreachable', 'read_only', 'lost']);

/** SQLSTATE (PostgreSQL documentation, appendix A), or postgres.js or Node code -> what it means for us. */
const faults: Readonly<Record<string, Fault>> = {
  '40001': 'conflict', // serialization failure
  '40P01': 'conflict', // deadlock
  '22021': 'invalid_text',
  '22P02': 'invalid_text',
  '22P05': 'invalid_text',
  '55P03': 'refused', // lock_timeout
  '57014': 'refused', // statement_timeout
  '54000': 'refused', // the queue of notices is full
  '25006': 'read_only',
  '28000': 'unreachable', // may not log in
  '28P01': 'unreachable', // wrong password
  '3D000': 'unreachable', // no such database
  '53300': 'unreachable', // too many connections
  '57P03': 'unreachable', // starting up
  '25P03': 'lost', // idle_in_transaction_session_timeout
  '25P04': 'lost', // transaction_timeout
  ECONNREFUSED: 'unreachable',
  ENOENT: 'unreachable', // no socket file yet
  ENOTFOUND: 'unreachable',
  EAI_AGAIN: 'unreachable',
  CONNECT_TIMEOUT: 'unreachable',
  // postgres.js, about a statement it could not build and did not send
  UNDEFINED_VALUE: 'statement',
  MAX_PARAMETERS_EXCEEDED: 'statement',
};

/** What a failed statement, or a failed connection, means for its caller and for the pool. */
export function faultOf(error: unknown): Fault {
  if (error instanceof DeadlineError) return 'lost';
  const { code } = error as { code?: unknown };
  if (typeof code !== 'string') return 'statement';
  const known = faults[code];
  if (known !== undefined) return known;
  // Not told by its looks: EPIPE could be an SQLSTATE.
  if ((error as Error).name !== 'PostgresError') return 'lost'; // ECONNRESET, CONNECTION_CLOSED ...
  if (/^(53|58)/.test(code)) return 'refused'; // out of disk, memory or descriptors, and I/O errors
  return /^(08|57P)/.test(code) ? 'lost' : 'statement'; // connection exceptions, shutdown, crash
}

/** A word for the log. */
export function reasonOf(error: unknown): string {
  const { code, message } = error as { code?: string; message?: string };
  return code ?? message ?? 'unknown';
}
