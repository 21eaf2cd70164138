// Names the files of test/relay that hold with their radios dealt out over two nodes, and why the others do not.
// Run by itself it prints the first ones, for make.
import { fileURLToPath } from 'node:url';

/** Run a second time by `make test-cluster`, with RADIOS_OVER=nodes. */
export const OVER_TWO_NODES: readonly string[] = ['bursts', 'letters', 'talk', 'text'];

const LOCAL_FLOOR = 'the floors of single and broadcast stay on one node';
const LOCAL_SESSION = 'a session resumes on its own node only';
const PER_RELAY = 'the limit that it tests holds on each node by itself';
const ONE_SERVICE = 'it tests one relay: its sockets, start, end or database';
const ONE_CLOCK = 'it asks one node whether everything has arrived, and frames of the other come later';

/** On one node only, each with the reason. */
export const ON_ONE_NODE: Readonly<Record<string, string>> = {
  budgets: PER_RELAY,
  cap: ONE_SERVICE,
  changes: ONE_CLOCK,
  client: ONE_SERVICE,
  drain: ONE_SERVICE,
  early: ONE_SERVICE,
  emergency: LOCAL_FLOOR,
  entry: ONE_SERVICE,
  floor: LOCAL_FLOOR,
  'floor-live': LOCAL_FLOOR,
  'floor-storm': LOCAL_FLOOR,
  frames: ONE_CLOCK,
  handshake: ONE_SERVICE,
  held: ONE_CLOCK,
  lifecycle: ONE_SERVICE,
  limits: ONE_SERVICE,
  'mass-reconnect': ONE_SERVICE,
  overrun: PER_RELAY,
  presence: 'PRESENCE names sessions of the own node, and counts those of the others',
  resume: LOCAL_SESSION,
  'resume-floor': LOCAL_SESSION,
  protocol: 'its examples open sockets of their own, all at one node, and show no `reach`',
  'rights-reserved': ONE_SERVICE,
  slow: ONE_CLOCK,
  snapshots: PER_RELAY,
  subscribe: 'events are numbered by each node, and TALKGROUP_JOINED does not wait for other nodes',
  terminal: ONE_SERVICE,
  wire: ONE_SERVICE,
};

if (process.argv[1] === fileURLToPath(import.meta.url))
  console.log(OVER_TWO_NODES.map((name) => `dist/test/relay/${name}.test.js`).join(' '));
