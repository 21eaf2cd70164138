// Writers that note how each of their writes ended, and what the database must hold of them afterwards.
import { setTimeout as delay } from 'node:timers/promises';
import type { Test } from 'tap';
import type { Database } from '../../../src/db/client.js';
import { deadlineIn, REQUEST_MS } from '../../../src/db/deadline.js';
import { AppError, type RefusalCode } from '../../../src/errors.js';

/** `unknown`: may be stored or not. `refused`: must not be. Anything else would have been a 500. */
export type Outcome = 'acknowledged' | 'unknown' | 'refused';

export interface Ledger {
  readonly acknowledged: Set<number>;
  readonly unknown: Set<number>;
  readonly refused: Set<number>;
  readonly strange: unknown[];
  slowestMs: number;
}

/** Between two writes of one writer: a refusal at once must not become a busy loop. */
export interface Pauses {
  readonly afterMs: number;
  readonly afterRefusalMs: number;
}

export interface Writers {
  readonly ledger: Ledger;
  /** Resolves when no write is under way any more. */
  stop(): Promise<void>;
}

/** So many writers, each with one write of a new id after the other, until stopped or the test ends. */
export function keepWriting(
  t: Test,
  count: number,
  write: (id: number) => Promise<Outcome>,
  pauses: Pauses,
): Writers {
  const ledger: Ledger = {
    acknowledged: new Set(),
    unknown: new Set(),
    refused: new Set(),
    strange: [],
    slowestMs: 0,
  };
  let nextId = 1;
  let stopped = false;
  const writers = Array.from({ length: count }, async () => {
    while (!stopped) {
      const id = nextId++;
      const startedAt = performance.now();
      const outcome = await write(id).catch((error) => ledger.strange.push(error));
      if (typeof outcome === 'string') ledger[outcome].add(id);
      ledger.slowestMs = Math.max(ledger.slowestMs, performance.now() - startedAt);
      await delay(outcome === 'acknowledged' ? pauses.afterMs : pauses.afterRefusalMs);
    }
  });
  const stop = async () => {
    stopped = true;
    await Promise.all(writers);
  };
  t.teardown(stop);
  return { ledger, stop };
}

const OUTCOMES: Partial<Record<RefusalCode, Outcome>> = {
  outcome_unknown: 'unknown',
  database_unavailable: 'refused',
};

/** Writes the id into the table `ledger (id int)` by the guarded client. Rejects with what is no refusal of it. */
export async function insertInto(database: Database, id: number): Promise<Outcome> {
  try {
    await database.write(
      deadlineIn(REQUEST_MS),
      (sql) => sql`insert into ledger values (${id}) returning id`,
    );
    return 'acknowledged';
  } catch (error) {
    const outcome = error instanceof AppError ? OUTCOMES[error.code] : undefined;
    if (outcome === undefined) throw error;
    return outcome;
  }
}

/** `way` names the writers in what the test says. */
export function compare(t: Test, way: string, ledger: Ledger, stored: ReadonlySet<number>): void {
  const { acknowledged, unknown, refused, strange, slowestMs } = ledger;
  t.comment(
    `${way}: ${acknowledged.size} writes acknowledged, ${unknown.size} unknown, ${refused.size} refused, ` +
      `slowest answer ${inS(slowestMs)}`,
  );
  const lost = [...acknowledged].filter((id) => !stored.has(id));
  t.strictSame(lost, [], `${way}: none of ${acknowledged.size} acknowledged is lost`);
  const doneAllTheSame = [...refused].filter((id) => stored.has(id));
  t.strictSame(doneAllTheSame, [], `${way}: none of ${refused.size} refused happened`);
  t.strictSame(strange, [], `${way}: every answer is one of the contract`);
}

export const inS = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
