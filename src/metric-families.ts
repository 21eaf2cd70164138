// The metrics: what each is called, what it says, and where its numbers stand when they are asked for.
import type { Limits } from './auth/limits.js';
import type { Passwords } from './auth/passwords.js';
import type { Presented } from './certificate-renewal.js';
import type { DatabaseFigures } from './db/client.js';
import type { FixCounts } from './gps/counts.js';
import type { Histogram } from './histogram.js';
import type { HttpCounts } from './http/counts.js';
import type { RelayFigures } from './relay/figures.js';
import type { ThreadFigures } from './thread-figures.js';

/** All numbers at the moment of a scrape. */
export interface Snapshot {
  /** null: able to serve, else why not, as /readyz says it. */
  readonly notReady: string | null;
  /** null: its thread did not tell in time. */
  readonly relay: RelayFigures | null;
  readonly database: DatabaseFigures;
  readonly http: HttpCounts;
  readonly passwords: ReturnType<Passwords['figures']>;
  readonly limits: Pick<Limits, 'counts' | 'forgotten'>;
  /** By REST. */
  readonly fixes: FixCounts;
  /** In Unix time (ms); null without TLS. */
  readonly certificateExpiries: Readonly<Record<Presented, number>> | null;
  readonly thread: ThreadFigures;
  readonly process: ProcessFigures;
}

/** Of the whole process; what the system does not tell is null. */
export interface ProcessFigures {
  readonly version: string;
  readonly cpuS: number;
  readonly residentBytes: number;
  readonly startedAtS: number;
  readonly descriptors: number | null;
  readonly descriptorsMax: number | null;
}

/** One line of a family, or for a histogram its lines. */
type Sample<Value> = readonly [labels: Readonly<Record<string, string>>, value: Value];

/** What a family shows: its samples, or a number without labels, or, with null, nothing. */
export type Family =
  | {
      readonly type: 'counter' | 'gauge';
      readonly name: string;
      readonly help: string;
      /** The names of the labels of its samples. */
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

/** Labels hold what the code names, such as a reason or a route's template; never a name, an id or a text of a client. */
export const families: readonly Family[] = [
  gauge('talkgroup_ready', '1: able to serve, as /readyz says', ({ notReady }) =>
    notReady === null ? 1 : 0,
  ),
  gauge('talkgroup_not_ready', '1: what keeps it from serving', hindrances, ['reason']),
  gauge(
    'talkgroup_build_info',
    'Always 1; the version stands in the labels',
    ({ process: { version } }) => [[{ version, node: process.version }, 1]],
    ['version', 'node'],
  ),

  // Sessions and handshakes.
  gauge(
    'talkgroup_relay_sessions',
    'Sessions with a socket (live) and kept for their return (parked)',
    ofRelay(({ present }) => by('state', { live: present.sessions, parked: present.parked })),
    ['state'],
  ),
  gauge(
    'talkgroup_relay_users',
    'Users with a session',
    ofRelay(({ present }) => present.users),
  ),
  gauge(
    'talkgroup_relay_talkgroups',
    'Talkgroups of users with a session',
    ofRelay(({ present }) => present.talkgroups),
  ),
  gauge(
    'talkgroup_relay_handshakes_loading',
    'Handshakes that wait for the database',
    ofRelay(({ counts }) => counts.handshakes.loading),
  ),
  counter(
    'talkgroup_relay_handshakes_admitted_total',
    'Handshakes that became or resumed a session',
    ofRelay(({ counts }) => counts.handshakes.admitted),
  ),
  gauge(
    'talkgroup_relay_connections',
    'Connections to the relay’s port, those before their handshake included',
    ofRelay(({ connections }) => connections.open),
  ),
  gauge(
    'talkgroup_relay_connections_max',
    'SOCKETS_MAX, or its default',
    ofRelay(({ connections }) => connections.max),
  ),
  counter(
    'talkgroup_relay_connections_dropped_total',
    'Connections to the relay’s port beyond SOCKETS_MAX or without a file descriptor, closed without an answer',
    ofRelay(({ connections }) => connections.dropped),
  ),
  counter(
    'talkgroup_relay_handshakes_refused_total',
    'Handshakes answered with a close, by its reason',
    ofRelay(({ counts }) => by('reason', counts.handshakes.refused)),
    ['reason'],
  ),
  counter(
    'talkgroup_relay_sessions_resumed_total',
    'Sessions that went on over another socket',
    ofRelay(({ counts }) => counts.resumed),
  ),
  counter(
    'talkgroup_relay_sessions_forgotten_total',
    'Sessions kept for their return that were given up before their time, for want of room',
    ofRelay(({ counts }) => counts.forgotten),
  ),
  counter(
    'talkgroup_relay_sessions_failed_total',
    'Sessions closed 1011 by a fault of the server',
    ofRelay(({ counts }) => counts.failed),
  ),
  counter(
    'talkgroup_relay_sockets_closed_total',
    'Closed sockets of sessions, by close code; 1006 is a connection that broke or that the engine dropped',
    ofRelay(({ counts }) => by('code', counts.closed)),
    ['code'],
  ),
  counter(
    'talkgroup_relay_closes_total',
    'Sockets of sessions closed by the relay or dropped by its engine, by reason',
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
    'Text messages that reached no session, by reason',
    ofRelay(({ counts }) => by('reason', counts.textsDropped)),
    ['reason'],
  ),
  counter(
    'talkgroup_relay_messages_refused_total',
    'Text messages refused, by the code of ERROR',
    ofRelay(({ counts }) => by('reason', counts.textsRefused)),
    ['reason'],
  ),
  counter(
    'talkgroup_relay_http_refusals_total',
    'Requests on the relay’s port that became no socket, by status',
    ofRelay(({ counts }) => by('status', counts.notUpgraded)),
    ['status'],
  ),

  // Audio.
  gauge(
    'talkgroup_relay_bursts',
    'Talk bursts running',
    ofRelay(({ present }) => present.bursts),
  ),
  counter(
    'talkgroup_relay_bursts_started_total',
    'Talk bursts begun',
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
    'Relayed frames times their receivers, as counted every 50 ms',
    ofRelay(({ sampled }) => sampled.framesOut),
  ),
  counter(
    'talkgroup_relay_frames_discarded_total',
    'Relayed frames that were held for some receivers when their burst was taken back',
    ofRelay(({ counts }) => counts.discarded),
  ),
  counter(
    'talkgroup_relay_received_bytes_total',
    'Bytes of relayed frames, estimated by one frame every 50 ms',
    ofRelay(({ sampled }) => sampled.bytesIn),
  ),
  counter(
    'talkgroup_relay_sent_bytes_total',
    'Bytes of relayed frames times their receivers, estimated by one frame every 50 ms',
    ofRelay(({ sampled }) => sampled.bytesOut),
  ),
  histogram(
    'talkgroup_relay_latency_seconds',
    'From the receipt of a frame until it was written to its receivers, of one frame every 50 ms',
    timesOfRelay(({ sampled }) => sampled.latency),
  ),

  // Receivers that do not keep up.
  gauge(
    'talkgroup_relay_receivers_lagging',
    'Receivers out of the audio until they have caught up',
    ofRelay(({ counts }) => counts.behind),
  ),
  counter(
    'talkgroup_relay_receivers_lagged_total',
    'Times a receiver was taken out of the audio',
    ofRelay(({ counts }) => counts.lagging),
  ),
  counter(
    'talkgroup_relay_frames_missed_total',
    'Frames that went by receivers which were out of the audio, by frame and receiver',
    ofRelay(({ counts }) => counts.missed),
  ),
  gauge(
    'talkgroup_relay_backlog_seconds',
    'Audio on its way to the slowest receiver that owes the answer to a ping',
    ofRelay(({ pulse }) => pulse.lagMsMax / 1000),
  ),
  counter(
    'talkgroup_relay_overruns_total',
    'Times the buffer of a receiver was full and something for it was dropped',
    ofRelay(({ counts }) => counts.overruns),
  ),
  counter(
    'talkgroup_relay_stray_pongs_total',
    'Pongs that answer no ping',
    ofRelay(({ counts }) => counts.strayPongs),
  ),

  // The floor.
  counter(
    'talkgroup_floor_requests_total',
    'FLOOR_REQUESTs',
    ofRelay(({ counts }) => counts.floor.requests),
  ),
  counter(
    'talkgroup_floor_queued_total',
    'FLOOR_REQUESTs that had to wait',
    ofRelay(({ counts }) => counts.floor.queued),
  ),
  counter(
    'talkgroup_floor_granted_total',
    'Floors granted, to requests and to first frames',
    ofRelay(({ counts }) => counts.floor.granted),
  ),
  counter(
    'talkgroup_floor_denied_total',
    'Requests and first frames denied by the floor, by code',
    ofRelay(({ counts }) => by('reason', counts.floor.denied)),
    ['reason'],
  ),
  gauge(
    'talkgroup_floor_waiting',
    'Places in the queues of all floors',
    ofRelay(({ present }) => present.queued),
  ),
  histogram(
    'talkgroup_floor_wait_seconds',
    'From a place in the queue to the grant',
    timesOfRelay(({ counts }) => counts.floor.waits),
  ),

  // The database, with a pool for each of the two doors.
  gauge(
    'talkgroup_database_up',
    '0: the breaker refuses all statements',
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
    'Statements under way',
    ofPools(({ gate }) => gate.inside),
    ['pool'],
  ),
  gauge(
    'talkgroup_database_waiting',
    'Statements that wait for a connection',
    ofPools(({ gate }) => gate.waiting),
    ['pool'],
  ),
  counter(
    'talkgroup_database_refused_total',
    'Statements not sent: no connection in time (gate), or known to be away (breaker)',
    ofPools(({ gate, refusedAway }) => by('reason', { gate: gate.refused, breaker: refusedAway })),
    ['pool', 'reason'],
  ),
  counter(
    'talkgroup_database_failed_total',
    'Statements that failed other than by a mistake of the caller, by what went wrong',
    ofPools(({ failed }) => by('reason', failed)),
    ['pool', 'reason'],
  ),
  counter(
    'talkgroup_database_pools_replaced_total',
    'Times all connections were thrown away',
    ofPools(({ poolsReplaced }) => poolsReplaced),
    ['pool'],
  ),

  // REST.
  counter('talkgroup_http_requests_total', 'Requests answered, by route and class of status', requests, [
    'method',
    'route',
    'status',
  ]),
  histogram('talkgroup_http_request_duration_seconds', 'From a request to the end of its answer', durations, [
    'method',
    'route',
  ]),
  counter(
    'talkgroup_http_refusals_total',
    'Requests refused, by code',
    ({ http }) => by('reason', http.refused),
    ['reason'],
  ),
  counter(
    'talkgroup_http_connections_dropped_total',
    'Connections beyond REST_CONNECTIONS or the share of an address, closed unanswered',
    ({ http }) => http.connectionsDropped,
  ),
  counter(
    'talkgroup_http_answers_stalled_total',
    'Connections closed because nothing of an answer left for ANSWER_TIMEOUT_S',
    ({ http }) => http.answersStalled,
  ),
  gauge(
    'talkgroup_login_queue_length',
    'Passwords being hashed or waiting',
    ({ passwords }) => passwords.jobs,
  ),
  gauge(
    'talkgroup_login_queue_wait_seconds',
    'How long one more login would wait and work',
    ({ passwords }) => passwords.waitMs / 1000,
  ),
  counter(
    'talkgroup_login_limit_refused_total',
    'Logins and registrations refused by a limit',
    ({ limits }) => by('limit', limits.counts),
    ['limit'],
  ),
  counter(
    'talkgroup_login_limit_forgotten_total',
    'Tries counted, and places where a name had logged in or registered (owners), forgotten for want of room',
    ({ limits }) => by('what', limits.forgotten),
    ['what'],
  ),
  counter('talkgroup_gps_fixes_total', 'Positions reported, by door and result', fixesByDoor, [
    'way',
    'result',
  ]),

  // Threads and process.
  histogram(
    'talkgroup_event_loop_delay_seconds',
    'How late what was due came: the 50 ms pulse of the relay, its beat of 250 ms on the main thread',
    loopDelays,
    ['thread'],
  ),
  counter(
    'talkgroup_event_loop_busy_seconds_total',
    'Time a thread was at work; its rate is the share of the core it needs',
    ofThreads(({ busyMs }) => busyMs / 1000),
    ['thread'],
  ),
  gauge(
    'talkgroup_heap_bytes',
    'Heap in use',
    ofThreads(({ heapBytes }) => heapBytes),
    ['thread'],
  ),
  gauge(
    'talkgroup_external_bytes',
    'Memory of buffers outside of the heap',
    ofThreads(({ externalBytes }) => externalBytes),
    ['thread'],
  ),
  counter(
    'talkgroup_log_lines_lost_total',
    'Log lines that nobody took',
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
  gauge('process_resident_memory_bytes', 'Memory in RAM', ({ process }) => process.residentBytes),
  gauge('process_start_time_seconds', 'Start, in Unix time', ({ process }) => process.startedAtS),
  gauge('process_open_fds', 'Open files and sockets', ({ process }) => process.descriptors),
  gauge('process_max_fds', 'How many it may open', ({ process }) => process.descriptorsMax),
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

/** Of the relay; nothing is shown before its thread has told. */
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
