// Names the files of test/relay that hold with their radios dealt out over two relay threads of one node, and why the
// others do not. Run by itself it prints the first ones, for make.
import { fileURLToPath } from 'node:url';

/** Run a second time by `make test-cluster`, with RADIOS_OVER=threads. They need no nats-server. */
export const OVER_TWO_THREADS: readonly string[] = [
  'bursts',
  'emergency',
  'entry',
  'floor-storm',
  'frames',
  'letters',
  'mass-reconnect',
  'protocol',
  'resume',
  'resume-floor',
  'rights-reserved',
  'subscribe',
  'talk',
  'text',
];

const LATE_ANSWERS =
  'one of several threads asks the shared floor and not the late authority, so this would be the same tests once more';
const OF_EACH_THREAD =
  'docs/protocol.md promises for each thread by itself. test/cluster/thread-limits has them over two';
const NOT_DEALT = 'it starts processes or opens sockets of its own, of which Linux chooses the threads';
const SLOW_ROUNDS =
  'each of its rounds waits until both threads have heard, and it judges by times of one relay';

/** On one thread only, each with the reason. */
export const ON_ONE_THREAD: Readonly<Record<string, string>> = {
  budgets: `the frames and bytes of a user, which ${OF_EACH_THREAD}`,
  changes: `${SLOW_ROUNDS}. test/relay/threads has a right that is withdrawn on each thread`,
  cap: 'it has two threads already, and counts the connections of all',
  client: NOT_DEALT,
  'client-retry': LATE_ANSWERS,
  drain: NOT_DEALT,
  early: NOT_DEALT,
  floor: `${SLOW_ROUNDS}. test/cluster/thread-floors has two threads`,
  'floor-late': LATE_ANSWERS,
  'floor-live': `${SLOW_ROUNDS}. test/relay/floor-storm has two threads`,
  handshake: NOT_DEALT,
  held: SLOW_ROUNDS,
  lifecycle: NOT_DEALT,
  limits: `rates and bounds of one connection, which ${OF_EACH_THREAD}`,
  overrun: `what waits for one socket, which ${OF_EACH_THREAD}`,
  presence:
    'a thread tells the others of sessions up to 1 s later, and it says which of them are in one PRESENCE. test/unit/cluster-presence has two relays',
  slow: NOT_DEALT,
  snapshots: `the parts of a snapshot, which a thread makes by itself of what it stores and of 1,000 talkgroups`,
  'talk-late': LATE_ANSWERS,
  terminal: 'it has one radio',
  threads: 'it has two threads already',
  wire: NOT_DEALT,
};

if (process.argv[1] === fileURLToPath(import.meta.url))
  console.log(OVER_TWO_THREADS.map((name) => `dist/test/relay/${name}.test.js`).join(' '));
