// Breaks three nodes and their nats-servers one by one, and measures what radios notice of each fault.

import { createRecorder, type Latency, mergeLatencies } from '../figures/histogram.js';
import { faultsOfGenerator } from '../figures/judge.js';
import type { GapsPiece, GapsPlayed, GapsSetup } from '../generator/loads/gaps.js';
import type { Leaves, LeavesTask } from '../generator/loads/leaves.js';
import type { PressesPiece, PressesPlayed, PressesSetup } from '../generator/loads/presses.js';
import type { RestartsPiece, RestartsPlayed, RestartsSetup } from '../generator/loads/restarts.js';
import type { Returns, ReturnsTask } from '../generator/loads/returns.js';
import { soon } from '../generator/player.js';
import { around, exactly, nowMs } from '../machine/clock.js';
import type { Member } from '../radios/member.js';
import type { Target } from '../radios/raw-radio.js';
import type { Bench } from '../scenario.js';
import { startLink } from '../servers/link.js';
import { readMetrics } from '../servers/metrics.js';
import { NODES, type Nodes } from '../servers/nodes.js';
import { enlist, type FleetOptions } from '../servers/users.js';

export interface FaultLoads {
  readonly presses: { readonly talkgroups: number; readonly ms: number };
  readonly kills: number;
  readonly stops: number;
  readonly splits: number;
  readonly gaps: { readonly talkgroups: number; readonly ms: number; readonly kills: number };
  readonly leaves: { readonly users: number; readonly perSecond: number };
  readonly returns: { readonly users: number; readonly perSecond: number };
  readonly restarts: { readonly users: number; readonly members: number; readonly talkers: number };
}

/** What one kind of fault showed. */
export interface Observed {
  readonly latency: Latency;
  readonly late: Latency;
  /** What makes it say nothing. */
  readonly faults: readonly string[];
  /** Presses that had to be done again. */
  readonly again: number;
}

const loadOf = (name: string) => new URL(`../generator/loads/${name}.js`, import.meta.url);
const groupsOf = (groups: number, members: number, mode: 'open' | 'single' = 'open'): FleetOptions => ({
  users: groups * members,
  talkgroups: Array.from({ length: groups }, () => mode),
  memberOf: (user) => [Math.floor(user / members)],
});
const targetAt = ({ targets }: Nodes, node: number) => targets[node % NODES] as Target;

const WHOLE_MS_MAX = 30_000;
const WHOLE_LOOK_MS = 250;
/** For what was said of the last fault to be over. */
const CALM_MS = 1_000;

/** Resolves when each node reaches both others. The id of a node that was killed is missed by them for a minute more. */
async function untilWhole(bench: Bench, nodes: Nodes): Promise<void> {
  const lastMs = nowMs() + WHOLE_MS_MAX;
  for (;;) {
    const peers = await Promise.all(nodes.metricsUrls.map(peersAt));
    if (peers.every((count) => count === NODES - 1)) break;
    bench.signal.throwIfAborted();
    if (nowMs() > lastMs) throw new Error(`the nodes reach ${peers.join(', ')} others`);
    await around(nowMs() + WHOLE_LOOK_MS);
  }
  await around(nowMs() + CALM_MS);
}

const PEERS = 'talkgroup_cluster_peers';

async function peersAt(url: string): Promise<number> {
  return (await readMetrics(url, [PEERS], WHOLE_MS_MAX))[PEERS];
}

/** The home of the floors is killed, or stands still: from the press to the first frame on the third node. */
export async function observePresses(
  bench: Bench,
  nodes: Nodes,
  users: readonly Member[],
  { signal, ms, times }: { signal: 'SIGKILL' | 'SIGSTOP'; ms: number; times: number },
): Promise<Observed> {
  const played: PressesPlayed[] = [];
  for (let gone = 0; gone < times; gone++) {
    await untilWhole(bench, nodes);
    played.push(
      await withPresses(bench, nodes, users, async (play) => {
        const goneAtMs = soon();
        const pressed = play({ kind: 'press', gone, goneAtMs, ms });
        await exactly(goneAtMs);
        nodes.signal(gone, signal);
        return pressed;
      }),
    );
    if (signal === 'SIGSTOP') nodes.signal(gone, 'SIGCONT');
    else {
      await nodes.ended(gone);
      await nodes.start(gone);
    }
  }
  const failed = played.reduce((sum, one) => sum + one.failed, 0);
  const name = signal === 'SIGKILL' ? 'node killed' : 'node stands still';
  return {
    latency: mergeLatencies(played.map(({ heard }) => heard)),
    late: mergeLatencies(played.map(({ late }) => late)),
    again: played.reduce((sum, one) => sum + one.again, 0),
    faults: [
      ...(failed > 0 ? [`${name}: ${failed} presses were not heard within 10 s`] : []),
      ...played.flatMap((one) => faultsOfGenerator(one, name)),
    ],
  };
}

type PlayPresses = (piece: PressesPiece) => Promise<PressesPlayed>;

const withPresses = <T>(
  bench: Bench,
  { targets }: Nodes,
  users: readonly Member[],
  use: (play: PlayPresses) => Promise<T>,
): Promise<T> =>
  bench.withPlayer<PressesSetup, PressesPiece, PressesPlayed, null, T>(
    loadOf('presses'),
    { targets, users },
    async ({ play }) => {
      await around(nowMs() + CALM_MS); // until the nodes know of each other's members
      return use(play);
    },
  );

/** One node is cut off while both sides talk: from its new connection to NATS to when one talker is told. */
export async function observeHeals(
  bench: Bench,
  nodes: Nodes,
  users: readonly Member[],
  times: number,
): Promise<Observed> {
  const cut = NODES - 1;
  const [natsUrl = ''] = nodes.natsUrls;
  const link = await startLink(Number(new URL(natsUrl).port));
  const overLink = new URL(natsUrl);
  overLink.port = `${link.port}`;
  const moveTo = async (settings: Readonly<Record<string, string>>) => {
    nodes.signal(cut, 'SIGTERM');
    await nodes.ended(cut);
    await nodes.start(cut, settings);
    await untilWhole(bench, nodes);
  };
  const told = createRecorder();
  const faults: string[] = [];
  try {
    await moveTo({ NATS_URL: overLink.href.replace(/\/$/, '') });
    await withPresses(bench, nodes, users, async (play) => {
      for (let time = 0; time < times; time++) {
        await link.cut();
        const parted = await play({ kind: 'part', cut });
        if (parted.failed > 0) faults.push(`split: ${parted.failed} radios did not talk`);
        const healing = play({ kind: 'heal' });
        const healedAtMs = await link.heal();
        const { collidedAtMs, failed, ...healed } = await healing;
        if (failed > 0) faults.push(`heal: ${failed} talkgroups without a collision`);
        for (const atMs of collidedAtMs) told.record(atMs - healedAtMs);
        faults.push(...faultsOfGenerator(healed, 'heal'));
        await around(nowMs() + CALM_MS);
      }
    });
    await moveTo({});
  } finally {
    link.stop();
  }
  return { latency: told.latency(), late: createRecorder().latency(), again: 0, faults };
}

/** The nats-server of the listeners' node is killed: the longest gap of each listener. */
export async function observeGaps(
  bench: Bench,
  nodes: Nodes,
  { talkgroups, ms, kills }: FaultLoads['gaps'],
): Promise<Observed & { readonly lost: number }> {
  const users = await enlist(nodes, groupsOf(talkgroups, 2));
  const [from, to] = [0, 1];
  const played: GapsPlayed[] = [];
  const setup = { talkers: targetAt(nodes, from), listeners: targetAt(nodes, to), users };
  await bench.withPlayer<GapsSetup, GapsPiece, GapsPlayed, null, void>(
    loadOf('gaps'),
    setup,
    async ({ play }) => {
      for (let time = 0; time < kills; time++) {
        await around(nowMs() + CALM_MS);
        const server = nodes.natsOf(to);
        const fromMs = soon() + 1_000;
        const heard = play({ fromMs, ms });
        await exactly(fromMs + 200);
        await nodes.killNats(server);
        played.push(await heard);
        await nodes.startNats(server);
        await untilWhole(bench, nodes);
      }
    },
  );
  const silent = played.reduce((sum, one) => sum + one.silent, 0);
  return {
    latency: mergeLatencies(played.map(({ gaps }) => gaps)),
    late: mergeLatencies(played.map(({ late }) => late)),
    again: 0,
    lost: played.reduce((sum, { lost }) => sum + lost, 0),
    faults: [
      ...(silent > 0 ? [`nats-server killed: ${silent} listeners did not hear the last frame`] : []),
      ...played.flatMap((one) => faultsOfGenerator(one, 'nats-server killed')),
    ],
  };
}

/** Users leave at one node while their radios are on another. */
export async function observeLeaves(
  bench: Bench,
  nodes: Nodes,
  { users, perSecond }: FaultLoads['leaves'],
): Promise<Observed> {
  const task = {
    restUrl: nodes.restUrls[0] ?? '',
    target: targetAt(nodes, 1),
    users: await enlist(nodes, { users }),
    perSecond,
  };
  const left = await bench.generate<LeavesTask, Leaves>(loadOf('leaves'), task);
  return {
    ...{ latency: left.after, late: left.late, again: 0 },
    faults: [
      ...(left.failed > 0 ? [`leaving: ${left.failed} requests failed, or radios stayed in`] : []),
      ...faultsOfGenerator(left, 'leaving'),
    ],
  };
}

export async function observeReturns(
  bench: Bench,
  { targets, ...nodes }: Nodes,
  { users, perSecond }: FaultLoads['returns'],
): Promise<Returns> {
  const members = 10;
  const fleet = await enlist(nodes, groupsOf(users / members, members));
  return bench.generate<ReturnsTask, Returns>(loadOf('returns'), { targets, users: fleet, perSecond });
}

/** All nodes are restarted one after the other, with SIGTERM. */
export async function observeRestarts(
  bench: Bench,
  nodes: Nodes,
  { users, members, talkers }: FaultLoads['restarts'],
): Promise<readonly RestartsPlayed[]> {
  const fleet = await enlist(nodes, groupsOf(users / members, members));
  const setup = { targets: nodes.targets, users: fleet, members, talkers };
  return bench.withPlayer<RestartsSetup, RestartsPiece, RestartsPlayed, null, RestartsPlayed[]>(
    loadOf('restarts'),
    setup,
    async ({ play }) => {
      const played: RestartsPlayed[] = [];
      for (let node = 0; node < NODES; node++) {
        await untilWhole(bench, nodes);
        const back = play({ node, ms: WHOLE_MS_MAX });
        nodes.signal(node, 'SIGTERM');
        await nodes.ended(node);
        played.push(await back);
        await nodes.start(node);
      }
      return played;
    },
  );
}

export const enlistPresses = (
  nodes: Nodes,
  { talkgroups }: FaultLoads['presses'],
): Promise<readonly Member[]> => enlist(nodes, groupsOf(talkgroups, NODES, 'single'));
