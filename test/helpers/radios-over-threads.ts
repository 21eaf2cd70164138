// Names the files of test/relay that hold with their radios dealt out over two relay threads of one node, and why the
// others do not. Run by itself it prints the first ones, for make.
import { fileURLToPath } from 'node:url';

/** Run a second time by `make test-cluster`, with RADIOS_OVER=threads. They need no nats-server. */
export const OVER_TWO_THREADS: readonly string[] = [
  'bursts',
  'changes',
  'emergency',
  'entry',
  'floor',
  'floor-storm',
  'frames',
  'letters',
  'limits',
  'mass-reconnect',
  'overrun',
  'presence',
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
const NOT_DEALT = 'it starts processes or opens sockets of its own, of which Linux chooses the threads';
const OF_EACH_THREAD =
  'docs/protocol.md promises for each thread by itself. test/cluster/thread-limits has them over two';
const MISSES =
  'it expects every frame. docs/protocol.md allows a thread that stands still for 500 ms to miss some, as MISSED tells';

/** On one thread only, each with the reason. */
export const ON_ONE_THREAD: Readonly<Record<string, string>> = {
  budgets: `the frames and bytes of a user, which ${OF_EACH_THREAD}`,
  cap: 'it has two threads already, and counts the connections of all',
  client: NOT_DEALT,
  'client-retry': LATE_ANSWERS,
  drain: NOT_DEALT,
  early: NOT_DEALT,
  'floor-late': LATE_ANSWERS,
  'floor-live':
    'its model has one relay. The first member on a relay hears of talkers elsewhere behind TALKGROUP_JOINED, and an emergency of a talker elsewhere shows with its next frame. test/relay/floor-storm has two threads',
  handshake: NOT_DEALT,
  held: MISSES,
  lifecycle: NOT_DEALT,
  slow: `${NOT_DEALT}. It judges by how fast these read`,
  snapshots: `the rate of snapshots of a user, which ${OF_EACH_THREAD}`,
  'talk-late': LATE_ANSWERS,
  terminal: 'it has one radio',
  threads: 'it has two threads already',
  wire: NOT_DEALT,
};

if (process.argv[1] === fileURLToPath(import.meta.url))
  console.log(OVER_TWO_THREADS.map((name) => `dist/test/relay/${name}.test.js`).join(' '));
