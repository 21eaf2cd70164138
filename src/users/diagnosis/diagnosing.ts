// Finds out why a radio may hear nothing: asks the database and all relays.
import type { Database } from '../../db/client.js';
import type { Deadline } from '../../db/deadline.js';
import { type Asked, askRelays, type Reported } from '../../db/session-reports.js';
import { userShown } from '../store.js';
import { findingsOf } from './findings.js';
import type { Diagnosis } from './schemas.js';
import { talkgroupInQuestion } from './store.js';

/** Takes a second when a node does not answer. Refuses like `write`. */
export async function diagnose(
  database: Database,
  deadline: () => Deadline,
  { user, talkgroup: id }: Asked,
): Promise<Diagnosis | 'user_not_found' | 'talkgroup_not_found'> {
  const shown = await userShown(database, deadline(), { id: user });
  if (shown === null) return 'user_not_found';
  const talkgroup =
    id === null ? null : await talkgroupInQuestion(database, deadline(), { talkgroup: id, user });
  if (id !== null && talkgroup === null) return 'talkgroup_not_found';
  const { asked, answered, reports, unixMs } = await askRelays(database, deadline, { user, talkgroup: id });
  const sessions = reports.flatMap(({ node, thread, report: { sessions, reach, relays } }) =>
    sessions.map((session) => ({
      ...{ node, thread, ...session },
      ...{ exceptions: [...session.exceptions], reach, relays },
    })),
  );
  const rejected = reports
    .flatMap(({ node, report }) => report.rejected.map((one) => ({ node, ...one })))
    .sort((one, other) => (one.at < other.at ? 1 : -1));
  // Of relays with a connection of the user, if there is one: what another relay has sent says nothing of it.
  const isLive = ({ report }: Reported) => report.sessions.some((one) => one.detached_since === null);
  const concerned = reports.some(isLive) ? reports.filter(isLive) : reports;
  const findings = findingsOf({
    ...{ shown, talkgroup, asked, answered, sessions, rejected, unixMs },
    relays: { answered: reports.length, known: Math.max(0, ...reports.map(({ report }) => report.relays)) },
    alone: aloneAmong(reports),
    admittedAt: latest(reports.map(({ report }) => report.admitted_at)),
    audioAt: latest(concerned.map(({ report }) => report.audio_at)),
  });
  return { findings, sessions, rejected, relays: { asked, answered } };
}

/** Of nodes with several threads each thread reaches the others of its node, or not even those. */
function aloneAmong(reports: readonly Reported[]): string[] {
  const nodes = new Set(reports.map(({ node }) => node));
  if (nodes.size === 1) return [];
  return [...nodes].filter((node) =>
    reports.every((one) => one.node !== node || one.report.relays <= one.threads),
  );
}

const latest = (times: readonly (string | null)[]): string | null =>
  times
    .filter((time) => time !== null)
    .sort()
    .at(-1) ?? null;
