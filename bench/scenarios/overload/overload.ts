// More speech than one core can write one frame at a time: at which load does speech break, and how late is it before that?
import { setTimeout } from 'node:timers/promises';
import { ascend, ascendInTurns, type Climber, type Speech } from '../../experiments/ascent.js';
import { forthAndBack } from '../../experiments/contest.js';
import { highestOf, type Rung } from '../../experiments/ladder.js';
import { BARE, cast, type Lineup, type Running, windowed, withLineup } from '../../experiments/lineup.js';
import type { Step, StepPiece, StepsSetup } from '../../generator/loads/steps.js';
import { withPlayerTogether } from '../../generator/player.js';
import type { Contender } from '../../generator/stage.js';
import type { Bench, Report } from '../../scenario.js';
import { readMetrics } from '../../servers/metrics.js';
import {
  costOf,
  type Plan,
  type Played,
  promptestOf,
  type Round,
  reportOf,
  type Search,
  type Told,
} from './report.js';
import { playSurges, SURGES, SURGES_QUICK } from './surges.js';
import { reportOfSurges } from './surges-report.js';

/** One probe for each talkgroup: a probe reads ten times as often as a sink, and the generator has one core. */
const AUDIENCE = { probeEvery: 50, framesPerSecond: 50, payloadBytes: 60 };
const PLAN: Plan = {
  talkgroups: 200,
  members: 50,
  audience: AUDIENCE,
  // Within the lead the relay finds out that it is under load, and what that second left behind is written.
  piece: { leadFrames: 50, frames: 100, isBurst: true },
  windowsMs: [0, 40, 60, 100],
  talkersFirst: 8,
  coarse: 1.5,
  fine: 1.05,
  multiples: [0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75, 2, 2.25, 2.5, 2.75, 3, 3.5, 4],
  calmShare: 0.5,
  calmRounds: 4,
};
const QUICK: Plan = {
  ...PLAN,
  talkgroups: 120,
  piece: { leadFrames: 30, frames: 25, isBurst: true },
  windowsMs: [0, 60],
  talkersFirst: 30,
  fine: 1,
  multiples: [0.5, 1, 2],
  calmRounds: 1,
};

/** Half of the 300 ms from mouth to ear of mission critical push-to-talk (3GPP TS 22.179), as in `make load`. */
const P99_MS_MAX = 150;
/** Every so many-th probe goes through the jitter buffer of the client. */
const EAR_EVERY = 2;
/** A frame that comes later than this (ms) is lost. */
const ARRIVAL_MS_MAX = 2_000;

export async function overload(bench: Bench): Promise<Report> {
  const plan = bench.isQuick ? QUICK : PLAN;
  const told = await climbAll(bench, plan);
  const ladder = reportOf(told);
  const prompt = Math.round(promptestOf(told) / told.speech.perTalker);
  const surgesPlan = bench.isQuick ? SURGES_QUICK : SURGES;
  const surges = reportOfSurges(
    await playSurges(bench, plan, surgesPlan, prompt === 0 ? plan.talkersFirst : prompt),
  );
  return {
    ...ladder,
    lines: [...ladder.lines, '', ...surges.lines],
    noise: [...(ladder.noise ?? []), ...(surges.noise ?? [])],
    goals: [...ladder.goals, ...surges.goals],
    details: { ...ladder.details, ...surges.details },
  };
}

function climbAll(bench: Bench, plan: Plan): Promise<Told> {
  const names = [BARE, ...plan.windowsMs.map(windowed)];
  const speech = { perTalker: (plan.members - 1) * plan.audience.framesPerSecond, p99MsMax: P99_MS_MAX };
  return withLineup(bench, names, async (lineup) => {
    bench.progress('radios of the bare engine connect');
    const contenders = await seat(lineup, plan);
    const [engine, ...relays] = lineup.map((running, i) => ({ running, contender: contenders[i] }));
    if (engine === undefined) throw new RangeError('the bare engine is always installed');
    return withClimbers(bench, plan, [engine], async ([bare]) => {
      if (bare === undefined) throw new RangeError('one takes part, so one plays');
      const search = await findLimit(bare, plan, speech);
      const { talkers } = search;
      bench.progress(`the bare engine carries ${talkers} talkgroups, radios of the relays connect`);
      const most = Math.min(plan.talkgroups, Math.ceil(talkers * Math.max(...plan.multiples)));
      return withClimbers(bench, { ...plan, talkgroups: most }, relays, async (climbers) => {
        const calm = await playCalm(bench, climbers, {
          plan,
          talkers: calmTalkers(search, plan, speech),
          lineup,
        });
        const steps = plan.multiples.map((multiple) => Math.max(1, Math.round(multiple * talkers)));
        const ascents = await ascendInTurns([bare, ...climbers], [...new Set(steps)], speech);
        return { plan, speech, lineup, search, calm, ascents };
      });
    });
  });
}

const seat = (lineup: Lineup, { talkgroups, members }: Plan) =>
  cast(lineup, {
    users: talkgroups * members,
    talkgroups: Array.from({ length: talkgroups }, () => 'open' as const),
    memberOf: (user) => [Math.floor(user / members)],
  });

interface Seat {
  readonly running: Running;
  readonly contender: Contender | undefined;
}

/** A generator for each of them, one within the other, so that whichever fails, all end. One process holds one server's radios. */
function withClimbers<T>(
  bench: Bench,
  plan: Plan,
  [seat, ...others]: readonly Seat[],
  use: (climbers: readonly Climber<Played>[]) => Promise<T>,
): Promise<T> {
  if (seat?.contender === undefined) return use([]);
  const { running, contender } = seat;
  const { talkgroups, members, audience, piece } = plan;
  const users = contender.users.slice(0, talkgroups * members);
  return withPlayerTogether<StepsSetup, StepPiece, Step, null, T>(
    new URL('../../generator/loads/steps.js', import.meta.url),
    {
      servers: [{ ...contender, users }],
      audience,
      piece,
      earEvery: EAR_EVERY,
      arrivalMsMax: ARRIVAL_MS_MAX,
    },
    bench,
    ({ play }) => {
      const climber = {
        name: running.name,
        talkersMax: talkgroups,
        async play(talkers: number): Promise<Played> {
          const before = await figuresOf(running);
          const step = await play({ talkers });
          const { lagged, windowMs } = await figuresOf(running);
          bench.progress(
            `${running.name}, ${talkers} talkgroups: p99 ${step.latency.p99Ms} ms, ${step.lost} lost`,
          );
          return { ...step, windowMs, lagged: lagged === null ? null : lagged - (before.lagged ?? 0) };
        },
      };
      return withClimbers(bench, plan, others, (climbers) => use([climber, ...climbers]));
    },
  );
}

const LAGGED = 'talkgroup_relay_receivers_lagged_total';
const WINDOW = 'talkgroup_relay_load_window_seconds';

/** The relay's own: how often it has paused the audio of a receiver, and the window at this moment. null: it is no relay. */
async function figuresOf({ relay }: Running) {
  if (relay === null) return { lagged: null, windowMs: null };
  const { [LAGGED]: lagged, [WINDOW]: windowS } = await readMetrics(relay.metricsUrl, [LAGGED, WINDOW]);
  return { lagged, windowMs: Math.round(1000 * windowS) };
}

/** The most talkgroups that are heard in time: in large steps until speech breaks, then in small ones from the last. */
async function findLimit(climber: Climber<Played>, plan: Plan, speech: Speech): Promise<Search> {
  const { talkersFirst, talkgroups, coarse, fine } = plan;
  const talkersOf = (rungs: readonly Rung<Played>[]) => Math.round(highestOf(rungs) / speech.perTalker);
  const large = await ascend(climber, growing(talkersFirst, talkgroups + 1, coarse), speech);
  const most = talkersOf(large);
  if (most === 0) throw new Error(`${climber.name}: not even ${talkersFirst} talkgroups were heard in time`);
  const small = fine === 1 ? [] : growing(Math.round(most * fine), most * coarse, fine);
  const rungs = [...large, ...(await ascend(climber, small, speech))];
  return { talkers: talkersOf(rungs), rungs };
}

/** Whole numbers from the first one on, below `end`. */
function growing(first: number, end: number, factor: number): readonly number[] {
  const numbers: number[] = [];
  for (let number = first; number < end; number = Math.max(number + 1, Math.round(number * factor)))
    numbers.push(number);
  return numbers;
}

/** So many talkgroups take that share of a core, when a delivery costs what it does at the least load. */
function calmTalkers({ rungs: [least] }: Search, { calmShare }: Plan, { perTalker }: Speech): number {
  if (least === undefined) throw new RangeError('a search has a first step');
  return Math.max(1, Math.floor((calmShare * 1e6) / costOf(least.played) / perTalker));
}

/** Below the load at which a relay holds audio, the one that never does and the one with the default window, in turns. */
async function playCalm(
  bench: Bench,
  climbers: readonly Climber<Played>[],
  { plan, talkers, lineup }: { readonly plan: Plan; readonly talkers: number; readonly lineup: Lineup },
): Promise<readonly Round[]> {
  const pair = climbers.filter(({ name }) => [windowed(0), windowed(60)].includes(name));
  const played: Round[] = [];
  await relaxed(lineup, bench);
  // The first round warms up.
  for (const [round, order] of forthAndBack(pair.length, plan.calmRounds + 1).entries()) {
    for (const at of order) {
      const climber = pair[at];
      if (climber === undefined) continue;
      const step = await climber.play(talkers);
      if (round > 0) played.push({ round, name: climber.name, step });
    }
  }
  return played;
}

/** Thousands of handshakes are a load. The relay goes back by a step in 5 s. */
const RELAXED_MS_MAX = 20_000;
const LOOK_MS = 500;

async function relaxed(lineup: Lineup, { signal }: Bench): Promise<void> {
  for (let ms = 0; ms < RELAXED_MS_MAX; ms += LOOK_MS) {
    const figures = await Promise.all(lineup.map(figuresOf));
    if (figures.every(({ windowMs }) => windowMs === null || windowMs === 0)) return;
    await setTimeout(LOOK_MS, undefined, { signal });
  }
}
