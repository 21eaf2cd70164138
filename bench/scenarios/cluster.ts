// What does a frame cost that goes to another node, and how much later is it heard there? Two nodes, one nats-server.
import { columns, ms, percent, quartiles, us } from '../figures/figures.js';
import { watched, watchedMedian } from '../figures/goals.js';
import { percentilesOf } from '../figures/plots.js';
import type { Goal } from '../figures/result.js';
import type { Hop, HopTask, HopTurn, Place, Seats } from '../generator/loads/hop.js';
import type { Bench, Report } from '../scenario.js';
import { withCluster } from '../servers/cluster.js';
import { enlist } from '../servers/users.js';

interface Load {
  /** With a talker in each. */
  readonly talkgroups: number;
  readonly frames: number;
  readonly rounds: number;
}

const AUDIENCE = { probeEvery: 1, framesPerSecond: 50, payloadBytes: 60 };
const LOADS: readonly Load[] = [
  { talkgroups: 20, frames: 100, rounds: 8 },
  { talkgroups: 100, frames: 100, rounds: 8 },
];
const QUICK_LOADS: readonly Load[] = [{ talkgroups: 20, frames: 50, rounds: 2 }];
const SETTINGS = { LOG_LEVEL: 'warn' };
/** Talker and local listener, for frames that stay. The same and a listener on the other node, for those that do not. */
const MEMBERS = { local: 2, forwarded: 3 };
/** Above it the generator may be the limit. */
const GENERATOR_SHARE_MAX = 0.85;

const PLACES: readonly (readonly [Place, string])[] = [
  ['talkers', 'node of the talkers'],
  ['listeners', 'other node, with one delivery'],
  ['nats', 'nats-server'],
];

interface Run extends Hop {
  readonly name: string;
}

export async function cluster(bench: Bench): Promise<Report> {
  const loads = bench.isQuick ? QUICK_LOADS : LOADS;
  const runs: Run[] = [];
  for (const load of loads) runs.push(await measure(bench, load));
  return {
    lines: linesOf(runs),
    limits:
      'one machine: nodes, nats-server and database share a core, so no figure is a capacity of a cluster',
    faults: runs.flatMap(faultsOf),
    goals: runs.flatMap(goalsOf),
    plots: [
      percentilesOf(
        'Latency of a forwarded frame',
        'From when it should have left the talker to the listener on its node, and to the one on the other node.',
        runs.flatMap(({ name, near, far }) => [
          [`${name}, same node`, near],
          [`${name}, other node`, far],
        ]),
      ),
    ],
    details: { load: loads, settings: SETTINGS, runs },
  };
}

function measure(bench: Bench, { talkgroups, frames, rounds }: Load): Promise<Run> {
  const name = `${(talkgroups * AUDIENCE.framesPerSecond).toLocaleString('en')} frames/s`;
  bench.progress(name);
  const { cores, signal } = bench;
  return withCluster({ cores: cores.server, signal, settings: SETTINGS }, async (servers) => {
    const ofLocal = talkgroups * MEMBERS.local;
    const users = await enlist(servers, {
      users: ofLocal + talkgroups * MEMBERS.forwarded,
      talkgroups: Array.from({ length: 2 * talkgroups }, () => 'open' as const),
      memberOf: (user) => [user < ofLocal ? user % talkgroups : talkgroups + ((user - ofLocal) % talkgroups)],
    });
    const row = (first: number, place: number) =>
      users.slice(first + place * talkgroups, first + (place + 1) * talkgroups);
    const seats = (first: number, hasFar: boolean): Seats => ({
      talkers: row(first, 0),
      near: row(first, 1),
      far: hasFar ? row(first, 2) : [],
    });
    const [near, far] = servers.nodes;
    const hop = await bench.generate<HopTask, Hop>(new URL('../generator/loads/hop.js', import.meta.url), {
      near: { url: near.url, dialect: near.dialect },
      far: { url: far.url, dialect: far.dialect },
      pids: { talkers: near.pid, listeners: far.pid, nats: servers.natsPid },
      sides: { local: seats(0, false), forwarded: seats(ofLocal, true) },
      ...{ audience: AUDIENCE, frames, rounds },
    });
    return { name, ...hop };
  });
}

/** By round: what a frame costs there beyond one that stays on its node (µs). */
function pricesOf(turns: readonly HopTurn[], place: Place): number[] {
  const costs = (side: HopTurn['side']) =>
    turns.filter((turn) => turn.side === side).map(({ cpuUs, frames }) => cpuUs[place] / frames);
  const local = costs('local');
  return costs('forwarded').map((cost, round) => cost - (local[round] ?? Number.NaN));
}

const goalsOf = ({ name, turns, hop }: Run): Goal[] => [
  ...PLACES.map(([place, words]) =>
    watchedMedian(`CPU per forwarded frame, ${words}, ${name}`, quartiles(pricesOf(turns, place)), 'µs'),
  ),
  watched(`other node less same node, p50, ${name}`, hop.p50Ms, 'ms'),
  watched(`other node less same node, p99, ${name}`, hop.p99Ms, 'ms'),
];

function faultsOf({ name, turns, generatorShare }: Run): string[] {
  const lost = turns.reduce((sum, turn) => sum + turn.lost, 0);
  return [
    ...(lost === 0 ? [] : [`${name}: ${lost} deliveries lost`]),
    ...(generatorShare <= GENERATOR_SHARE_MAX
      ? []
      : [`${name}: the generator needs ${percent(generatorShare)}`]),
  ];
}

function linesOf(runs: readonly Run[]): string[] {
  const line = columns(34, 18);
  const each = (title: string, cell: (run: Run) => string) => line(title, ...runs.map(cell));
  return [
    each('', ({ name }) => name),
    ...PLACES.map(([place, words]) =>
      each(words, ({ turns }) => us(quartiles(pricesOf(turns, place)).median)),
    ),
    each('same node, p50', ({ near }) => ms(near.p50Ms)),
    each('other node, p50', ({ far }) => ms(far.p50Ms)),
    each('less same node, p50', ({ hop }) => ms(hop.p50Ms)),
    each('less same node, p99', ({ hop }) => ms(hop.p99Ms)),
    each('forwarded frames', ({ hop }) => `${hop.count}`),
    each('generator', ({ generatorShare }) => percent(generatorShare)),
  ];
}
