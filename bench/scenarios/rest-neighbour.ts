// Does one user's REST traffic keep others waiting? The load: one user lists a talkgroup of 10,000 members on 40
// connections, each asking again when it is answered. Constant are list and connections. The numbers are how long another
// user waits for GET /talkgroups meanwhile, and any client for /healthz, each asked ten times a second.
import { linesOfSurroundings, type Surroundings, watch } from '../experiments/beside.js';
import { type RestPlayer, withRest } from '../experiments/throughput.js';
import { noiseOf } from '../figures/doubts.js';
import { columns, ms } from '../figures/figures.js';
import { atMost, watched } from '../figures/goals.js';
import { faultsOfGenerator } from '../figures/judge.js';
import { percentilesOf } from '../figures/plots.js';
import type { Mix, RestPlayed } from '../generator/loads/rest.js';
import { soon } from '../generator/player.js';
import { failuresOf } from '../generator/requests.js';
import type { Member } from '../radios/member.js';
import type { Bench, Report } from '../scenario.js';
import { enlist } from '../servers/users.js';

const MEMBERS = 10_000;
const CONNECTIONS = 40;
const PER_SECOND = 10;
const MEDIAN_MS_MAX = 100;
const HEALTH_P99_MS_MAX = 100;
const SETTINGS = { LOG_LEVEL: 'warn' };

interface Plan {
  readonly warmUpMs: number;
  readonly aloneMs: number;
  readonly besideMs: number;
}

const FULL: Plan = { warmUpMs: 2_000, aloneMs: 10_000, besideMs: 30_000 };
const QUICK: Plan = { warmUpMs: 500, aloneMs: 1_000, besideMs: 3_000 };

interface Players {
  readonly lists: RestPlayer;
  readonly other: RestPlayer;
  readonly health: RestPlayer;
}

/** What the two who wait saw, alone and beside the lists. */
interface Heard {
  readonly other: RestPlayed;
  readonly health: RestPlayed;
}

interface Told {
  readonly plan: Plan;
  readonly alone: Heard;
  readonly beside: Heard;
  readonly lists: RestPlayed;
  readonly surroundings: Surroundings;
}

export function restNeighbour(bench: Bench): Promise<Report> {
  const plan = bench.isQuick ? QUICK : FULL;
  return bench.withRelay(SETTINGS, async (relay) => {
    const users = await enlist(relay, { users: MEMBERS });
    const [neighbour, someone] = users.map((user) => [user] as const);
    if (neighbour === undefined || someone === undefined)
      throw new RangeError('there are two users at least');
    const withAsker = <T>(
      asker: { readonly users: readonly Member[]; readonly mix: Mix; readonly connectionsMax: number },
      use: (rest: RestPlayer) => Promise<T>,
    ) => withRest(bench, { relay, ...asker }, use);

    return withAsker({ users: neighbour, mix: 'members', connectionsMax: CONNECTIONS }, (lists) =>
      withAsker({ users: someone, mix: 'talkgroups', connectionsMax: 8 }, (other) =>
        withAsker({ users: someone, mix: 'health', connectionsMax: 8 }, async (health) => {
          const players = { lists, other, health };
          bench.progress('without the lists');
          await wait(players, plan.warmUpMs);
          const alone = await wait(players, plan.aloneMs);
          bench.progress(`beside ${CONNECTIONS} connections that list ${MEMBERS} members`);
          const watched = watch(relay);
          const [listed, beside] = await Promise.all([
            lists.play({ fromMs: soon(), ms: plan.besideMs, perSecond: null }),
            wait(players, plan.besideMs),
          ]);
          const surroundings = watched(
            [listed, beside.other, beside.health].map(({ sent, ...busy }) => ({ ...busy, late: sent.late })),
          );
          return reportOf({ plan, alone, beside, lists: listed, surroundings });
        }),
      ),
    );
  });
}

async function wait({ other, health }: Players, ms: number): Promise<Heard> {
  const piece = { fromMs: soon(), ms, perSecond: PER_SECOND };
  const [ofOther, ofHealth] = await Promise.all([other.play(piece), health.play(piece)]);
  return { other: ofOther, health: ofHealth };
}

function reportOf({ plan, alone, beside, lists, surroundings }: Told): Report {
  const waited = { 'GET /talkgroups': beside.other, '/healthz': beside.health };
  // A list that comes too late is refused: that is how the others are protected.
  const answered = lists.sent.requests - failuresOf(lists.sent);
  const faults = [
    ...faultsOfGenerator(surroundings),
    ...Object.entries(waited)
      .filter(([, { sent }]) => failuresOf(sent) > 0)
      .map(([name, { sent }]) => `${name}: ${failuresOf(sent)} of ${sent.requests} requests failed`),
    ...(answered < CONNECTIONS ? [`only ${answered} lists were answered: little was beside the others`] : []),
  ];
  const goals = [
    atMost(
      watched('median of GET /talkgroups by another user', beside.other.sent.latency.p50Ms, 'ms'),
      MEDIAN_MS_MAX,
      faults,
    ),
    atMost(watched('p99 of /healthz', beside.health.sent.latency.p99Ms, 'ms'), HEALTH_P99_MS_MAX, faults),
  ];
  const line = columns(38, 13);
  const row = (name: string, { sent: { latency, requests } }: RestPlayed) =>
    line(name, ...[latency.p50Ms, latency.p99Ms, latency.maxMs].map(ms), `${requests}`);
  return {
    lines: [
      `load: one user lists ${MEMBERS} members on ${CONNECTIONS} connections, in closed loop, for ${plan.besideMs / 1000} s`,
      `held constant: another user asks ${PER_SECOND} times a second for its talkgroups, and so does a health check`,
      '',
      line('', 'p50', 'p99', 'longest', 'requests'),
      row('GET /talkgroups, alone', alone.other),
      row('GET /talkgroups, beside the lists', beside.other),
      row('/healthz, alone', alone.health),
      row('/healthz, beside the lists', beside.health),
      row(`the lists, ${failuresOf(lists.sent)} of them refused`, lists),
      '',
      ...linesOfSurroundings(surroundings, 'requests'),
    ],
    faults,
    noise: [noiseOf(surroundings, 'requests', beside.other.sent.latency.p99Ms)],
    goals,
    plots: [
      percentilesOf(
        'Others beside one user that lists 10,000 members',
        'Latency counts from when a request was due.',
        [
          ['GET /talkgroups, alone', alone.other.sent.latency],
          ['GET /talkgroups, beside', beside.other.sent.latency],
          ['/healthz, beside', beside.health.sent.latency],
        ],
      ),
    ],
    details: {
      settings: SETTINGS,
      load: { members: MEMBERS, connections: CONNECTIONS, perSecond: PER_SECOND, ...plan },
      alone,
      beside,
      lists,
      surroundings,
    },
  };
}
