// One radio talks and very many listen: our relay beside the bare engine and, with 1,000, beside all else that fans out.

import { type Claim, type Comparison, compare, linesOfSides, plotsOf } from '../experiments/comparison.js';
import { forthAndBack, playContest } from '../experiments/contest.js';
import {
  BARE,
  cast,
  type Lineup,
  QUIET_RELAY,
  RELAY,
  settingsOf,
  withLineup,
} from '../experiments/lineup.js';
import { noiseOf } from '../figures/doubts.js';
import { watched, watchedMedian } from '../figures/goals.js';
import type { Contest, ContestTask } from '../generator/loads/contest.js';
import type { Contender, Piece } from '../generator/stage.js';
import { linesOfConditions } from '../machine/conditions.js';
import type { Bench, Report } from '../scenario.js';

interface Plan {
  /** Ours first. */
  readonly names: readonly string[];
  readonly claims: readonly Claim[];
  readonly listeners: number;
  readonly audience: ContestTask['audience'];
  readonly piece: Piece;
  /** Rounds of all, and behind each of them so many of those whose ratios are close to 1. */
  readonly rounds: number;
  readonly closeRounds: number;
  readonly warmUpRounds: number;
}

/** Their ratios are held to a few hundredths. */
const CLOSE = [RELAY, QUIET_RELAY, BARE];
const PEERS = ['ws', '@fastify/websocket', 'mosquitto', 'nats-server', 'socket.io'];
const EMPTY_HANDLER = 'empty handler of the bare engine';

const CLAIMS: readonly Claim[] = [
  { of: QUIET_RELAY, to: BARE, atMost: 1.05 },
  { of: RELAY, to: BARE, atMost: 1.1 },
  // A ratio to another server moves with the kernel. What the engine itself has against it moves alike.
  ...PEERS.flatMap((to) => [
    { of: RELAY, to },
    { of: RELAY, to, over: BARE, atMost: 1.1 },
  ]),
];
/** Of five times the listeners nothing was promised. */
const WATCHED: readonly Claim[] = [QUIET_RELAY, RELAY].map((of) => ({ of, to: BARE }));
const INBOUND_CLAIMS: readonly Claim[] = [{ of: RELAY, to: EMPTY_HANDLER, atMost: 1.15 }];

/** 76 bytes a frame: 16 of header, and what Opus makes of 20 ms at 24 kbit/s. */
const AUDIENCE = { probeEvery: 20, framesPerSecond: 50, payloadBytes: 60 };
/** 200 ms, in which each sink reads once, and 400 ms that count. */
const PIECE: Piece = { talkers: 1, leadFrames: 10, frames: 20, isBurst: true };

/** Rounds in which code is compiled and heaps grow. */
const WARM_UP = 2;

const PLAN_1000: Plan = {
  names: [...CLOSE, ...PEERS],
  claims: CLAIMS,
  listeners: 1_000,
  audience: AUDIENCE,
  piece: PIECE,
  rounds: 10,
  closeRounds: 3,
  warmUpRounds: WARM_UP,
};
/** 50 frames/s to 5,000 are more than one core of any server here carries: ten are. */
const PLAN_5000: Plan = {
  names: CLOSE,
  claims: WATCHED,
  listeners: 5_000,
  audience: { ...AUDIENCE, framesPerSecond: 10 },
  piece: { talkers: 1, leadFrames: 5, frames: 10, isBurst: true },
  rounds: 15,
  closeRounds: 0,
  warmUpRounds: WARM_UP,
};
const quick = (plan: Plan): Plan => ({
  ...plan,
  names: plan.names.filter((name) => name !== QUIET_RELAY), // it takes seconds to start
  listeners: plan.listeners / 2,
  piece: { ...plan.piece, leadFrames: 5, frames: 5 },
  rounds: 3,
  closeRounds: 0,
  warmUpRounds: 1,
});

/**
 * Many talkers that no listener hears: 20,000 frames/s. At a quarter of it a tenth of what the relay does is what it does
 * every second for any talker, and not for a frame.
 */
const INBOUND = {
  talkers: 400,
  piece: { talkers: 400, leadFrames: 10, frames: 25, isBurst: true },
  rounds: 12,
};

export function oneTalker1000(bench: Bench): Promise<Report> {
  const plan = bench.isQuick ? quick(PLAN_1000) : PLAN_1000;
  return withLineup(bench, plan.names, async (lineup) => {
    // First: the relay keeps the sessions of a thousand listeners who left for a minute, and that is no frame's.
    bench.progress(`${INBOUND.talkers} talkers, no listeners`);
    const inbound = await contendInbound(bench, lineup);
    bench.progress(`${titleOf(plan)}: ${lineup.map(({ name }) => name).join(', ')}`);
    const outcome = await contend(bench, lineup, plan);
    return reportOf(plan, lineup, [outcome, inbound]);
  });
}

export function oneTalker5000(bench: Bench): Promise<Report> {
  const plan = bench.isQuick ? quick(PLAN_5000) : PLAN_5000;
  return withLineup(bench, plan.names, async (lineup) => {
    bench.progress(`${titleOf(plan)}: ${lineup.map(({ name }) => name).join(', ')}`);
    return reportOf(plan, lineup, [await contend(bench, lineup, plan)]);
  });
}

const titleOf = ({ listeners }: Plan) => `1 talker, ${listeners.toLocaleString('en')} listeners`;

interface Outcome extends Comparison {
  readonly per: 'delivery' | 'inbound frame';
  readonly contest: Contest;
}

async function contend(bench: Bench, lineup: Lineup, plan: Plan): Promise<Outcome> {
  const names = lineup.map(({ name }) => name);
  const servers = await cast(lineup, { users: plan.listeners + 1 });
  const { claims, audience, piece, warmUpRounds } = plan;
  const contest = await playContest(bench, {
    servers,
    audience,
    piece,
    rounds: roundsOf(names, plan),
    warmUpRounds,
  });
  const per = 'delivery';
  return { per, contest, ...compare(contest, { names, claims, per, ...audience }) };
}

/** Forth and back: whatever drifts, drifts over all alike. */
function roundsOf(names: readonly string[], { rounds, closeRounds, warmUpRounds }: Plan): number[][] {
  const all = [...names.keys()];
  const close = all.filter((server) => CLOSE.includes(names[server] ?? ''));
  const turned = (order: number[], round: number) => (round % 2 === 0 ? order : order.toReversed());
  return [
    ...Array.from({ length: warmUpRounds }, () => all),
    ...Array.from({ length: rounds }, (_, round) => [
      turned(all, round),
      ...Array.from({ length: closeRounds }, (_, i) => turned(close, round * closeRounds + i)),
    ]).flat(),
  ];
}

/** What the engine alone spends on an unwanted message, against our checks, stamp and publish without receivers. */
async function contendInbound(bench: Bench, lineup: Lineup): Promise<Outcome> {
  const playing = lineup.filter(({ name }) => name === RELAY || name === BARE);
  const servers = await cast(playing, {
    users: INBOUND.talkers,
    talkgroups: Array.from({ length: INBOUND.talkers }, () => 'open' as const),
    memberOf: (user) => [user],
  });
  const rounds = bench.isQuick ? 3 : INBOUND.rounds;
  const contest = await playContest(bench, {
    servers: servers.map((server, i) => (playing[i]?.name === BARE ? deaf(server) : server)),
    audience: AUDIENCE,
    piece: INBOUND.piece,
    rounds: forthAndBack(2, rounds + WARM_UP),
    warmUpRounds: WARM_UP,
  });
  const per = 'inbound frame';
  const names = [RELAY, EMPTY_HANDLER];
  return { per, contest, ...compare(contest, { names, claims: INBOUND_CLAIMS, per, ...AUDIENCE }) };
}

const deaf = ({ target, ...server }: Contender): Contender => ({
  ...server,
  target: { ...target, url: target.url.replace(/ws$/, 'deaf') },
});

function reportOf(plan: Plan, lineup: Lineup, outcomes: readonly [Outcome, ...Outcome[]]): Report {
  const [outcome] = outcomes;
  const [ours] = outcome.sides;
  if (ours === undefined) throw new RangeError('ours is the first');
  const own = [
    watched('p99 relay latency', ours.latency.p99Ms, 'ms'),
    watchedMedian('CPU per delivery', ours.cpuUs, 'µs'),
  ];
  const promised = outcomes.flatMap(({ goals }) => goals);
  const faults = outcomes.flatMap((one) => one.faults);
  return {
    lines: [
      ...outcomes.flatMap((one) => [...linesOfSides(one, one.per), '']),
      ...outcome.sides.slice(1).flatMap((side) => side.faults),
      ...linesOfConditions(outcome.contest, 'frames'),
    ],
    faults,
    noise: [noiseOf(outcome.contest, 'frames', ours.latency.p99Ms)],
    goals: [...own, ...promised],
    plots: plotsOf(outcome, titleOf(plan)),
    details: {
      load: plan,
      settings: settingsOf(lineup),
      contests: outcomes.map(({ per, contest: { heard: _, ...contest }, sides }) => ({
        per,
        sides,
        ...contest,
      })),
    },
  };
}
