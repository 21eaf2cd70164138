// Lists what a reader asks of several threads and nodes, and the goals that answer it.

export type Answer = readonly [question: string, scenario: string, goal: string];

const THREADS = 'threads';
const CLUSTER = 'cluster';
const FAULTS = 'cluster-faults';
const OF_50 = '16 talkers in talkgroups of 50';

/** Of several threads and nodes. What is an estimate is called one. */
export const RELAY_ANSWERS: readonly Answer[] = [
  [
    'CPU per delivery, 2 threads over 1: 1 talker, 1,000 listeners',
    THREADS,
    'CPU per delivery, relay, 2 threads / relay: 1 talker, 1,000 listeners',
  ],
  [`the same: ${OF_50}`, THREADS, `CPU per delivery, relay, 2 threads / relay: ${OF_50}`],
  [
    'the same: 100 talkers in talkgroups of 5',
    THREADS,
    'CPU per delivery, relay, 2 threads / relay: 100 talkers in talkgroups of 5',
  ],
  [
    'share of the busiest of 2 threads, 1,000 listeners',
    THREADS,
    'share of the busiest thread: 1 talker, 1,000 listeners',
  ],
  [
    'share of 1,000 connections on the fullest of 2 threads',
    THREADS,
    'share of 1,000 connections on the fullest of 2 threads',
  ],
  ['the same of 4 threads', THREADS, 'share of 1,000 connections on the fullest of 4 threads'],
  [
    'other thread: a frame is heard later by, p50',
    THREADS,
    'other thread less thread of the talkers, p50, 5,000 frames/s',
  ],
  ['the same, p99', THREADS, 'other thread less thread of the talkers, p99, 5,000 frames/s'],
  ['floor request to grant on 2 threads: p99', THREADS, 'access time p99, floor, 2 threads'],
  [
    'estimate: deliveries per second, 2 threads over 1',
    THREADS,
    `estimate: deliveries per second, 2 threads / 1: ${OF_50}`,
  ],
  [
    'CPU of a frame to another node: node of the talker',
    CLUSTER,
    'CPU per forwarded frame, node of the talkers, 5,000 frames/s',
  ],
  ['the same: other node', CLUSTER, 'CPU per forwarded frame, other node, 5,000 frames/s'],
  ['the same: nats-server', CLUSTER, 'CPU per forwarded frame, nats-server, 5,000 frames/s'],
  [
    'other node: a frame is heard later by, p50',
    CLUSTER,
    'other node less node of the talkers, p50, 5,000 frames/s',
  ],
  ['the same, p99', CLUSTER, 'other node less node of the talkers, p99, 5,000 frames/s'],
  [
    'estimate: deliveries per second, 3 nodes over 1, talkgroups of 50',
    CLUSTER,
    'estimate: deliveries per second, 3 nodes / 1, talkgroups of 50',
  ],
  [
    'estimate: the same, talkgroups of 5',
    CLUSTER,
    'estimate: deliveries per second, 3 nodes / 1, talkgroups of 5',
  ],
  [
    'press to first frame after the deciding node is killed: p99',
    FAULTS,
    'press to first frame after kill -9 of the node that decides, p99',
  ],
  [
    'the same while it stands still: p99',
    FAULTS,
    'press to first frame while the node that decides stands still, p99',
  ],
  ['split of nodes is over, one floor again: longest', FAULTS, 'one floor again after a split, longest'],
  [
    'NATS server killed, longest gap of a listener: p99',
    FAULTS,
    'longest gap of a listener when its nats-server is killed, p99',
  ],
  [
    'permission removed at another node: longest',
    FAULTS,
    'out of a talkgroup after the answer of another node, longest',
  ],
  ['resume on another node, WELCOME later by: p99', FAULTS, 'WELCOME on another node less on the same, p99'],
  [
    'restart of three nodes: share of sessions that go on',
    FAULTS,
    'share of sessions that went on over a restart of all nodes',
  ],
];
