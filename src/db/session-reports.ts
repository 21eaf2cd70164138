// Asks all relays what they know of the sessions of one user: a notification goes out, and each relay writes a row.
//
// The way leads through the database alone, so it is the same for one node, for threads, and for nodes with NATS or without.
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { TalkgroupId, UserId } from '../ids.js';
import type { Database } from './client.js';
import { type Deadline, deadlineIn } from './deadline.js';
import { notify, type Question } from './notice.js';
import { listeningNodes } from './pool.js';

/** One session of the user, as its relay has it. Times are ISO 8601, by the clock of the relay. */
export interface SessionFacts {
  readonly session: number;
  /** Of its last WELCOME. */
  readonly since: string;
  readonly resumed: boolean;
  /** null: it has a connection. */
  readonly detached_since: string | null;
  /** null: the session came from another relay, and has had no connection here. */
  readonly address: string | null;
  /** Name of the app, as it sent it. null: it sent none. */
  readonly client: string | null;
  /** Of the last answered ping. null: none was answered on this connection. */
  readonly round_trip_ms: number | null;
  /** Something came from the client. */
  readonly heard_at: string;
  /** null: audio is not paused. */
  readonly audio_paused_since: string | null;
  /** Frames that were left out since then. */
  readonly missed: number;
  /** Talkgroups in another mode than `talk`, or with a window. At most 20. */
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
  /** The time at which it was made, by which the others are read. */
  readonly now: string;
  /** Those with a connection first, at most 32. */
  readonly sessions: readonly SessionFacts[];
  /** The newest first, at most 10. */
  readonly rejected: readonly RejectionFacts[];
  /** When a session of the user was last opened. null: not since the start, or too many others came since. */
  readonly admitted_at: string | null;
  /** When it last relayed audio in the talkgroup in question. null: it knows of none, or no talkgroup is in question. */
  readonly audio_at: string | null;
  /** null: it has no other relays. */
  readonly reach: 'whole' | 'partial' | 'alone' | null;
  /** Relays that it reaches, with itself. */
  readonly relays: number;
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

/** The nodes that were asked, and what their relays have written in time. All times are those of the database. */
export interface Answers {
  readonly asked: number;
  /** Nodes of which each relay thread has answered. */
  readonly answered: number;
  readonly reports: readonly Reported[];
  readonly unixMs: number;
}

/** A relay that has not answered by then does not (ms). */
const ANSWER_MS_MAX = 1000;
/** The first pause between two looks (ms). Each one is longer by as much, for a relay that does not answer. */
const LOOK_MS = 25;

/** The row that says that a request waits. It has no node. */
const WAITS = '';

/** Refuses like `write`, by the deadline. */
export async function askRelays(
  database: Database,
  deadline: () => Deadline,
  { user, talkgroup }: Asked,
): Promise<Answers> {
  const question: Question = { id: randomUUID(), kind: 'report_asked', user, talkgroup };
  try {
    const [found] = await database.write<{ nodes: number }>(
      deadline(),
      // Rows of those who ended before they had deleted theirs go with the next question.
      (sql) => sql`
        with old as (delete from session_reports where at < now() - interval '1 minute'),
        waiting as (
          insert into session_reports (ask, node, thread, threads, report) values (${question.id}, ${WAITS}, '', 0, '{}')
        )
        select ${notify(sql, question)}, ${listeningNodes(sql)} as nodes`,
    );
    const asked = found?.nodes ?? 0;
    const untilMs = performance.now() + ANSWER_MS_MAX;
    let answered = 0;
    for (let pauseMs = LOOK_MS; answered < asked && performance.now() < untilMs; pauseMs += LOOK_MS) {
      await delay(pauseMs);
      answered = answeredOf(
        await database.read<Omit<Reported, 'report'>>(
          deadline(),
          (sql) => sql`
            select node, thread, threads from session_reports where ask = ${question.id} and node <> ${WAITS}`,
        ),
      );
    }
    const rows = await database.read<Row>(
      deadline(),
      (sql) => sql`
        select node, thread, threads, report,
               (extract(epoch from at) * 1000)::float8 as at_ms, (extract(epoch from now()) * 1000)::float8 as now_ms
        from session_reports where ask = ${question.id} and node <> ${WAITS} order by node, thread`,
    );
    const unixMs = rows[0]?.now_ms ?? Date.now();
    return { asked, answered: answeredOf(rows), reports: rows.map(inDatabaseTime), unixMs };
  } finally {
    // In the time that is left: who asks a slow database waits no longer for this.
    await database
      .write(deadline(), (sql) => sql`delete from session_reports where ask = ${question.id}`)
      .catch(() => {
        // Expected of a database that is away or slow: the next question deletes them.
      });
  }
}

/** With the time at which it was written and that of the read (Unix ms), by the clock of the database. */
type Row = Reported & { readonly at_ms: number; readonly now_ms: number };

/** Clocks of nodes may differ. A relay writes its row within milliseconds. */
function inDatabaseTime({ node, thread, threads, at_ms, report }: Row): Reported {
  const aheadMs = Date.parse(report.now) - at_ms;
  const moved = (iso: string) => new Date(Date.parse(iso) - aheadMs).toISOString();
  const maybe = (iso: string | null) => iso && moved(iso);
  const sessions = report.sessions.map((session) => ({
    ...session,
    ...{ since: moved(session.since), heard_at: moved(session.heard_at) },
    ...{
      detached_since: maybe(session.detached_since),
      audio_paused_since: maybe(session.audio_paused_since),
    },
    last_refusal: session.last_refusal && { ...session.last_refusal, at: moved(session.last_refusal.at) },
  }));
  const rejected = report.rejected.map((one) => ({ ...one, at: moved(one.at) }));
  const [admitted_at, audio_at] = [maybe(report.admitted_at), maybe(report.audio_at)];
  return { node, thread, threads, report: { ...report, sessions, rejected, admitted_at, audio_at } };
}

function answeredOf(rows: readonly Omit<Reported, 'report'>[]): number {
  const missing = new Map<string, number>();
  for (const { node, threads } of rows) missing.set(node, (missing.get(node) ?? threads) - 1);
  return [...missing.values()].filter((left) => left === 0).length;
}

/** The answer of one relay thread, while a request waits for it. Refuses like `write`. */
export async function storeReport(
  database: Database,
  { ask, node, thread, threads, report }: Reported & { readonly ask: string },
): Promise<void> {
  await database.write(
    deadlineIn(ANSWER_MS_MAX),
    (sql) => sql`
      insert into session_reports (ask, node, thread, threads, report)
      select ${ask}, ${node}, ${thread}, ${threads}::integer, ${JSON.stringify(report)}::text::json
      where exists (select from session_reports where ask = ${ask} and node = ${WAITS})
      on conflict do nothing`,
  );
}
