// Names the files of test/relay that hold with their radios dealt out over two nodes, and why the others do not.
// Run by itself it prints the first ones, for make.
import { fileURLToPath } from 'node:url';

/** Run a second time by `make test-cluster`, with RADIOS_OVER=nodes. */
export const OVER_TWO_NODES: readonly string[] = [
  'bursts',
  'changes',
  'client',
  'diagnosis',
  'dispatcher',
  'drain',
  'early',
  'emergency',
  'encryption',
  'entry',
  'floor',
  'floor-storm',
  'frames',
  'held',
  'letters',
  'mass-reconnect',
  'positions',
  'protocol',
  'recordings',
  'resume',
  'resume-floor',
  'rights-reserved',
  'subscribe',
  'talk',
  'text',
];

const LATE_ANSWERS =
  'a node among others asks the shared floor and not the late authority, so this would be the same tests once more';
const OF_EACH_NODE = 'docs/protocol.md promises for each node by itself';
const BYTES = 'its connections of raw bytes are all at one node. Over two threads Linux deals them';

/** On one node only, each with the reason. */
export const ON_ONE_NODE: Readonly<Record<string, string>> = {
  budgets: `the frames and bytes of a user, which ${OF_EACH_NODE}`,
  cap: `SOCKETS_MAX, which ${OF_EACH_NODE}`,
  'client-retry': LATE_ANSWERS,
  'encrypted-talk':
    'it runs one process, whose log it reads. test/relay/encryption has what nodes tell each other of encryption',
  'floor-late': LATE_ANSWERS,
  'floor-live':
    'its model has one relay. The first member on a node hears of talkers elsewhere behind TALKGROUP_JOINED, and an emergency of a talker elsewhere shows with its next frame',
  handshake: BYTES,
  lifecycle: 'it stops and kills one process. test/cluster/failures does that to nodes among others',
  limits: `rates and bounds of one connection, which ${OF_EACH_NODE}`,
  overrun: `what waits for one socket, which ${OF_EACH_NODE}`,
  'positions-slow': 'its link leads to one socket, whose node alone sends it positions',
  presence:
    'a node tells the others of sessions up to 1 s later, and it says which of them are in one PRESENCE. test/unit/cluster-presence has two nodes',
  slow: 'its links lead to one socket, which its node alone judges. test/unit/cluster-hearing has LAG for speech of other nodes',
  snapshots: `the parts of a snapshot, which a node makes by itself of what it stores and of 1,000 talkgroups`,
  'talk-late': LATE_ANSWERS,
  terminal: 'it has one radio',
  threads: 'it has two relay threads, which are no nodes',
  'under-load':
    'it counts what one relay holds. The others hear held audio over two relays in `make test-threads` and `make prove`',
  wire: BYTES,
};

if (process.argv[1] === fileURLToPath(import.meta.url))
  console.log(OVER_TWO_NODES.map((name) => `dist/test/relay/${name}.test.js`).join(' '));
