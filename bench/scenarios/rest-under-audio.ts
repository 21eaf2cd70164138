// Does REST disturb the audio? The load: one talker, 200 listeners, and requests at 2,000 a second or what the machine
// gives, on and off in alternating phases. Constant are talker, listeners, rate and mix. The number is p99 of the audio in a
// phase with requests over that in its neighbour without. A second server, with RELAY_THREADS=0, shows what the relay's own
// thread is good for. A quick run leaves it out.
import {
  AUDIENCE,
  alternate,
  generatorsOf,
  latenciesOf,
  linesOfSurroundings,
  type Phase,
  ratiosOf,
  type Surroundings,
  watch,
  withAudience,
} from '../experiments/beside.js';
import { climb, every, highestOf, RATES } from '../experiments/ladder.js';
import { CONNECTIONS, enlistAskers, type RestPlayer, withRest } from '../experiments/throughput.js';
import { noiseOf } from '../figures/doubts.js';
import { columns, ms, type Quartiles } from '../figures/figures.js';
import { watched, watchedMedian } from '../figures/goals.js';
import { type Latency, mergeLatencies } from '../figures/histogram.js';
import { faultsOfDelivery, faultsOfGenerator, judge } from '../figures/judge.js';
import { percentilesOf } from '../figures/plots.js';
import type { Goal, Plot } from '../figures/result.js';
import type { RestPlayed } from '../generator/loads/rest.js';
import { soon } from '../generator/player.js';
import { failuresOf } from '../generator/requests.js';
import type { Delivered } from '../radios/channel.js';
import type { Bench, Report } from '../scenario.js';

const LISTENERS = 200;
const DELIVERIES_PER_SECOND = LISTENERS * AUDIENCE.framesPerSecond;
const USERS = 200;
const PER_SECOND_MAX = 2_000;
/** Requests fit beside the audio while 99 of 100 are answered in this time, and none fails. */
const REST_P99_MS_MAX = 100;
const RATIO_MAX = 1.5;
/** With more failed requests than this share the load was not what it says. */
const FAILED_SHARE_MAX = 0.01;

interface Plan {
  readonly perSecond: readonly number[];
  readonly stepMs: number;
  readonly pairs: number;
  readonly phaseMs: number;
}

const RATES_TRIED = RATES.filter((rate) => rate >= 200 && rate <= PER_SECOND_MAX);
const FULL: Plan = { perSecond: RATES_TRIED, stepMs: 1_000, pairs: 8, phaseMs: 2_000 };
const QUICK: Plan = { perSecond: every(3, RATES_TRIED), stepMs: 300, pairs: 2, phaseMs: 500 };

const WARM_UP_PER_SECOND = 200;
const WARM_UP_MS = 700;

interface Run {
  readonly name: string;
  readonly perSecond: number;
  readonly phases: readonly Phase<RestPlayed>[];
  readonly ratio: Quartiles;
  readonly without: Latency;
  readonly with: Latency;
  readonly rest: Latency;
  readonly requests: number;
  readonly failures: number;
  readonly delivered: Delivered;
  readonly surroundings: Surroundings;
}

export async function restUnderAudio(bench: Bench): Promise<Report> {
  const plan = bench.isQuick ? QUICK : FULL;
  const own = await measure(bench, { plan, relayThreads: 1, perSecond: null });
  if (bench.isQuick) return reportOf(plan, own, null);
  // Without a thread of its own the same load, whether it fits or not.
  return reportOf(plan, own, await measure(bench, { plan, relayThreads: 0, perSecond: own.perSecond }));
}

interface Subject {
  readonly plan: Plan;
  readonly relayThreads: 0 | 1;
  /** null: to be found. */
  readonly perSecond: number | null;
}

const settingsOf = (relayThreads: 0 | 1) => ({ LOG_LEVEL: 'warn', RELAY_THREADS: `${relayThreads}` });

function measure(bench: Bench, { plan, relayThreads, perSecond }: Subject): Promise<Run> {
  const name = `RELAY_THREADS=${relayThreads}`;
  bench.progress(name);
  return bench.withRelay(settingsOf(relayThreads), async (relay) => {
    const users = await enlistAskers(relay, USERS);
    return withAudience(bench, { relay, listeners: LISTENERS }, (audience) =>
      withRest(bench, { relay, users, mix: 'mixed' }, async (rest) => {
        // Also with a given rate: both servers have then done the same before.
        const found = await findRate(rest, plan);
        const rate = perSecond ?? found;
        bench.progress(`${rate} requests a second`);
        const watched = watch(relay);
        const phases = await alternate({
          audience,
          pairs: plan.pairs,
          phaseMs: plan.phaseMs,
          play: (fromMs) => rest.play({ fromMs, ms: plan.phaseMs, perSecond: rate }),
        });
        const surroundings = watched(generatorsOf(phases));
        return { name, perSecond: rate, surroundings, ...summaryOf(phases), delivered: await audience.end() };
      }),
    );
  });
}

/** Beside the audio, up to the rate that is asked for: one step below the highest with which the server keeps up. */
async function findRate(rest: RestPlayer, { perSecond, stepMs }: Plan): Promise<number> {
  await rest.play({ fromMs: soon(), ms: WARM_UP_MS, perSecond: WARM_UP_PER_SECOND });
  const rungs = await climb({
    perSecond,
    play: (rate) => rest.play({ fromMs: soon(), ms: stepMs, perSecond: rate }),
    isGood: ({ sent }) => failuresOf(sent) === 0 && sent.latency.p99Ms <= REST_P99_MS_MAX,
  });
  const at = perSecond.indexOf(highestOf(rungs));
  return (at === perSecond.length - 1 ? perSecond[at] : perSecond[at - 1]) ?? perSecond[0] ?? 0;
}

function summaryOf(phases: readonly Phase<RestPlayed>[]) {
  const rounds = phases.flatMap(({ load }) => (load === null ? [] : [load.sent]));
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
  return {
    phases,
    ratio: ratiosOf(phases),
    ...latenciesOf(phases),
    rest: mergeLatencies(rounds.map(({ latency }) => latency)),
    requests: sum(rounds.map(({ requests }) => requests)),
    failures: sum(rounds.map(failuresOf)),
  };
}

function reportOf(plan: Plan, own: Run, shared: Run | null): Report {
  const runs = shared === null ? [own] : [own, shared];
  const faults = [
    ...faultsOfDelivery(own.delivered, own.name),
    ...runs.flatMap(({ surroundings, name }) => faultsOfGenerator(surroundings, name)),
    ...(own.failures > FAILED_SHARE_MAX * own.requests
      ? [`${own.name}: ${own.failures} of ${own.requests} requests failed`]
      : []),
  ];
  const isMet = judge(faults, own.ratio.median <= RATIO_MAX);
  const goals = goalsOf(own, shared, isMet);
  const load = {
    listeners: LISTENERS,
    audience: AUDIENCE,
    users: USERS,
    connections: CONNECTIONS,
    perSecondMax: PER_SECOND_MAX,
    restP99MsMax: REST_P99_MS_MAX,
    ...plan,
  };
  return {
    lines: [...linesOf(plan, runs)],
    faults,
    noise: runs.map(({ surroundings, without, name }) =>
      noiseOf(surroundings, 'frames and requests', without.p99Ms, name),
    ),
    goals,
    plots: [plotOf(runs)],
    details: {
      settings: [settingsOf(1), settingsOf(0)],
      load,
      ratioMax: RATIO_MAX,
      isMet,
      runs,
    },
  };
}

function linesOf(plan: Plan, runs: readonly Run[]): string[] {
  const line = columns(30, 26);
  const each = (name: string, cell: (run: Run) => string) => line(name, ...runs.map(cell));
  return [
    `load: one talker, ${LISTENERS} listeners, ${DELIVERIES_PER_SECOND} deliveries a second; REST on and off in phases of ${plan.phaseMs / 1000} s`,
    `held constant: ${runs[0]?.perSecond} requests a second (four of five read, one stores a position), ${CONNECTIONS} kept connections`,
    each('', ({ name }) => name),
    each('audio p99 without', (run) => ms(run.without.p99Ms)),
    each('audio p99 with', (run) => ms(run.with.p99Ms)),
    each('longest without', (run) => ms(run.without.maxMs)),
    each('longest with', (run) => ms(run.with.maxMs)),
    each('deliveries lost', ({ delivered }) => `${delivered.lost}`),
    each('REST p50', ({ rest }) => ms(rest.p50Ms)),
    each('REST p99', ({ rest }) => ms(rest.p99Ms)),
    each('REST requests, failed', ({ requests, failures }) => `${requests}, ${failures}`),
    '',
    ...runs.flatMap(({ name, surroundings }) => [
      name,
      ...linesOfSurroundings(surroundings, 'frames and requests').map((one) => `  ${one}`),
    ]),
  ];
}

function goalsOf(own: Run, shared: Run | null, isMet: boolean | null): Goal[] {
  return [
    { ...watchedMedian('audio p99, with REST / without', own.ratio, ''), atMost: RATIO_MAX, isMet },
    ...(shared === null
      ? []
      : [watchedMedian('audio p99, with REST / without, on one thread', shared.ratio, '')]),
    watched('audio p99 with REST', own.with.p99Ms, 'ms'),
    watched('audio p99 without REST', own.without.p99Ms, 'ms'),
    watched('requests per second beside the audio', own.perSecond, '/s'),
    watched('REST p99 beside the audio', own.rest.p99Ms, 'ms'),
  ];
}

const plotOf = (runs: readonly Run[]): Plot =>
  percentilesOf(
    'Audio with and without REST beside it',
    'The closer the two lines of a server, the less its listeners notice of REST.',
    runs.flatMap((run) => [
      [`${run.name}, without`, run.without] as const,
      [`${run.name}, with`, run.with] as const,
    ]),
  );
