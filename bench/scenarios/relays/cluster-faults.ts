// What do radios notice when a node, a nats-server or the way between nodes fails, and when all nodes are restarted?
import {
  enlistPresses,
  type FaultLoads,
  type Observed,
  observeGaps,
  observeHeals,
  observeLeaves,
  observePresses,
  observeRestarts,
  observeReturns,
} from '../../experiments/node-faults.js';
import { OTHERS_SHARE_MAX } from '../../figures/doubts.js';
import { columns, ms, percent } from '../../figures/figures.js';
import { atLeast, atMost, watched } from '../../figures/goals.js';
import { faultsOfGenerator } from '../../figures/judge.js';
import { percentilesOf } from '../../figures/plots.js';
import type { Goal } from '../../figures/result.js';
import type { RestartsPlayed } from '../../generator/loads/restarts.js';
import type { Returns } from '../../generator/loads/returns.js';
import { around, nowMs } from '../../machine/clock.js';
import { readUsage, sharesOf, spent } from '../../machine/conditions.js';
import type { Bench, Report } from '../../scenario.js';
import { withNodes } from '../../servers/nodes.js';

const LOADS: FaultLoads = {
  presses: { talkgroups: 120, ms: 1_000 },
  kills: 3,
  stops: 2,
  splits: 2,
  gaps: { talkgroups: 40, ms: 3_000, kills: 4 },
  leaves: { users: 400, perSecond: 50 },
  returns: { users: 1_000, perSecond: 100 },
  restarts: { users: 1_000, members: 10, talkers: 20 },
};
const QUICK_LOADS: FaultLoads = {
  ...LOADS,
  ...{ kills: 1, stops: 1, splits: 1 },
  presses: { talkgroups: 60, ms: 1_000 },
  gaps: { talkgroups: 20, ms: 3_000, kills: 1 },
  leaves: { users: 100, perSecond: 50 },
  returns: { users: 200, perSecond: 100 },
  restarts: { users: 200, members: 10, talkers: 5 },
};
const SETTINGS = { LOG_LEVEL: 'error' };
/** Before any server runs. */
const IDLE_MS = 2_000;

export async function clusterFaults(bench: Bench): Promise<Report> {
  const loads = bench.isQuick ? QUICK_LOADS : LOADS;
  const before = await othersShare();
  const seen = await observe(bench, loads);
  const others = Math.max(before, await othersShare());
  const faults = faultsOf(seen);
  return {
    lines: [...linesOf(seen), '', lineOfOthers(others)],
    limits:
      'one machine: three nodes, three nats-servers and the database share a core, so each waits for the others',
    faults,
    // Each generator counts its own lateness into what it measures. How late it was is not kept.
    noise: [{ name: '', what: 'presses', lateP99Ms: 0, othersShare: others, measuredP99Ms: null }],
    goals: goalsOf(seen, faults),
    plots: [
      percentilesOf(
        'From a press to the first frame while the node that decides is away',
        'From the first press to the first frame in the hand of a listener on the third node.',
        [
          ['node killed', seen.killed.latency],
          ['node stands still', seen.stopped.latency],
        ],
      ),
      percentilesOf('WELCOME of a radio that comes back', 'From when it should have set out.', [
        ['same node', seen.returns.same.welcome],
        ['other node', seen.returns.other.welcome],
      ]),
    ],
    details: { load: loads, settings: SETTINGS, othersShare: others, ...seen },
  };
}

export interface Seen {
  readonly killed: Observed;
  readonly stopped: Observed;
  readonly healed: Observed;
  readonly gaps: Observed & { readonly lost: number };
  readonly leaves: Observed;
  readonly returns: Returns;
  readonly restarts: readonly RestartsPlayed[];
}

const observe = (bench: Bench, loads: FaultLoads): Promise<Seen> =>
  withNodes({ cores: bench.cores.server, signal: bench.signal, settings: SETTINGS }, async (nodes) => {
    const { ms } = loads.presses;
    const users = await enlistPresses(nodes, loads.presses);
    bench.progress('radios come back');
    const returns = await observeReturns(bench, nodes, loads.returns);
    bench.progress('users leave');
    const leaves = await observeLeaves(bench, nodes, loads.leaves);
    bench.progress('a nats-server is killed');
    const gaps = await observeGaps(bench, nodes, loads.gaps);
    // Before any node is killed: the others miss its id for a minute, and radios are told of it.
    bench.progress('a node is cut off');
    const healed = await observeHeals(bench, nodes, users, loads.splits);
    bench.progress('a node is killed');
    const killed = await observePresses(bench, nodes, users, { signal: 'SIGKILL', ms, times: loads.kills });
    bench.progress('a node stands still');
    const stopped = await observePresses(bench, nodes, users, { signal: 'SIGSTOP', ms, times: loads.stops });
    bench.progress('all nodes are restarted');
    const restarts = await observeRestarts(bench, nodes, loads.restarts);
    return { returns, leaves, gaps, killed, stopped, healed, restarts };
  });

async function othersShare(): Promise<number> {
  const before = readUsage([]);
  await around(nowMs() + IDLE_MS);
  return sharesOf(spent(before, readUsage([]))).othersShare;
}

const lineOfOthers = (share: number) =>
  `all else on this machine, before or after: ${percent(share)} of a core${share > OTHERS_SHARE_MAX ? ': NOT QUIET' : ''}`;

export function faultsOf({ killed, stopped, healed, gaps, leaves, returns, restarts }: Seen): string[] {
  const away = restarts.reduce((sum, { closed, back }) => sum + closed - back, 0);
  const unwelcome = [returns.same, returns.other].reduce(
    (sum, { radios, welcome }) => sum + radios - welcome.count,
    0,
  );
  return [
    ...[killed, stopped, healed, gaps, leaves].flatMap(({ faults }) => faults),
    ...(unwelcome > 0 ? [`coming back: ${unwelcome} radios were not let in`] : []),
    ...(away > 0 ? [`restarts: ${away} radios did not come back`] : []),
    ...faultsOfGenerator(returns, 'coming back'),
    ...restarts.flatMap((one) => faultsOfGenerator(one, 'restarts')),
  ];
}

export function goalsOf(seen: Seen, faults: readonly string[]): Goal[] {
  const { killed, stopped, healed, gaps, leaves, returns, restarts } = seen;
  const most = (name: string, value: number, target: number) =>
    atMost(watched(name, value, 'ms'), target, faults);
  const all = (name: string, share: number) => atLeast(watched(name, share, ''), 1, faults);
  const [closed, resumed] = (['closed', 'resumed'] as const).map((key) =>
    restarts.reduce((sum, one) => sum + one[key], 0),
  ) as [number, number];
  return [
    most('press to first frame after kill -9 of the node that decides, p99', killed.latency.p99Ms, 300),
    most('press to first frame while the node that decides stands still, p99', stopped.latency.p99Ms, 1_900),
    most('one floor again after a split, p99', healed.latency.p99Ms, 250),
    most('one floor again after a split, longest', healed.latency.maxMs, 500),
    most('longest gap of a listener when its nats-server is killed, p99', gaps.latency.p99Ms, 300),
    most('out of a talkgroup after the answer of another node, p99', leaves.latency.p99Ms, 100),
    most('out of a talkgroup after the answer of another node, longest', leaves.latency.maxMs, 250),
    most(
      'WELCOME on another node less on the same, p99',
      returns.other.welcome.p99Ms - returns.same.welcome.p99Ms,
      20,
    ),
    all('share of sessions that went on at another node', returns.other.resumed / returns.other.radios),
    all('share of sessions that went on over a restart of all nodes', resumed / closed),
    most(
      'talkgroup whole after the last close of a restarted node, longest',
      Math.max(...restarts.flatMap(({ wholeAfterMs }) => wholeAfterMs)),
      2_000,
    ),
  ];
}

function linesOf(seen: Seen): string[] {
  const line = columns(44, 8, 12);
  const row = (name: string, { count, p50Ms, p95Ms, p99Ms, maxMs }: Observed['latency']) =>
    line(name, `${count}`, ...[p50Ms, p95Ms, p99Ms, maxMs].map(ms));
  const { killed, stopped, healed, gaps, leaves, returns, restarts } = seen;
  return [
    line('', 'number', 'p50', 'p95', 'p99', 'longest'),
    row('press to first frame, node killed', killed.latency),
    row('press to first frame, node stands still', stopped.latency),
    row('one floor again after a split', healed.latency),
    row('gap of a listener, nats-server killed', gaps.latency),
    row('out of a talkgroup, after the 200', leaves.latency),
    row('WELCOME, same node', returns.same.welcome),
    row('WELCOME, other node', returns.other.welcome),
    row('presses left late', killed.late),
    '',
    `pressed again: node killed ${killed.again}, node stands still ${stopped.again}; frames lost with the nats-servers: ${gaps.lost}`,
    `went on: same node ${returns.same.resumed} of ${returns.same.radios}, other node ${returns.other.resumed} of ${returns.other.radios}`,
    ...restarts.map(
      ({ closed, resumed, wholeAfterMs, awayMs, refused }, node) =>
        `restart of node ${node + 1}: ${closed} radios closed, ${resumed} went on, whole ${ms(Math.max(...wholeAfterMs))} after the last close, away ${ms(Math.max(...awayMs))} at most, refused ${JSON.stringify(refused)}`,
    ),
  ];
}
