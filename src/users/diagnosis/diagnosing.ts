// Finds out why a radio may hear nothing: asks the database and all relays.
import type { Database } from '../../db/client.js';
import type { Deadline } from '../../db/deadline.js';
import { askRelays } from '../../db/session-reports.js';
import type { TalkgroupId, UserId } from '../../ids.js';
import { userShown } from '../store.js';
import { findingsOf } from './findings.js';
import type { Diagnosis } from './schemas.js';
import { talkgroupInQuestion } from './store.js';

export interface Question {
  readonly user: UserId;
  /** null: the question names none. */
  readonly talkgroup: TalkgroupId | null;
}

/** Takes a second when a node does not answer. Refuses like `write`. */
export async function diagnose(
  database: Database,
  deadline: () => Deadline,
  { user, talkgroup: id }: Question,
): Promise<Diagnosis | 'user_not_found' | 'talkgroup_not_found'> {
  const shown = await userShown(database, deadline(), { id: user });
  if (shown === null) return 'user_not_found';
  const talkgroup =
    id === null ? null : await talkgroupInQuestion(database, deadline(), { talkgroup: id, user });
  if (id !== null && talkgroup === null) return 'talkgroup_not_found';
  const answers = await askRelays(database, deadline, { user, talkgroup: id });
  const { asked, answered, reports } = answers;
  const sessions = reports.flatMap(({ node, thread, report: { sessions, reach } }) =>
    sessions.map((session) => ({ node, thread, ...session, exceptions: [...session.exceptions], reach })),
  );
  const rejected = reports
    .flatMap(({ node, report }) => report.rejected.map((one) => ({ node, ...one })))
    .sort((one, other) => (one.at < other.at ? 1 : -1));
  const audioAt =
    reports
      .flatMap(({ report: { audio_at } }) => audio_at ?? [])
      .sort()
      .at(-1) ?? null;
  const facts = { shown, talkgroup, answers, sessions, rejected, audioAt, unixMs: Date.now() };
  return { findings: findingsOf(facts), sessions, rejected, relays: { asked, answered } };
}
