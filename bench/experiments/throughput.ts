// Measures the throughput of the REST API: raises the rate until answers are late.
import { noiseOf } from '../figures/doubts.js';
import { columns, ms, percent } from '../figures/figures.js';
import { watched } from '../figures/goals.js';
import { faultsOfGenerator } from '../figures/judge.js';
import { percentilesOf } from '../figures/plots.js';
import type { Plot } from '../figures/result.js';
import type { Mix, RestPiece, RestPlayed, RestSetup } from '../generator/loads/rest.js';
import { type Player, soon } from '../generator/player.js';
import { failuresOf } from '../generator/requests.js';
import type { Member } from '../radios/member.js';
import type { Bench, Report } from '../scenario.js';
import type { Relay } from '../servers/relay.js';
import { enlist } from '../servers/users.js';
import { linesOfSurroundings, type Surroundings, watch } from './beside.js';
import { climb, every, highestOf, RATES, type Rung, seriesOf, wordsOf } from './ladder.js';

export interface ThroughputOptions {
  readonly mix: Mix;
  /** As it stands in the name of the goal: `REST reads`. */
  readonly name: string;
  /** A sentence. */
  readonly load: string;
  /** Also what a generator that waits for its answers makes of the same server. */
  readonly hasClosedLoop: boolean;
}

export type RestPlayer = Player<RestPiece, RestPlayed, null>;

/** Beyond this a phone's user notices, for the network comes on top. */
const P99_MS_MAX = 50;
/** As many as a proxy in front keeps open. */
export const CONNECTIONS = 64;
const USERS = 1_000;
const TALKGROUPS = 50;
const TALKGROUPS_OF_EACH = 3;
const SETTINGS = { LOG_LEVEL: 'warn' };

interface Plan {
  readonly perSecond: readonly number[];
  readonly stepMs: number;
  readonly warmUpMs: number;
}

const FULL: Plan = { perSecond: RATES, stepMs: 2_000, warmUpMs: 2_000 };
/** Each about two and a half times the one before. */
const QUICK: Plan = {
  perSecond: every(4, RATES),
  stepMs: 700,
  warmUpMs: 500,
};
const WARM_UP_PER_SECOND = 200;

interface Step extends RestPlayed {
  readonly surroundings: Surroundings;
}

export function measureThroughput(bench: Bench, options: ThroughputOptions): Promise<Report> {
  const plan = bench.isQuick ? QUICK : FULL;
  return bench.withRelay(SETTINGS, async (relay) => {
    const users = await enlistAskers(relay, USERS);
    return withRest(bench, { relay, users, mix: options.mix }, async (rest) => {
      const play = playOn(relay, rest, bench.progress);
      await rest.play({ fromMs: soon(), ms: plan.warmUpMs, perSecond: WARM_UP_PER_SECOND });
      const rungs = await climb({
        perSecond: plan.perSecond,
        play: (perSecond) => play(perSecond, plan.stepMs),
        isGood: ({ sent }) => failuresOf(sent) === 0 && sent.latency.p99Ms <= P99_MS_MAX,
      });
      const loops = options.hasClosedLoop ? await compareLoops(play, plan) : null;
      return reportOf({ ...options, plan, rungs, loops });
    });
  });
}

/** Users with devices, each a member of three talkgroups. */
export function enlistAskers(relay: Relay, users: number): Promise<readonly Member[]> {
  return enlist(relay, {
    users,
    talkgroups: Array.from({ length: TALKGROUPS }, () => 'open' as const),
    memberOf: (user) => Array.from({ length: TALKGROUPS_OF_EACH }, (_, i) => (user + i) % TALKGROUPS),
    hasDevices: true,
  });
}

export interface RestOptions {
  readonly relay: Relay;
  readonly users: readonly Member[];
  readonly mix: Mix;
  /** Without it CONNECTIONS. */
  readonly connectionsMax?: number;
}

/** A generator of REST requests for as long as `use` runs. */
export function withRest<T>(
  bench: Bench,
  { relay, users, mix, connectionsMax = CONNECTIONS }: RestOptions,
  use: (rest: RestPlayer) => Promise<T>,
): Promise<T> {
  return bench.withPlayer<RestSetup, RestPiece, RestPlayed, null, T>(
    new URL('../generator/loads/rest.js', import.meta.url),
    { url: relay.restUrl, connectionsMax, users, mix },
    use,
  );
}

type Play = (perSecond: number | null, ms: number) => Promise<Step>;

const playOn =
  (relay: Relay, rest: RestPlayer, progress: Bench['progress']): Play =>
  async (perSecond, ms) => {
    const watched = watch(relay);
    const { sent, generatorShare } = await rest.play({ fromMs: soon(), ms, perSecond });
    progress(`${perSecond ?? 'closed loop'}: p99 ${sent.latency.p99Ms} ms`);
    return { sent, generatorShare, surroundings: watched([{ generatorShare, late: sent.late }]) };
  };

/** What the closed loop claims, and what the same rate is when no request waits for the server. */
async function compareLoops(play: Play, { stepMs }: Plan) {
  const closed = await play(null, stepMs);
  const perSecond = Math.round((1000 * closed.sent.requests) / stepMs);
  return { perSecond, closed, open: await play(perSecond, stepMs) };
}

interface Measured extends ThroughputOptions {
  readonly plan: Plan;
  readonly rungs: readonly Rung<Step>[];
  readonly loops: Awaited<ReturnType<typeof compareLoops>> | null;
}

function reportOf({ name, load, mix, plan, rungs, loops }: Measured): Report {
  const faults = rungs.flatMap(({ perSecond, played }) => faultsOfGenerator(played, `${perSecond}/s`));
  const goals = [watched(`${name} per second with p99 at most ${P99_MS_MAX} ms`, highestOf(rungs), '/s')];
  const settings = { connections: CONNECTIONS, users: USERS, p99MsMax: P99_MS_MAX, ...plan, mix };
  return {
    lines: [
      `${name}, highest rate with p99 at most ${P99_MS_MAX} ms and no failure: ${wordsOf(rungs)}/s`,
      ...(loops === null ? [] : linesOfLoops(loops)),
      '',
      `load: ${load}`,
      `held constant: ${CONNECTIONS} kept connections, ${USERS} users, the mix; ${plan.stepMs / 1000} s at each rate`,
      '',
      ...linesOfRungs(rungs),
    ],
    faults,
    noise: rungs.slice(-1).map(({ played }) => noiseOf(played.surroundings, 'requests', P99_MS_MAX)),
    goals,
    plots: [curveOf(name, rungs), ...(loops === null ? [] : [plotOfLoops(name, loops)])],
    details: { settings: SETTINGS, load: settings, rungs, loops },
  };
}

function linesOfRungs(rungs: readonly Rung<Step>[]): string[] {
  const line = columns(12, 13, 13, 13, 10, 9, 12, 11);
  const last = rungs.at(-1)?.played.surroundings;
  return [
    line('per second', 'p50', 'p99', 'longest', 'failures', 'server', 'PostgreSQL', 'generator'),
    ...rungs.map(({ perSecond, played: { sent, surroundings }, isGood }) => {
      const { serverShare, databaseShare, generatorShare } = surroundings;
      const latencies = [sent.latency.p50Ms, sent.latency.p99Ms, sent.latency.maxMs].map(ms);
      const shares = [serverShare, databaseShare, generatorShare].map(percent);
      const cells = [...latencies, `${failuresOf(sent)}`, ...shares];
      return `${line(`${perSecond}`, ...cells)}${isGood ? '' : '  too much'}`;
    }),
    ...(last === undefined ? [] : linesOfSurroundings(last, 'requests').slice(1)),
  ];
}

function linesOfLoops({ perSecond, closed, open }: NonNullable<Measured['loops']>): string[] {
  return [
    `a closed loop of ${CONNECTIONS} connections would claim ${perSecond}/s with p99 ${ms(closed.sent.latency.p99Ms)}`,
    `the same ${perSecond}/s when nobody waits for the server: p99 ${ms(open.sent.latency.p99Ms)}, ${failuresOf(open.sent)} failures`,
  ];
}

const curveOf = (name: string, rungs: readonly Rung<Step>[]): Plot => ({
  kind: 'curve',
  title: `${name}: latency against rate`,
  note: `Latency counts from when a request was due; where p99 leaves ${P99_MS_MAX} ms behind, the server is full.`,
  x: { label: 'requests', unit: '/s', scale: 'log' },
  y: { label: 'latency', unit: 'ms', scale: 'log' },
  series: [
    seriesOf('p50', rungs, ({ sent }) => sent.latency.p50Ms),
    seriesOf('p99', rungs, ({ sent }) => sent.latency.p99Ms),
  ],
});

const plotOfLoops = (name: string, { perSecond, closed, open }: NonNullable<Measured['loops']>): Plot =>
  percentilesOf(
    `${name}: the same rate in closed and in open loop`,
    `Both are ${perSecond}/s on the same server. A generator that waits for answers never sees the queue it should have made.`,
    [
      ['closed loop', closed.sent.latency],
      ['open loop', open.sent.latency],
    ],
  );
