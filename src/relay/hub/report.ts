// Tells what this relay knows of the sessions of one user, for an operator who asks why a radio hears nothing.
import type { RejectionFacts, RelayReport, SessionFacts } from '../../db/session-reports.js';
import type { Reach } from '../../protocol/codes.js';
import type { Talkgroup, User } from '../members/members.js';
import { DEFAULT } from '../reception/subscription.js';
import type { Session } from '../session/session.js';
import type { KeptRejection } from './rejections.js';

/** Of one session. */
const EXCEPTIONS_MAX = 100;

export interface ReportSources {
  /** undefined: it has no session here. */
  readonly user: User | undefined;
  readonly sessionOf: (number: number) => Session | undefined;
  /** For how much longer the session is kept for its client (ms). null: it has a connection. */
  readonly leftMs: (session: Session) => number | null;
  readonly keepMs: number;
  readonly rejected: readonly KeptRejection[];
  /** In question. undefined: none, or no user of it is here. */
  readonly talkgroup: Talkgroup | undefined;
  readonly reach: Reach | undefined;
  readonly nowMs: number;
}

export function reportOf(sources: ReportSources): RelayReport {
  const { user, sessionOf, rejected, talkgroup, reach, nowMs } = sources;
  const sinceUnixMs = Date.now() - nowMs;
  const isoOf = (ms: number) => new Date(sinceUnixMs + ms).toISOString();

  function factsOf(session: Session): SessionFacts {
    const { arrival, lastRefusal, reception } = session;
    const { behind } = reception;
    const leftMs = sources.leftMs(session);
    return {
      session: session.number,
      since: isoOf(arrival?.atMs ?? session.heardAtMs),
      resumed: arrival?.isResumed ?? false,
      detached_since: leftMs === null ? null : isoOf(nowMs - (sources.keepMs - leftMs)),
      address: arrival?.address ?? '',
      client: arrival?.client ?? null,
      round_trip_ms: reception.lag.roundTripMs,
      heard_at: isoOf(session.heardAtMs),
      audio_paused_since: behind === null ? null : isoOf(behind.sinceMs),
      missed: missedBy(session),
      exceptions: exceptionsOf(session),
      last_refusal: lastRefusal && {
        code: lastRefusal.code,
        talkgroup_id: lastRefusal.talkgroupId,
        at: isoOf(lastRefusal.atMs),
      },
    };
  }

  const rejectionOf = ({ atMs, issuedAt, close, address, client }: KeptRejection): RejectionFacts => ({
    at: isoOf(atMs),
    code: close.code,
    reason: close.reason,
    issued_at: new Date(issuedAt * 1000).toISOString(),
    address,
    client,
  });

  const sessions = [...(user?.sessions ?? [])].flatMap(({ number }) => sessionOf(number) ?? []);
  const heardAtMs = talkgroup?.feed.heardAtMs ?? Number.NEGATIVE_INFINITY;
  return {
    sessions: sessions.map(factsOf),
    rejected: rejected.map(rejectionOf),
    audio_at: Number.isFinite(heardAtMs) ? isoOf(heardAtMs) : null,
    reach: reach ?? null,
  };
}

function missedBy({ reception: { behind } }: Session): number {
  let sum = 0;
  for (const [, frames] of behind?.missed() ?? []) sum += Math.max(0, frames);
  return sum;
}

function exceptionsOf({ user, reception }: Session): SessionFacts['exceptions'] {
  const exceptions: SessionFacts['exceptions'][number][] = [];
  for (const { talkgroup } of user.memberships.values()) {
    const { mode, hold } = reception.subscriptionTo(talkgroup);
    if (mode === DEFAULT.mode && hold === null) continue;
    exceptions.push({ talkgroup_id: talkgroup.id, mode, window_ms: hold?.ms ?? null });
    if (exceptions.length === EXCEPTIONS_MAX) break;
  }
  return exceptions;
}
