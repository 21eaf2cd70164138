// Names the files of test/relay that hold with their radios dealt out over two nodes, and why the others do not.
// Run by itself it prints the first ones, for make.
import { fileURLToPath } from 'node:url';

/** Run a second time by `make test-cluster`, with RADIOS_OVER=nodes. */
export const OVER_TWO_NODES: readonly string[] = [
  'bursts',
  'client',
  'early',
  'emergency',
  'floor-storm',
  'letters',
  'resume-floor',
  'rights-reserved',
  'talk',
  'text',
];

const MODEL_OF_ONE =
  'its model has the order of events of one relay, also when bursts of both nodes end at once';
const LATE_ANSWERS = 'an authority of its own answers late, and nodes among others have theirs';
const PER_RELAY = 'the limits that it tests hold on each node by itself';
const NOT_DEALT = 'it starts processes or opens sockets of its own, all at one node';
const LATER = 'other nodes follow a change up to 250 ms after the 200, and it expects nothing after the 200';
const ONE_CLOCK = 'it asks one node whether everything has arrived, and frames of the other come later';

/** On one node only, each with the reason. */
export const ON_ONE_NODE: Readonly<Record<string, string>> = {
  budgets: PER_RELAY,
  cap: PER_RELAY,
  changes: LATER,
  drain: NOT_DEALT,
  entry: 'WELCOME of a node among others has `reach`, and the sockets of a user are limited on each node',
  floor: LATER,
  'floor-late': LATE_ANSWERS,
  'floor-live': MODEL_OF_ONE,
  frames: ONE_CLOCK,
  handshake: NOT_DEALT,
  held: `${LATER}. test/unit/cluster-hearing has what it says of audio`,
  lifecycle: NOT_DEALT,
  limits: PER_RELAY,
  'mass-reconnect': ONE_CLOCK,
  overrun: PER_RELAY,
  presence:
    'PRESENCE has no names of another node until that node knows that a session watches, and it expects them',
  resume: PER_RELAY,
  protocol: 'the examples show no `reach`, and it opens their sockets at one node',
  slow: `${NOT_DEALT}. test/unit/cluster-hearing has LAG for speech of other nodes`,
  snapshots: PER_RELAY,
  subscribe: 'TALKGROUP_JOINED does not wait for other nodes, and the talker would be missing in it',
  'talk-late': LATE_ANSWERS,
  terminal: 'it has one radio',
  wire: NOT_DEALT,
};

if (process.argv[1] === fileURLToPath(import.meta.url))
  console.log(OVER_TWO_NODES.map((name) => `dist/test/relay/${name}.test.js`).join(' '));
