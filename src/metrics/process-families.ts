// Declares the metrics of the service, its threads and its process.
import type { Histogram } from '../histogram.js';
import type { ThreadFigures } from '../thread-figures.js';
import { counter, type Family, gauge, histogram, type Numbers, type Sample } from './family.js';
import { ownOf, sumOf, threadName } from './relays.js';
import type { Snapshot } from './snapshot.js';

/** Whether the service can serve, and its version. */
export const serviceFamilies: readonly Family[] = [
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
];

export const processFamilies: readonly Family[] = [
  histogram(
    'talkgroup_event_loop_delay_seconds',
    'Delay of the event loop: of the timer of the relay, or of a message to the main thread every 250 ms',
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
    certificateTimes,
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

/** Reads a figure of each thread. */
function ofThreads(read: (thread: ThreadFigures) => number): Numbers {
  return ({ thread, relays }) => [
    [{ thread: 'main' }, read(thread)],
    ...ownOf(relays).map(([name, own]) => [{ thread: name }, read(own.thread)] as const),
  ];
}

function loopDelays({ relays }: Snapshot): readonly Sample<Histogram>[] {
  if (relays === null) return [];
  const [first] = relays;
  if (first?.own === null) return [[{ thread: 'main' }, first.pulse.delay]];
  return [
    [{ thread: 'main' }, sumOf(relays.flatMap(({ own }) => own?.mainDelay ?? []))],
    ...relays.map(({ pulse }, at) => [{ thread: threadName(at, relays.length) }, pulse.delay] as const),
  ];
}

/** Seconds until each certificate expires, negative after that. */
function certificateTimes({ certificateExpiries }: Snapshot): readonly Sample<number>[] {
  return Object.entries(certificateExpiries ?? {}).map(([listener, atMs]) => [
    { listener },
    Math.round((atMs - Date.now()) / 1000),
  ]);
}

/** The reason that /readyz gives begins with one of them. */
const REASONS = ['starting', 'draining', 'database', 'relay'] as const;

function hindrances({ notReady }: Snapshot): readonly Sample<number>[] {
  return REASONS.map((reason) => [{ reason }, notReady?.split(':')[0] === reason ? 1 : 0]);
}
