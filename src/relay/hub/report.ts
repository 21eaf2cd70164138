// Tells what this relay knows of the sessions of one user, for an operator who asks why a radio hears nothing.
import type { RejectionFacts, RelayReport, SessionFacts } from '../../db/session-reports.js';
import type { Reach } from '../../protocol/codes.js';
import type { Talkgroup, User } from '../members/members.js';
import type { Session } from '../session/session.js';
import type { KeptRejection, UserRejections } from './rejections.js';

/** Of one user, those with a connection first. */
const SESSIONS_MAX = 32;
/** Of one session. */
const EXCEPTIONS_MAX = 20;
/** JavaScript has no later time (Unix seconds). */
const LATEST_S = 8.64e12;

export interface ReportSources extends UserRejections {
  /** undefined: it has no session here. */
  readonly user: User | undefined;
  readonly sessionOf: (number: number) => Session | undefined;
  /** For how much longer the session is kept for its client (ms). null: it has a connection. */
  readonly leftMs: (session: Session) => number | null;
  readonly keepMs: number;
  /** In question. undefined: none, or no user of it is here. */
  readonly talkgroup: Talkgroup | undefined;
  readonly reach: Reach | undefined;
  /** Relays that this one reaches, with itself. */
  readonly relays: number;
  readonly nowMs: number;
  /** The same moment as Unix time (ms). */
  readonly unixMs: number;
}

export function reportOf(sources: ReportSources): RelayReport {
  const { user, talkgroup, nowMs } = sources;
  const sinceUnixMs = sources.unixMs - nowMs;
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
      address: arrival?.address ?? null,
      client: arrival?.client ?? null,
      round_trip_ms: reception.lag.roundTripMs,
      heard_at: isoOf(session.heardAtMs),
      audio_paused_since: behind === null ? null : isoOf(behind.sinceMs),
      missed: missedBy(session),
      exceptions: exceptionsOf(session, talkgroup),
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
    issued_at: new Date(Math.min(Math.max(issuedAt, 0), LATEST_S) * 1000).toISOString(),
    address,
    client,
  });

  const sessions = [...(user?.sessions ?? [])].sort(
    (one, other) => Number(other.isLive) - Number(one.isLive),
  );
  const heardAtMs = talkgroup?.feed.heardAtMs ?? Number.NEGATIVE_INFINITY;
  return {
    now: isoOf(nowMs),
    sessions: sessions
      .slice(0, SESSIONS_MAX)
      .flatMap(({ number }) => sources.sessionOf(number) ?? [])
      .map(factsOf),
    rejected: sources.rejected.map(rejectionOf),
    admitted_at: sources.admittedAtMs === null ? null : isoOf(sources.admittedAtMs),
    audio_at: Number.isFinite(heardAtMs) ? isoOf(heardAtMs) : null,
    reach: sources.reach ?? null,
    relays: sources.relays,
  };
}

function missedBy({ reception: { behind } }: Session): number {
  let sum = 0;
  for (const [, frames] of behind?.missed() ?? []) sum += Math.max(0, frames);
  return sum;
}

/** The talkgroup in question first. */
function exceptionsOf(
  { user, reception }: Session,
  talkgroup: Talkgroup | undefined,
): SessionFacts['exceptions'] {
  const exceptions: SessionFacts['exceptions'][number][] = [];
  const add = (number: number) => {
    const membership = user.memberships.get(number);
    const { mode, hold } = reception.subscriptions?.get(number) ?? {};
    if (membership === undefined || mode === undefined || (mode === 'talk' && !hold)) return;
    exceptions.push({ talkgroup_id: membership.talkgroup.id, mode, window_ms: hold?.ms ?? null });
  };
  if (talkgroup !== undefined) add(talkgroup.number);
  for (const number of reception.subscriptions?.keys() ?? []) {
    if (exceptions.length === EXCEPTIONS_MAX) break;
    if (number !== talkgroup?.number) add(number);
  }
  return exceptions;
}
