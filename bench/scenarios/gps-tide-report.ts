// Reports a run of gps-tide: goals, table of rates, plots.
import { AUDIENCE, linesOfSurroundings, type Surroundings } from '../experiments/beside.js';
import { highestOf, type Rung, seriesOf, wordsOf } from '../experiments/ladder.js';
import { noiseOf } from '../figures/doubts.js';
import { columns, ms, percent, us } from '../figures/figures.js';
import { atMost, watched } from '../figures/goals.js';
import type { Latency } from '../figures/histogram.js';
import { faultsOfDelivery, faultsOfGenerator } from '../figures/judge.js';
import type { Goal, Plot } from '../figures/result.js';
import type { AudienceHeard } from '../generator/loads/audience.js';
import type { PositionsPlayed } from '../generator/loads/positions.js';
import { failuresOf } from '../generator/requests.js';
import type { Delivered } from '../radios/channel.js';
import type { Report } from '../scenario.js';
import { COMMITS_PER_SECOND } from '../servers/commits.js';

export const LISTENERS = 100;
export const PHONES = 200;
export const PHONES_SHARE = 0.2;
/**
 * What a position may take longer than bare commits of the same seconds, for a disk that stalls is no full server. One
 * that falls behind by a twentieth of what comes passes both within a step of 2 s.
 */
export const BEYOND_COMMITS_MS_MAX = { p50: 25, p99: 100 };
export const SETTINGS = { LOG_LEVEL: 'warn' };

export interface Plan {
  readonly radios: number;
  readonly perSecond: readonly number[];
  readonly stepMs: number;
  readonly warmUpMs: number;
}

/** What is there all the time. */
export interface Beside {
  readonly heard: AudienceHeard;
  readonly commits: Latency;
  readonly surroundings: Surroundings;
  readonly spent: Clocks;
}

export interface Clocks {
  readonly atMs: number;
  /** CPU of the service. */
  readonly serviceUs: number;
  /** CPU of its PostgreSQL. */
  readonly databaseUs: number;
}

export interface Step extends PositionsPlayed, Beside {}

export interface Measured {
  readonly plan: Plan;
  readonly rungs: readonly Rung<Step>[];
  /** Before the first fix. */
  readonly quiet: Beside;
  readonly delivered: Delivered;
  /** Devices of which the database does not hold what it should. */
  readonly wrong: number;
}

export const failuresIn = ({ radios, phones }: PositionsPlayed): number =>
  Object.values(radios.failures).reduce((sum, count) => sum + count, 0) + failuresOf(phones);

export function reportOf(measured: Measured): Report {
  const { plan, rungs, quiet, delivered, wrong } = measured;
  const faults = [
    ...faultsOfDelivery(delivered, 'audio'),
    ...rungs.flatMap(({ perSecond, played }) => faultsOfGenerator(played.surroundings, `${perSecond}/s`)),
  ];
  const goals = goalsOf(measured, faults);
  const load = {
    listeners: LISTENERS,
    audience: AUDIENCE,
    ...plan,
    phones: PHONES,
    phonesShare: PHONES_SHARE,
    beyondCommitsMsMax: BEYOND_COMMITS_MS_MAX,
    commitsPerSecond: COMMITS_PER_SECOND,
  };
  const { p50, p99 } = BEYOND_COMMITS_MS_MAX;
  return {
    lines: [
      `highest rate acknowledged in time: ${wordsOf(rungs)}/s`,
      `  in time: p50 at most ${p50} ms and p99 at most ${p99} ms later than those of bare commits beside, no failure`,
      `load: ${plan.radios} radios by GPS_UPDATE, ${PHONES} phones by REST (${percent(PHONES_SHARE)} of the fixes), open loop; one talker, ${LISTENERS} listeners; ${COMMITS_PER_SECOND} bare commits a second`,
      `held constant: radios, phones, their shares, the audio; ${plan.stepMs / 1000} s at each rate`,
      '',
      ...linesOfRungs(rungs, quiet),
    ],
    limits: 'a radio sends at most two fixes a second, which is what it may',
    faults,
    noise: rungs
      .slice(-1)
      .map(({ played }) => noiseOf(played.surroundings, 'frames and fixes', played.radios.latency.p99Ms)),
    goals,
    plots: [plotOfLatency(rungs), plotOfCpu(rungs, quiet)],
    details: { settings: SETTINGS, load, rungs, quiet, delivered, wrong },
  };
}

function goalsOf({ rungs, quiet, wrong }: Measured, faults: readonly string[]): Goal[] {
  const goals: Goal[] = [
    watched('positions per second acknowledged in time', highestOf(rungs), '/s'),
    atMost(watched('devices whose stored position is older than an acknowledged one', wrong, ''), 0, faults),
    watched('audio p99 without positions', quiet.heard.latency.p99Ms, 'ms'),
  ];
  const best = rungs.findLast(({ isGood }) => isGood)?.played;
  if (best === undefined) return goals;
  const { serviceUs, databaseUs } = costOf(best, quiet);
  return [
    ...goals,
    watched('audio p99 beside that rate', best.heard.latency.p99Ms, 'ms'),
    watched('GPS_UPDATE p99 at that rate', best.radios.latency.p99Ms, 'ms'),
    watched('bare commit p99 beside it', best.commits.p99Ms, 'ms'),
    watched('CPU of each position at that rate, service', serviceUs, 'µs'),
    watched('CPU of each position at that rate, PostgreSQL', databaseUs, 'µs'),
  ];
}

function linesOfRungs(rungs: readonly Rung<Step>[], quiet: Beside): string[] {
  const line = columns(12, 11, 11, 11, 12, 12, 10, 12, 12, 12);
  const last = rungs.at(-1)?.played.surroundings;
  const { heard, commits } = quiet;
  return [
    line('', '', '', '', 'commit', 'commit', '', '', 'CPU each', 'CPU each'),
    line(
      'per second',
      'OK p50',
      'OK p99',
      'REST p99',
      'p50',
      'p99',
      'failures',
      'audio p99',
      'service',
      'PostgreSQL',
    ),
    line('0', '', '', '', ms(commits.p50Ms), ms(commits.p99Ms), '', ms(heard.latency.p99Ms)),
    ...rungs.map((rung) => {
      const { radios, phones, heard, commits } = rung.played;
      const { serviceUs, databaseUs } = costOf(rung.played, quiet);
      const cells = [
        ...[
          radios.latency.p50Ms,
          radios.latency.p99Ms,
          phones.latency.p99Ms,
          commits.p50Ms,
          commits.p99Ms,
        ].map(ms),
        `${failuresIn(rung.played)}`,
        ms(heard.latency.p99Ms),
        us(serviceUs),
        us(databaseUs),
      ];
      return `${line(`${rung.perSecond}`, ...cells)}${rung.isGood ? '' : '  too much'}`;
    }),
    ...(last === undefined ? [] : linesOfSurroundings(last, 'frames and fixes')),
  ];
}

const plotOfLatency = (rungs: readonly Rung<Step>[]): Plot => ({
  kind: 'curve',
  title: 'Positions: acknowledgement against rate',
  note: 'From when a fix was due to its OK, which comes after the commit. Where p99 follows the bare commits, it is the disk; where p50 leaves them, the service is full.',
  x: { label: 'positions', unit: '/s', scale: 'log' },
  y: { label: 'latency', unit: 'ms', scale: 'log' },
  series: [
    seriesOf('GPS_UPDATE p50', rungs, ({ radios }) => radios.latency.p50Ms),
    seriesOf('GPS_UPDATE p99', rungs, ({ radios }) => radios.latency.p99Ms),
    seriesOf('REST p99', rungs, ({ phones }) => phones.latency.p99Ms),
    seriesOf('bare commit p50', rungs, ({ commits }) => commits.p50Ms),
    seriesOf('bare commit p99', rungs, ({ commits }) => commits.p99Ms),
    seriesOf('audio p99', rungs, ({ heard }) => heard.latency.p99Ms),
  ],
});

const plotOfCpu = (rungs: readonly Rung<Step>[], quiet: Beside): Plot => ({
  kind: 'curve',
  title: 'Positions: what each costs',
  note: 'CPU time beyond what audio and bare commits take by themselves. It falls with the rate: the more come at once, the more share a statement and a commit.',
  x: { label: 'positions', unit: '/s', scale: 'log' },
  y: { label: 'CPU for each', unit: 'µs', scale: 'log' },
  series: [
    seriesOf('service', rungs, (played) => Math.max(1, costOf(played, quiet).serviceUs)),
    seriesOf('PostgreSQL', rungs, (played) => Math.max(1, costOf(played, quiet).databaseUs)),
  ],
});

/** CPU microseconds of each position, beyond what audio and bare commits take by themselves in the same time. */
function costOf({ radios, phones, spent }: Step, quiet: Beside) {
  const fixes = radios.fixes + phones.requests;
  const of = (side: 'serviceUs' | 'databaseUs') =>
    (spent[side] - (quiet.spent[side] / quiet.spent.atMs) * spent.atMs) / fixes;
  return { serviceUs: of('serviceUs'), databaseUs: of('databaseUs') };
}
