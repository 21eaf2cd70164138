// Asks all relays what they know of the sessions of one user: a notification goes out, and each relay writes a row.
//
// The way leads through the database alone, so it is the same for one node, for threads, and for nodes with NATS or without.
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { TalkgroupId, UserId } from '../ids.js';
import type { Database } from './client.js';
import type { Deadline } from './deadline.js';
import { notify, type Question } from './notice.js';
import { LISTENING } from './pool.js';

/** One session of the user, as its relay has it. Times are ISO 8601. */
export interface SessionFacts {
  readonly session: number;
  /** Of its last WELCOME. */
  readonly since: string;
  readonly resumed: boolean;
  /** null: it has a connection. */
  readonly detached_since: string | null;
  readonly address: string;
  /** What the app calls itself. null: it does not. */
  readonly client: string | null;
  /** Of the last answered ping. null: none was answered on this connection. */
  readonly round_trip_ms: number | null;
  /** Something came from the client. */
  readonly heard_at: string;
  /** null: audio is not paused. */
  readonly audio_paused_since: string | null;
  /** Frames that were left out since then. */
  readonly missed: number;
  /** Talkgroups in another mode than `talk`, or with a window. At most 100. */
  readonly exceptions: readonly {
    talkgroup_id: TalkgroupId;
    mode: 'talk' | 'listen' | 'events' | 'none';
    window_ms: number | null;
  }[];
  /** The last ERROR or FLOOR_DENIED. null: there was none. */
  readonly last_refusal: { code: string; talkgroup_id: string | null; at: string } | null;
}

/** A handshake of the user that was answered with a close. */
export interface RejectionFacts {
  readonly at: string;
  readonly code: number;
  readonly reason: string;
  /** When its token was issued. */
  readonly issued_at: string;
  readonly address: string;
  readonly client: string | null;
}

/** What one relay knows. */
export interface RelayReport {
  readonly sessions: readonly SessionFacts[];
  /** The newest first, at most 10. */
  readonly rejected: readonly RejectionFacts[];
  /** When it last relayed audio in the talkgroup in question. null: never, or no talkgroup is in question. */
  readonly audio_at: string | null;
  /** null: it has no other relays. */
  readonly reach: 'whole' | 'partial' | 'alone' | null;
}

/** What one relay thread has written. */
export interface Reported {
  readonly node: string;
  readonly thread: string;
  /** Relay threads of the node. */
  readonly threads: number;
  readonly report: RelayReport;
}

export interface Asked {
  readonly user: UserId;
  /** null: none is in question. */
  readonly talkgroup: TalkgroupId | null;
}

/** The nodes that were asked, and what their relays have written in time. */
export interface Answers {
  readonly asked: number;
  /** Nodes of which each relay thread has answered. */
  readonly answered: number;
  readonly reports: readonly Reported[];
}

/** A relay that has not answered by then does not (ms). */
const ANSWER_MS_MAX = 1000;
const LOOK_MS = 25;

/** Refuses like `write`. */
export async function askRelays(
  database: Database,
  deadline: () => Deadline,
  { user, talkgroup }: Asked,
): Promise<Answers> {
  const question: Question = { id: randomUUID(), kind: 'report_asked', user, talkgroup };
  const [found] = await database.write<{ nodes: number }>(
    deadline(),
    // Rows of those who asked and ended before they had read go with the next question.
    (sql) => sql`
      with old as (delete from session_reports where at < now() - interval '1 minute')
      select ${notify(sql, question)}, (
        select count(*)::int from pg_stat_activity
        where datname = current_database() and application_name = ${LISTENING}) as nodes`,
  );
  const asked = found?.nodes ?? 0;
  const untilMs = performance.now() + ANSWER_MS_MAX;
  let reports: Reported[] = [];
  while (answeredOf(reports) < asked && performance.now() < untilMs) {
    await delay(LOOK_MS);
    reports = await database.read<Reported>(
      deadline(),
      (sql) => sql`
        select node, thread, threads, report from session_reports where ask = ${question.id} order by node, thread`,
    );
  }
  await database.write(deadline(), (sql) => sql`delete from session_reports where ask = ${question.id}`);
  return { asked, answered: answeredOf(reports), reports };
}

function answeredOf(reports: readonly Reported[]): number {
  const missing = new Map<string, number>();
  for (const { node, threads } of reports) missing.set(node, (missing.get(node) ?? threads) - 1);
  return [...missing.values()].filter((left) => left === 0).length;
}

/** The answer of one relay thread. Refuses like `write`. */
export async function storeReport(
  database: Database,
  deadline: Deadline,
  { ask, node, thread, threads, report }: Reported & { readonly ask: string },
): Promise<void> {
  await database.write(
    deadline,
    (sql) => sql`
      insert into session_reports (ask, node, thread, threads, report)
      values (${ask}, ${node}, ${thread}, ${threads}, ${JSON.stringify(report)}::text::json)
      on conflict do nothing`,
  );
}
