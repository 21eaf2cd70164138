// What does a database that falls silent do to the audio and to REST? The load: one talker, 200 listeners and 50 requests a
// second. In every second phase all processes of the service's PostgreSQL are stopped (SIGSTOP), so that its connections stay
// open and nothing answers, as behind a link that is half open. Constant are talker, listeners, rate and mix of the requests,
// in the phases of both kinds. The numbers are p99 of the audio in a phase with a silent database over that in its neighbour
// with an answering one, and how long requests waited for their answer while the database was silent, from when the request was
// due. Nothing is measured between the end of a silence and the first request that is answered with 200.
import { setTimeout } from 'node:timers/promises';
import {
  AUDIENCE,
  type AudiencePlayer,
  inTurns,
  latenciesOf,
  type Phase,
  ratiosOf,
  watch,
  withAudience,
} from '../../experiments/beside.js';
import { enlistAskers, type RestPlayer, withRest } from '../../experiments/throughput.js';
import { noiseOf } from '../../figures/doubts.js';
import { columns, ms, percent, type Quartiles, quartiles, ratio } from '../../figures/figures.js';
import { atMost, watched, watchedMedian } from '../../figures/goals.js';
import { type Latency, mergeLatencies } from '../../figures/histogram.js';
import { faultsOfDelivery, faultsOfGenerator } from '../../figures/judge.js';
import { percentilesOf } from '../../figures/plots.js';
import type { Goal, Plot } from '../../figures/result.js';
import type { RestPlayed } from '../../generator/loads/rest.js';
import { soon } from '../../generator/player.js';
import { around, nowMs } from '../../machine/clock.js';
import { type Conditions, linesOfConditions } from '../../machine/conditions.js';
import type { Delivered } from '../../radios/channel.js';
import type { Bench, Report } from '../../scenario.js';
import { whileSilent } from '../../servers/database.js';
import type { Relay } from '../../servers/relay.js';

const LISTENERS = 200;
const DELIVERIES_PER_SECOND = LISTENERS * AUDIENCE.framesPerSecond;
const USERS = 200;
/** A tenth of what the REST API serves: only the silent database makes answers late. */
const PER_SECOND = 50;
/** Promised. The service gives itself 2.5 s for a request. */
const ANSWER_MS_MAX = 3_000;
/** While the promise is kept, no request waits for a connection. */
const CONNECTIONS = (PER_SECOND * ANSWER_MS_MAX) / 1000;
const RATIO_MAX = 1.2;
/** With more refusals than this share while the database answers, the load was not what it says. */
const REFUSED_SHARE_MAX = 0.01;
/** Within 1.5 s a read has failed, within another second the probe that tells the service. Then it refuses at once. */
const FULL = { pairs: 12, phaseMs: 5_000 };
const QUICK = { pairs: 1, phaseMs: 3_000 };
const WARM_UP = { ms: 700, perSecond: 200 };
/** Behind a silence, until a request is answered with 200. */
const RECOVERY_MS_MAX = 10_000;
const ASK_EVERY_MS = 20;
const SETTINGS = { LOG_LEVEL: 'warn' };

type Plan = typeof FULL;

interface Silence {
  /** From when PostgreSQL ran again to the first 200. */
  readonly recoveryMs: number;
}

interface PhaseWithRest extends Phase<Silence> {
  readonly rest: RestPlayed;
}

interface Measured {
  readonly plan: Plan;
  readonly phases: readonly PhaseWithRest[];
  readonly conditions: Conditions;
  readonly delivered: Delivered;
}

export function silentDatabase(bench: Bench): Promise<Report> {
  const { signal, isQuick } = bench;
  const plan = isQuick ? QUICK : FULL;
  return bench.withRelay(SETTINGS, async (relay) => {
    const users = await enlistAskers(relay, USERS);
    const measured = await withAudience(bench, { relay, listeners: LISTENERS }, (audience) =>
      withRest(bench, { relay, users, mix: 'mixed', connectionsMax: CONNECTIONS }, async (rest) => {
        await rest.play({ fromMs: soon(), ...WARM_UP });
        const watched = watch(relay);
        const scene = { relay, audience, rest, askerToken: users[0]?.token ?? '', plan, signal };
        const phases = await inTurns(plan.pairs, (isSilent) => playPhase(scene, isSilent));
        // Not PostgreSQL's share: connections are replaced, and a process that ended has no account any more.
        const { databaseShare: _, ...conditions } = watched(generatorsOf(phases));
        return { plan, phases, conditions, delivered: await audience.end() };
      }),
    );
    return reportOf(measured);
  });
}

interface Scene {
  readonly relay: Relay;
  readonly audience: AudiencePlayer;
  readonly rest: RestPlayer;
  /** Asks whether the service is back. */
  readonly askerToken: string;
  readonly plan: Plan;
  readonly signal: AbortSignal;
}

async function playPhase(scene: Scene, isSilent: boolean): Promise<PhaseWithRest> {
  const { audience, rest, plan } = scene;
  const fromMs = soon();
  const played = Promise.all([
    audience.play({ fromMs, ms: plan.phaseMs }),
    rest.play({ fromMs, ms: plan.phaseMs, perSecond: PER_SECOND }),
  ]);
  played.catch(() => {}); // heard of below: whatever fails, first the silence ends
  const load = isSilent ? await playSilence(scene, fromMs) : null;
  const [heard, answered] = await played;
  return { heard, rest: answered, load };
}

async function playSilence({ relay, askerToken, plan, signal }: Scene, fromMs: number): Promise<Silence> {
  await around(fromMs);
  const leftMs = () => Math.max(0, fromMs + plan.phaseMs - nowMs());
  await whileSilent(relay, () => setTimeout(leftMs(), undefined, { signal }));
  const wokenMs = nowMs();
  while (nowMs() < wokenMs + RECOVERY_MS_MAX) {
    const answer = await fetch(`${relay.restUrl}/talkgroups`, {
      headers: { authorization: `Bearer ${askerToken}` },
      signal,
    });
    await answer.arrayBuffer();
    if (answer.status === 200) return { recoveryMs: nowMs() - wokenMs };
    await setTimeout(ASK_EVERY_MS, undefined, { signal });
  }
  throw new Error(`the database answers, and REST did not within ${RECOVERY_MS_MAX / 1000} s`);
}

const generatorsOf = (phases: readonly PhaseWithRest[]) =>
  phases.flatMap(({ heard, rest: { generatorShare, sent } }) => [heard, { generatorShare, late: sent.late }]);

/** Over all phases of a side. */
interface Answers {
  readonly requests: number;
  /** Of all, however they ended. */
  readonly latency: Latency;
  readonly refused: Latency;
  /** How many ended neither with 200 nor with 503, by what they ended with. */
  readonly others: Readonly<Record<string, number>>;
}

function answersOf(phases: readonly PhaseWithRest[], isSilent: boolean): Answers {
  const rounds = phases.filter(({ load }) => (load !== null) === isSilent).map(({ rest }) => rest.sent);
  const latency = mergeLatencies(rounds.map((round) => round.latency));
  const others: Record<string, number> = {};
  for (const [outcome, { count }] of rounds.flatMap(({ outcomes }) => Object.entries(outcomes))) {
    if (outcome !== '200' && outcome !== '503') others[outcome] = (others[outcome] ?? 0) + count;
  }
  const refused = mergeLatencies(rounds.flatMap(({ outcomes }) => outcomes['503'] ?? []));
  return { requests: latency.count, latency, refused, others };
}

const refusedShareOf = ({ requests, refused }: Answers) => refused.count / requests;

interface Summary {
  readonly ratio: Quartiles;
  readonly audio: { readonly answering: Latency; readonly silent: Latency };
  readonly rest: { readonly answering: Answers; readonly silent: Answers };
  readonly recoveryMs: Quartiles;
}

function summaryOf(phases: readonly PhaseWithRest[]): Summary {
  const audio = latenciesOf(phases);
  return {
    ratio: ratiosOf(phases),
    audio: { answering: audio.without, silent: audio.with },
    rest: { answering: answersOf(phases, false), silent: answersOf(phases, true) },
    recoveryMs: quartiles(phases.flatMap(({ load }) => (load === null ? [] : [load.recoveryMs]))),
  };
}

function faultsOf({ rest: { answering, silent } }: Summary): string[] {
  const sides = Object.entries({ answering, silent });
  return [
    ...sides.flatMap(([side, { others }]) =>
      Object.entries(others).map(([end, count]) => `${side} database: ${count} requests ended with ${end}`),
    ),
    ...(refusedShareOf(answering) > REFUSED_SHARE_MAX
      ? [`${answering.refused.count} of ${answering.requests} requests refused while the database answered`]
      : []),
    ...(silent.refused.count === 0 ? ['no request was refused: the database was not silent'] : []),
  ];
}

function reportOf({ plan, phases, conditions, delivered }: Measured): Report {
  const summary = summaryOf(phases);
  const faults = [
    ...faultsOfDelivery(delivered, 'audio'),
    ...faultsOfGenerator(conditions),
    ...faultsOf(summary),
  ];
  const goals = goalsOf(plan, summary, faults);
  return {
    lines: [
      `load: one talker, ${LISTENERS} listeners, ${DELIVERIES_PER_SECOND} deliveries a second; PostgreSQL silent in every second phase of ${plan.phaseMs / 1000} s`,
      `held constant: the audio, ${PER_SECOND} requests a second (four of five read, one stores a position), ${CONNECTIONS} kept connections`,
      ...linesOf(summary),
      `server: ${percent(conditions.serverShare)} of a core`,
      ...linesOfConditions(conditions, 'frames and requests'),
    ],
    faults,
    noise: [noiseOf(conditions, 'frames and requests', summary.audio.answering.p99Ms)],
    goals,
    plots: [plotOfAudio(summary), plotOfAnswers(summary)],
    details: {
      settings: SETTINGS,
      load: {
        listeners: LISTENERS,
        audience: AUDIENCE,
        users: USERS,
        perSecond: PER_SECOND,
        connections: CONNECTIONS,
        ...plan,
      },
      summary,
      delivered,
      ...conditions,
      phases,
    },
  };
}

function linesOf({ audio, rest, ratio: ofPairs }: Summary): string[] {
  const line = columns(34, 14);
  const bothOf = (name: string, cell: (side: 'answering' | 'silent') => string) =>
    line(name, cell('answering'), cell('silent'));
  return [
    line('', 'answering', 'silent'),
    bothOf('audio p50', (side) => ms(audio[side].p50Ms)),
    bothOf('audio p99', (side) => ms(audio[side].p99Ms)),
    bothOf('audio, longest', (side) => ms(audio[side].maxMs)),
    bothOf('requests', (side) => `${rest[side].requests}`),
    bothOf('  refused (503)', (side) => `${rest[side].refused.count}`),
    bothOf('answered (200, 503) p50', (side) => ms(rest[side].latency.p50Ms)),
    bothOf('  p99', (side) => ms(rest[side].latency.p99Ms)),
    bothOf('  longest', (side) => ms(rest[side].latency.maxMs)),
    `audio p99 silent / answering, ratio of pairs: ${ratio(ofPairs)}`,
  ];
}

function goalsOf(plan: Plan, summary: Summary, faults: readonly string[]): Goal[] {
  const { ratio: ofPairs, audio, rest, recoveryMs } = summary;
  const longestMs = rest.silent.latency.maxMs;
  return [
    // A single pair is decided by a frame or two.
    atMost(
      watchedMedian('audio p99, silent / answering database', ofPairs, ''),
      RATIO_MAX,
      plan === QUICK ? null : faults,
    ),
    atMost(watched('longest answer while the database is silent', longestMs, 'ms'), ANSWER_MS_MAX, faults),
    watched('share of requests refused while the database is silent', refusedShareOf(rest.silent), ''),
    watchedMedian('first 200 after the database answers again', recoveryMs, 'ms'),
    watched('audio p99 with a silent database', audio.silent.p99Ms, 'ms'),
    watched('audio p99 with an answering database', audio.answering.p99Ms, 'ms'),
  ];
}

const plotOfAudio = ({ audio }: Summary): Plot =>
  percentilesOf(
    'Audio beside a silent database',
    'Phases of both kinds have the same requests beside them; the closer the lines, the better.',
    [
      ['answering', audio.answering],
      ['silent', audio.silent],
    ],
  );

const plotOfAnswers = ({ rest }: Summary): Plot =>
  percentilesOf(
    'Answers to requests beside a silent database',
    'Refusals count like any answer. The step is where the service knows that its database is away, and refuses at once; the end is the longest that anybody waited.',
    [
      ['answering', rest.answering.latency],
      ['silent', rest.silent.latency],
    ],
  );
