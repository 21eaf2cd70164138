// Names the files of test/relay that hold with their radios dealt out over two relay threads of one node, and why the
// others do not. Run by itself it prints the first ones, for make, and with `others` the others.
import { fileURLToPath } from 'node:url';

/** Run a second time by `make test-cluster`, with RADIOS_OVER=threads. They need no nats-server. */
export const OVER_TWO_THREADS: readonly string[] = [
  'bursts',
  'changes',
  'diagnosis',
  'dispatcher',
  'emergency',
  'encryption',
  'entry',
  'floor',
  'floor-storm',
  'frames',
  'handshake',
  'held',
  'letters',
  'limits',
  'mass-reconnect',
  'overrun',
  'positions',
  'presence',
  'protocol',
  'recordings',
  'resume',
  'resume-floor',
  'rights-reserved',
  'subscribe',
  'talk',
  'text',
  'wire',
];

const LATE_ANSWERS =
  'one of several threads asks the shared floor and not the late authority, so this would be the same tests once more';
const OF_EACH_THREAD =
  'docs/protocol.md promises for each thread by itself. test/cluster/thread-limits has them over two';

/** On one thread only, each with the reason. */
export const ON_ONE_THREAD: Readonly<Record<string, string>> = {
  budgets: `the frames and bytes of a user, which ${OF_EACH_THREAD}`,
  cap: 'it has two threads already, and counts the connections of all',
  client:
    'the library chooses the local ports of its sockets, so the helper cannot deal them and wait until both threads know them. Those of test/chaos are of the library, over two threads with RELAY_THREADS=2',
  'client-retry': LATE_ANSWERS,
  drain:
    'it ends processes of its own. test/cluster/thread-moves and test/faults/threads end a process with two threads',
  early:
    'the thread of a socket alone keeps what comes before WELCOME, for each user by itself. test/cluster/thread-moves resumes over two',
  'encrypted-talk': 'it runs one process, whose log it reads, with radios of the library',
  'floor-late': LATE_ANSWERS,
  'floor-live':
    'its model has one relay. The first member on a relay hears of talkers elsewhere behind TALKGROUP_JOINED, and an emergency of a talker elsewhere shows with its next frame. test/relay/floor-storm has two threads',
  lifecycle:
    'it stops and kills processes of its own. test/faults/threads has two threads, one of which fails or exits',
  'positions-slow': 'its link leads to one socket, whose thread alone sends it positions',
  slow: 'its links lead to one socket, which its thread alone judges. test/relay/held has LAG for speech of another thread',
  snapshots: `the rate of snapshots of a user, which ${OF_EACH_THREAD}`,
  'talk-late': LATE_ANSWERS,
  terminal: 'it has one radio',
  threads: 'it has two threads already',
  'under-load':
    'it counts what one relay holds. The others hear held audio over two relays in `make test-threads` and `make prove`',
};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const names = process.argv[2] === 'others' ? Object.keys(ON_ONE_THREAD) : OVER_TWO_THREADS;
  console.log(names.map((name) => `dist/test/relay/${name}.test.js`).join(' '));
}
