// Names the files of test/relay that hold with their radios dealt out over two relay threads of one node, and why the
// others do not. Run by itself it prints the first ones, for make.
import { fileURLToPath } from 'node:url';

/** Run a second time by `make test-cluster`, with RADIOS_OVER=threads. They need no nats-server. */
export const OVER_TWO_THREADS: readonly string[] = [
  'bursts',
  'letters',
  'mass-reconnect',
  'rights-reserved',
  'talk',
  'text',
];

const RACING_FLOOR =
  'its radios act on both threads at once, and the one that is decided first is another one';
const LATE_ANSWERS = 'an authority of its own answers late';
const LOCAL_SESSION = 'a session resumes on its own thread only';
const PER_THREAD =
  'the limits that it tests hold on each thread by itself. test/cluster/thread-limits has them';
const LATE_SNAPSHOT =
  'TALKGROUP_JOINED does not wait for other threads, and a talker of one would be missing in it';
const NOT_DEALT = 'it starts processes or opens sockets of its own, of which Linux chooses the threads';
const ONE_CLOCK = 'it asks one thread whether everything has arrived, and frames of the other come later';

/** On one thread only, each with the reason. */
export const ON_ONE_THREAD: Readonly<Record<string, string>> = {
  budgets: PER_THREAD,
  changes: `${LATE_SNAPSHOT}. test/relay/threads has a right that is withdrawn on each thread`,
  cap: 'it has two threads already, and counts the connections of all',
  client: NOT_DEALT,
  drain: NOT_DEALT,
  early: PER_THREAD,
  emergency: RACING_FLOOR,
  entry:
    'WELCOME of one of several threads has `reach`, and the sockets of a user are limited on each thread',
  floor: `${RACING_FLOOR}. test/cluster/thread-floors has two threads`,
  'floor-late': LATE_ANSWERS,
  'floor-live': RACING_FLOOR,
  'floor-storm': 'a burst that goes on when the floor mode changes is announced again on the other thread',
  frames: ONE_CLOCK,
  handshake: NOT_DEALT,
  held: ONE_CLOCK,
  lifecycle: NOT_DEALT,
  limits: PER_THREAD,
  overrun: PER_THREAD,
  presence: 'PRESENCE has no names of another thread until that one knows that a session watches',
  resume: LOCAL_SESSION,
  'resume-floor': LOCAL_SESSION,
  protocol: 'the examples show no `reach`, and it opens their sockets itself',
  slow: NOT_DEALT,
  snapshots: PER_THREAD,
  subscribe: LATE_SNAPSHOT,
  'talk-late': LATE_ANSWERS,
  terminal: 'it has one radio',
  threads: 'it has two threads already',
  wire: NOT_DEALT,
};

if (process.argv[1] === fileURLToPath(import.meta.url))
  console.log(OVER_TWO_THREADS.map((name) => `dist/test/relay/${name}.test.js`).join(' '));
