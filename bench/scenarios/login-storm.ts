// What do the logins of all users at once do to the audio? The load: one talker, 200 listeners, and in every second phase
// 1,000 logins within a second, each from a connection of its own, with bcrypt as shipped. Constant are talker, listeners and
// storm. The numbers are p99 of the audio in phases with a storm, and how soon the service rejects logins that it cannot serve.
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
import { PASSWORD_COST, withLogins } from '../experiments/logins.js';
import { noiseOf } from '../figures/doubts.js';
import { columns, ms, ratio } from '../figures/figures.js';
import { atMost, watched } from '../figures/goals.js';
import { type Latency, mergeLatencies } from '../figures/histogram.js';
import { faultsOfDelivery, faultsOfGenerator } from '../figures/judge.js';
import { percentilesOf } from '../figures/plots.js';
import type { Goal, Plot } from '../figures/result.js';
import type { LoginsPlayed } from '../generator/loads/logins.js';
import type { Delivered } from '../radios/channel.js';
import type { Bench, Report } from '../scenario.js';

const LISTENERS = 200;
const LOGINS = 1_000;
const STORM_MS = 1_000;
/** Longer than a login that is let in waits for its hash, 2.5 s. */
const PHASE_MS = 3_000;
const PAIRS = 4;
const PAIRS_QUICK = 1;
/** Of the audio: what no listener notices, or so many times what it is without a storm. */
const AUDIO_P99_MS_MAX = 30;
const AUDIO_P99_TIMES_MAX = 3;
const TURNED_AWAY_P99_MS_MAX = 100;
const SETTINGS = { LOG_LEVEL: 'warn' };

interface Measured {
  readonly phases: readonly Phase<LoginsPlayed>[];
  readonly surroundings: Surroundings;
  readonly delivered: Delivered;
}

export function loginStorm(bench: Bench): Promise<Report> {
  return bench.withRelay(SETTINGS, async (relay) => {
    const measured = await withAudience(bench, { relay, listeners: LISTENERS }, (audience) =>
      withLogins(bench, { relay, users: LOGINS }, async (logins) => {
        const watched = watch(relay);
        const phases = await alternate({
          audience,
          pairs: bench.isQuick ? PAIRS_QUICK : PAIRS,
          phaseMs: PHASE_MS,
          play: (fromMs) => logins.play({ fromMs, ms: STORM_MS, logins: LOGINS }),
        });
        return { phases, surroundings: watched(generatorsOf(phases)), delivered: await audience.end() };
      }),
    );
    return reportOf(measured);
  });
}

/** Over all storms. */
interface Summary {
  readonly storms: number;
  readonly loggedIn: Latency;
  readonly turnedAway: Latency;
  /** Logged in while another one was still waiting. */
  readonly perSecond: number;
  readonly wrong: number;
  /** Neither logged in nor told 503. */
  readonly lost: number;
  readonly refusals: Readonly<Record<string, number>>;
}

function summaryOf(phases: readonly Phase<LoginsPlayed>[]): Summary {
  const storms = phases.flatMap(({ load }) => (load === null ? [] : [load]));
  const sum = (of: (storm: LoginsPlayed) => number) => storms.reduce((total, storm) => total + of(storm), 0);
  const all = (status: string) => mergeLatencies(storms.flatMap(({ sent }) => sent.outcomes[status] ?? []));
  const loggedIn = all('200');
  const turnedAway = all('503');
  const refusals: Record<string, number> = {};
  for (const [refusal, count] of storms.flatMap((storm) => Object.entries(storm.refusals))) {
    refusals[refusal] = (refusals[refusal] ?? 0) + count;
  }
  return {
    storms: storms.length,
    loggedIn,
    turnedAway,
    perSecond: (1000 * loggedIn.count) / sum(({ sent }) => sent.tookMs),
    wrong: sum(({ wrong }) => wrong),
    lost: sum(({ sent }) => sent.requests) - loggedIn.count - turnedAway.count,
    refusals,
  };
}

function reportOf({ phases, surroundings, delivered }: Measured): Report {
  const summary = summaryOf(phases);
  const audio = { ratio: ratiosOf(phases), ...latenciesOf(phases) };
  const faults = [...faultsOfDelivery(delivered, 'audio'), ...faultsOfGenerator(surroundings)];
  const goals = goalsOf(summary, audio, faults);
  const line = columns(34, 14);
  return {
    lines: [
      `load: one talker, ${LISTENERS} listeners; ${LOGINS} logins within ${STORM_MS / 1000} s in every second phase of ${PHASE_MS / 1000} s`,
      `held constant: the audio, ${LOGINS} users with a connection each, bcrypt at cost ${PASSWORD_COST}; storms: ${summary.storms}`,
      line('audio p99 without', ms(audio.without.p99Ms)),
      line('audio, longest without', ms(audio.without.maxMs)),
      line('audio, longest with', ms(audio.with.maxMs)),
      `audio p99 with / without, ratio of pairs: ${ratio(audio.ratio)}`,
      line('logged in', `${summary.loggedIn.count}`),
      line('  a second', summary.perSecond.toFixed(1)),
      line('  p50', ms(summary.loggedIn.p50Ms)),
      line('  longest', ms(summary.loggedIn.maxMs)),
      line('  with a wrong token', `${summary.wrong}`),
      ...Object.entries(summary.refusals).map(([refusal, count]) => line(refusal, `${count}`)),
      line('neither let in nor turned away', `${summary.lost}`),
      ...linesOfSurroundings(surroundings, 'frames and logins'),
    ],
    limits: 'the limit that is hit is the password queue (64 waiting, or 2.5 s of them)',
    faults,
    noise: [noiseOf(surroundings, 'frames and logins', audio.without.p99Ms)],
    goals,
    plots: [plotOf(audio)],
    details: {
      settings: SETTINGS,
      load: {
        listeners: LISTENERS,
        audience: AUDIENCE,
        logins: LOGINS,
        stormMs: STORM_MS,
        phaseMs: PHASE_MS,
      },
      summary,
      audio,
      delivered,
      ...surroundings,
      phases,
    },
  };
}

interface Audio {
  readonly without: Latency;
  readonly with: Latency;
}

function goalsOf(summary: Summary, audio: Audio, faults: readonly string[]): Goal[] {
  const audioMsMax = Math.max(AUDIO_P99_MS_MAX, AUDIO_P99_TIMES_MAX * audio.without.p99Ms);
  return [
    atMost(watched('audio p99 during a login storm', audio.with.p99Ms, 'ms'), audioMsMax, faults),
    atMost(
      watched('logins turned away, p99', summary.turnedAway.p99Ms, 'ms'),
      TURNED_AWAY_P99_MS_MAX,
      faults,
    ),
    atMost(watched('logins answered with a wrong token', summary.wrong, ''), 0, faults),
    atMost(watched('logins neither let in nor turned away', summary.lost, ''), 0, faults),
    watched('logins per second in a storm', summary.perSecond, '/s'),
  ];
}

const plotOf = (audio: Audio): Plot =>
  percentilesOf(
    'Audio during a login storm',
    'Phases of 3 s with and without 1,000 logins within a second; the closer the lines, the better.',
    [
      ['without', audio.without],
      ['with', audio.with],
    ],
  );
