// Declares every metric: its name, its help text, its labels and how a scrape reads its value.
import type { Limits } from './auth/limits.js';
import type { Passwords } from './auth/passwords.js';
import type { Presented } from './certificate-renewal.js';
import type { DatabaseFigures } from './db/client.js';
import type { FixCounts } from './gps/counts.js';
import type { Histogram } from './histogram.js';
import type { HttpCounts } from './http/counts.js';
import type { RelayFigures } from './relay/relay-side.js';
import type { ThreadFigures } from './thread-figures.js';

/** The numbers of one scrape. */
export interface Snapshot {
  /** The reason that /readyz gives. null: the service can serve. */
  readonly notReady: string | null;
  /** null: the relay thread did not answer in time. */
  readonly relay: RelayFigures | null;
  readonly database: DatabaseFigures;
  readonly http: HttpCounts;
  readonly passwords: ReturnType<Passwords['figures']>;
  readonly limits: Pick<Limits, 'counts' | 'forgotten'>;
  /** Positions reported by REST. */
  readonly fixes: FixCounts;
  /** In Unix time (ms); null without TLS. */
  readonly certificateExpiries: Readonly<Record<Presented, number>> | null;
  readonly thread: ThreadFigures;
  readonly process: ProcessFigures;
}

/** Figures of the whole process. null: the system does not report this figure. */
export interface ProcessFigures {
  readonly version: string;
  readonly cpuS: number;
  readonly residentBytes: number;
  readonly startedAtS: number;
  readonly descriptors: number | null;
  readonly descriptorsMax: number | null;
}

/** One line of a family. For a histogram, all lines of one set of labels. */
type Sample<Value> = readonly [labels: Readonly<Record<string, string>>, value: Value];

/** One metric. `read` returns its samples, a number for a metric without labels, or null to show nothing. */
export type Family =
  | {
      readonly type: 'counter' | 'gauge';
      readonly name: string;
      readonly help: string;
      /** Label names of the samples. */
      readonly labels: readonly string[];
      readonly read: (now: Snapshot) => number | null | readonly Sample<number>[];
    }
  | {
      readonly type: 'histogram';
      readonly name: string;
      readonly help: string;
      readonly labels: readonly string[];
      readonly read: (now: Snapshot) => readonly Sample<Histogram>[];
    };

/** All metrics. Label values come from the code, such as a reason or a route template, never from a client. */
export const families: readonly Family[] = [
  gauge('talkgroup_ready', '1 when the service can serve (/readyz answers 200), else 0', ({ notReady }) =>
    notReady === null ? 1 : 0,
  ),
  gauge('talkgroup_not_ready', '1 for the reason why the service cannot serve, else 0', hindrances, [
    'reason',
  ]),
  gauge(
    'talkgroup_build_info',
    'Always 1. The labels hold the versions of the service and of Node.js',
    ({ process: { version } }) => [[{ version, node: process.version }, 1]],
    ['version', 'node'],
  ),

  // Sessions and handshakes.
  gauge(
    'talkgroup_relay_sessions',
    'Sessions with a socket (`live`) and detached sessions that can be resumed (`parked`)',
    ofRelay(({ present }) => by('state', { live: present.sessions, parked: present.parked })),
    ['state'],
  ),
  gauge(
    'talkgroup_relay_users',
    'Users with a session, live or detached',
    ofRelay(({ present }) => present.users),
  ),
  gauge(
    'talkgroup_relay_talkgroups',
    'Talkgroups of which a user with a session is a member',
    ofRelay(({ present }) => present.talkgroups),
  ),
  gauge(
    'talkgroup_relay_handshakes_loading',
    'Handshakes that wait for the database',
    ofRelay(({ counts }) => counts.handshakes.loading),
  ),
  counter(
    'talkgroup_relay_handshakes_admitted_total',
    'Handshakes that opened or resumed a session',
    ofRelay(({ counts }) => counts.handshakes.admitted),
  ),
  gauge(
    'talkgroup_relay_connections',
    'Connections to WS_PORT, including those before their handshake',
    ofRelay(({ connections }) => connections.open),
  ),
  gauge(
    'talkgroup_relay_connections_max',
    'Maximum number of connections to WS_PORT (SOCKETS_MAX)',
    ofRelay(({ connections }) => connections.max),
  ),
  counter(
    'talkgroup_relay_connections_dropped_total',
    'Connections to WS_PORT closed without an answer, above SOCKETS_MAX or for lack of a file descriptor',
    ofRelay(({ connections }) => connections.dropped),
  ),
  counter(
    'talkgroup_relay_handshakes_refused_total',
    'Handshakes answered with a close, by close reason',
    ofRelay(({ counts }) => by('reason', counts.handshakes.refused)),
    ['reason'],
  ),
  counter(
    'talkgroup_relay_sessions_resumed_total',
    'Sessions resumed on another socket',
    ofRelay(({ counts }) => counts.resumed),
  ),
  counter(
    'talkgroup_relay_sessions_forgotten_total',
    'Detached sessions evicted before RESUME_MS, for lack of room',
    ofRelay(({ counts }) => counts.forgotten),
  ),
  counter(
    'talkgroup_relay_sessions_failed_total',
    'Sessions closed with 1011 because of a server error',
    ofRelay(({ counts }) => counts.failed),
  ),
  counter(
    'talkgroup_relay_sockets_closed_total',
    'Closed sockets of sessions, by close code. 1006 is a connection that was lost or dropped',
    ofRelay(({ counts }) => by('code', counts.closed)),
    ['code'],
  ),
  counter(
    'talkgroup_relay_closes_total',
    'Sockets of sessions that the relay closed or dropped, by reason',
    ofRelay(({ counts }) => by('reason', counts.closes)),
    ['reason'],
  ),
  counter(
    'talkgroup_relay_messages_received_total',
    'Text messages received from sessions',
    ofRelay(({ counts }) => counts.textsIn),
  ),
  counter(
    'talkgroup_relay_messages_dropped_total',
    'Text messages received and not delivered to a session, by reason',
    ofRelay(({ counts }) => by('reason', counts.textsDropped)),
    ['reason'],
  ),
  counter(
    'talkgroup_relay_messages_refused_total',
    'Text messages answered with ERROR, by its code',
    ofRelay(({ counts }) => by('reason', counts.textsRefused)),
    ['reason'],
  ),
  counter(
    'talkgroup_relay_http_refusals_total',
    'Requests to WS_PORT answered without an upgrade, by HTTP status',
    ofRelay(({ counts }) => by('status', counts.notUpgraded)),
    ['status'],
  ),

  // Audio.
  gauge(
    'talkgroup_relay_bursts',
    'Running talk bursts',
    ofRelay(({ present }) => present.bursts),
  ),
  counter(
    'talkgroup_relay_bursts_started_total',
    'Talk bursts started',
    ofRelay(({ counts }) => counts.bursts),
  ),
  counter(
    'talkgroup_relay_bursts_ended_total',
    'Talk bursts ended, by the code of TALK_ENDED',
    ofRelay(({ counts }) => by('reason', counts.floor.ended)),
    ['reason'],
  ),
  counter(
    'talkgroup_relay_frames_received_total',
    'Audio frames received from sessions',
    ofRelay(({ counts }) => counts.framesIn),
  ),
  counter(
    'talkgroup_relay_frames_relayed_total',
    'Audio frames accepted and relayed',
    ofRelay(({ counts }) => counts.framesRelayed),
  ),
  counter(
    'talkgroup_relay_frames_dropped_total',
    'Audio frames received and not relayed, by reason',
    ofRelay(({ counts }) => by('reason', counts.dropped)),
    ['reason'],
  ),
  counter(
    'talkgroup_relay_frames_sent_total',
    'Audio frames sent to receivers, from the number of receivers counted every 50 ms',
    ofRelay(({ sampled }) => sampled.framesOut),
  ),
  counter(
    'talkgroup_relay_frames_discarded_total',
    'Buffered audio frames discarded because their burst was revoked',
    ofRelay(({ counts }) => counts.discarded),
  ),
  counter(
    'talkgroup_relay_received_bytes_total',
    'Bytes of relayed frames, estimated from one frame every 50 ms',
    ofRelay(({ sampled }) => sampled.bytesIn),
  ),
  counter(
    'talkgroup_relay_sent_bytes_total',
    'Bytes of relayed frames sent to receivers, estimated from one frame every 50 ms',
    ofRelay(({ sampled }) => sampled.bytesOut),
  ),
  histogram(
    'talkgroup_relay_latency_seconds',
    'Time from the receipt of a frame to its write to the receivers, for one frame every 50 ms',
    timesOfRelay(({ sampled }) => sampled.latency),
  ),

  // Receivers that do not keep up.
  gauge(
    'talkgroup_relay_receivers_lagging',
    'Receivers with audio paused because they lag',
    ofRelay(({ counts }) => counts.behind),
  ),
  counter(
    'talkgroup_relay_receivers_lagged_total',
    'Number of times the relay paused the audio of a receiver',
    ofRelay(({ counts }) => counts.lagging),
  ),
  counter(
    'talkgroup_relay_frames_missed_total',
    'Frames that receivers missed while their audio was paused, counted per receiver',
    ofRelay(({ counts }) => counts.missed),
  ),
  gauge(
    'talkgroup_relay_backlog_seconds',
    'Largest lag of a receiver with an unanswered ping',
    ofRelay(({ pulse }) => pulse.lagMsMax / 1000),
  ),
  counter(
    'talkgroup_relay_overruns_total',
    'Number of times a full send buffer of a receiver dropped a message',
    ofRelay(({ counts }) => counts.overruns),
  ),
  counter(
    'talkgroup_relay_stray_pongs_total',
    'Pongs that match no ping',
    ofRelay(({ counts }) => counts.strayPongs),
  ),

  // The floor.
  counter(
    'talkgroup_floor_requests_total',
    'FLOOR_REQUEST messages received',
    ofRelay(({ counts }) => counts.floor.requests),
  ),
  counter(
    'talkgroup_floor_queued_total',
    'FLOOR_REQUEST messages queued',
    ofRelay(({ counts }) => counts.floor.queued),
  ),
  counter(
    'talkgroup_floor_granted_total',
    'Floor grants, to requests and to first frames',
    ofRelay(({ counts }) => counts.floor.granted),
  ),
  counter(
    'talkgroup_floor_denied_total',
    'Requests and first frames denied, by code',
    ofRelay(({ counts }) => by('reason', counts.floor.denied)),
    ['reason'],
  ),
  gauge(
    'talkgroup_floor_waiting',
    'Queued sessions, summed over all talkgroups',
    ofRelay(({ present }) => present.queued),
  ),
  histogram(
    'talkgroup_floor_wait_seconds',
    'Time from queuing to the grant',
    timesOfRelay(({ counts }) => counts.floor.waits),
  ),

  // The database. REST and the relay each have a connection pool.
  gauge(
    'talkgroup_database_up',
    '1 when the pool accepts statements, 0 while the circuit breaker is open',
    ofPools(({ isUp }) => (isUp ? 1 : 0)),
    ['pool'],
  ),
  gauge(
    'talkgroup_database_connections',
    'Connections of the pool',
    ofPools(({ connections }) => connections),
    ['pool'],
  ),
  gauge(
    'talkgroup_database_running',
    'Running statements',
    ofPools(({ gate }) => gate.inside),
    ['pool'],
  ),
  gauge(
    'talkgroup_database_waiting',
    'Statements waiting for a connection',
    ofPools(({ gate }) => gate.waiting),
    ['pool'],
  ),
  counter(
    'talkgroup_database_refused_total',
    'Statements not sent, because no connection was free in time (`gate`) or the circuit breaker was open (`breaker`)',
    ofPools(({ gate, refusedAway }) => by('reason', { gate: gate.refused, breaker: refusedAway })),
    ['pool', 'reason'],
  ),
  counter(
    'talkgroup_database_failed_total',
    'Failed statements, by cause, without errors of the caller',
    ofPools(({ failed }) => by('reason', failed)),
    ['pool', 'reason'],
  ),
  counter(
    'talkgroup_database_pools_replaced_total',
    'Number of times the connection pool was replaced',
    ofPools(({ poolsReplaced }) => poolsReplaced),
    ['pool'],
  ),

  // REST.
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
    'Connections closed without an answer, above REST_CONNECTIONS or the share of an address',
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
  counter('talkgroup_gps_fixes_total', 'Positions reported, by interface and result', fixesByDoor, [
    'way',
    'result',
  ]),

  // Threads and process.
  histogram(
    'talkgroup_event_loop_delay_seconds',
    'Delay of the event loop: of the 50 ms timer of the relay, or of a message to the main thread every 250 ms',
    loopDelays,
    ['thread'],
  ),
  counter(
    'talkgroup_event_loop_busy_seconds_total',
    'Time a thread was busy. Its rate is the share of one core',
    ofThreads(({ busyMs }) => busyMs / 1000),
    ['thread'],
  ),
  gauge(
    'talkgroup_heap_bytes',
    'JavaScript heap in use',
    ofThreads(({ heapBytes }) => heapBytes),
    ['thread'],
  ),
  gauge(
    'talkgroup_external_bytes',
    'Memory of buffers outside the heap',
    ofThreads(({ externalBytes }) => externalBytes),
    ['thread'],
  ),
  counter(
    'talkgroup_log_lines_lost_total',
    'Log lines dropped because the log output stalled',
    ofThreads(({ linesLost }) => linesLost),
    ['thread'],
  ),
  gauge(
    'talkgroup_tls_certificate_remaining_seconds',
    'Time until the certificate of new connections expires, negative after that: REST, relay, and relay for clients without SNI',
    untilExpiry,
    ['listener'],
  ),
  counter('process_cpu_seconds_total', 'CPU time of all threads', ({ process }) => process.cpuS),
  gauge('process_resident_memory_bytes', 'Resident memory', ({ process }) => process.residentBytes),
  gauge(
    'process_start_time_seconds',
    'Start time, in seconds since the Unix epoch',
    ({ process }) => process.startedAtS,
  ),
  gauge('process_open_fds', 'Open file descriptors', ({ process }) => process.descriptors),
  gauge(
    'process_max_fds',
    'Maximum number of open file descriptors',
    ({ process }) => process.descriptorsMax,
  ),
];

type Numbers = Extract<Family, { type: 'counter' | 'gauge' }>['read'];
type Times = Extract<Family, { type: 'histogram' }>['read'];

function counter(name: string, help: string, read: Numbers, labels: readonly string[] = []): Family {
  return { type: 'counter', name, help, labels, read };
}

function gauge(name: string, help: string, read: Numbers, labels: readonly string[] = []): Family {
  return { type: 'gauge', name, help, labels, read };
}

function histogram(name: string, help: string, read: Times, labels: readonly string[] = []): Family {
  return { type: 'histogram', name, help, labels, read };
}

/** Reads a figure of the relay. Shows nothing until the relay thread has answered. */
function ofRelay<T>(read: (relay: RelayFigures) => T): (now: Snapshot) => T | null {
  return ({ relay }) => relay && read(relay);
}

function timesOfRelay(read: (relay: RelayFigures) => Histogram): Times {
  return ({ relay }) => (relay === null ? [] : [[{}, read(relay)]]);
}

/** Of both pools of connections. */
function ofPools(read: (database: DatabaseFigures) => number | readonly Sample<number>[]): Numbers {
  return ({ database, relay }) => {
    const pools = { rest: database, ...(relay?.own && { relay: relay.own.database }) };
    return Object.entries(pools).flatMap(([pool, figures]) => {
      const value = read(figures);
      const samples = typeof value === 'number' ? [[{}, value] as const] : value;
      return samples.map(([labels, value]) => [{ pool, ...labels }, value] as const);
    });
  };
}

/** Of both threads. */
function ofThreads(read: (thread: ThreadFigures) => number): Numbers {
  return ({ thread, relay }) => {
    const threads = { main: thread, ...(relay?.own && { relay: relay.own.thread }) };
    return Object.entries(threads).map(([name, figures]) => [{ thread: name }, read(figures)] as const);
  };
}

/** Negative afterwards. */
function untilExpiry({ certificateExpiries }: Snapshot): readonly Sample<number>[] {
  return Object.entries(certificateExpiries ?? {}).map(([listener, atMs]) => [
    { listener },
    Math.round((atMs - Date.now()) / 1000),
  ]);
}

function by(label: string, counts: Readonly<Record<string, number>>): readonly Sample<number>[] {
  return Object.entries(counts).map(([name, value]) => [{ [label]: name }, value]);
}

/** What /readyz can say begins with one of them. */
const REASONS = ['starting', 'draining', 'database', 'relay'] as const;

function hindrances({ notReady }: Snapshot): readonly Sample<number>[] {
  return REASONS.map((reason) => [{ reason }, notReady?.split(':')[0] === reason ? 1 : 0]);
}

function loopDelays({ relay }: Snapshot): readonly Sample<Histogram>[] {
  if (relay === null) return [];
  const { pulse, own } = relay;
  if (own === null) return [[{ thread: 'main' }, pulse.delay]];
  return [
    [{ thread: 'main' }, own.mainDelay],
    [{ thread: 'relay' }, pulse.delay],
  ];
}

function requests({ http: { routes } }: Snapshot): readonly Sample<number>[] {
  return [...routes.values()].flatMap(({ method, route, answered }) =>
    Object.entries(answered).map(([status, count]) => [{ method, route, status }, count] as const),
  );
}

function durations({ http: { routes } }: Snapshot): readonly Sample<Histogram>[] {
  return [...routes.values()].map(({ method, route, took }) => [{ method, route }, took]);
}

function fixesByDoor({ fixes, relay }: Snapshot): readonly Sample<number>[] {
  const doors = { rest: fixes, ...(relay && { socket: relay.fixes }) };
  return Object.entries(doors).flatMap(([way, counts]) =>
    Object.entries(counts).map(([result, count]) => [{ way, result }, count] as const),
  );
}
