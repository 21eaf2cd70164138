// Declares the metrics of REST: requests, errors, logins and their limits, positions.
import type { Histogram } from '../histogram.js';
import { by, counter, type Family, gauge, histogram, type Sample } from './family.js';
import type { Snapshot } from './snapshot.js';

export const httpFamilies: readonly Family[] = [
  counter('talkgroup_http_requests_total', 'Requests answered, by method, route and status class', requests, [
    'method',
    'route',
    'status',
  ]),
  histogram(
    'talkgroup_http_request_duration_seconds',
    'Time from a request to the end of its answer',
    durations,
    ['method', 'route'],
  ),
  counter(
    'talkgroup_http_refusals_total',
    'Requests answered with an error, by code',
    ({ http }) => by('reason', http.refused),
    ['reason'],
  ),
  counter(
    'talkgroup_http_connections_dropped_total',
    'Connections closed without an answer, above REST_CONNECTIONS, the share of an address, or 16 requests sent ahead',
    ({ http }) => http.connectionsDropped,
  ),
  counter(
    'talkgroup_http_answers_stalled_total',
    'Connections closed because no byte of an answer could be sent for ANSWER_TIMEOUT_S',
    ({ http }) => http.answersStalled,
  ),
  gauge(
    'talkgroup_login_queue_length',
    'Passwords in the hash queue, including the one being hashed',
    ({ passwords }) => passwords.jobs,
  ),
  gauge(
    'talkgroup_login_queue_wait_seconds',
    'Estimated time that one more login would take, waiting and hashing',
    ({ passwords }) => passwords.waitMs / 1000,
  ),
  counter(
    'talkgroup_login_limit_refused_total',
    'Logins and registrations rejected by a limit',
    ({ limits }) => by('limit', limits.counts),
    ['limit'],
  ),
  counter(
    'talkgroup_login_limit_forgotten_total',
    'Entries dropped for lack of room: failures (`tries`), or addresses where a user logged in or registered (`owners`)',
    ({ limits }) => by('what', limits.forgotten),
    ['what'],
  ),
  counter(
    'talkgroup_acts_total',
    'Acts of administrators over REST that this node wrote to the audit log. Commands count in none',
    ({ audit }) => by('act', audit.acts),
    ['act'],
  ),
  counter('talkgroup_gps_fixes_total', 'Positions reported, by interface and result', positions, [
    'way',
    'result',
  ]),
];

function requests({ http: { routes } }: Snapshot): readonly Sample<number>[] {
  return [...routes.values()].flatMap(({ method, route, answered }) =>
    Object.entries(answered).map(([status, count]) => [{ method, route, status }, count] as const),
  );
}

function durations({ http: { routes } }: Snapshot): readonly Sample<Histogram>[] {
  return [...routes.values()].map(({ method, route, took }) => [{ method, route }, took]);
}

function positions({ fixes, relay }: Snapshot): readonly Sample<number>[] {
  const ways = { rest: fixes, ...(relay && { socket: relay.fixes }) };
  return Object.entries(ways).flatMap(([way, counts]) =>
    Object.entries(counts).map(([result, count]) => [{ way, result }, count] as const),
  );
}
