// How many positions a second does the service store? The load: 2,000 radios that send GPS_UPDATE over their WebSockets and
// 200 phones that report by REST, in open loop, the rate stepped up, beside one talker and 100 listeners. Constant are
// radios, phones, their shares and the audio. The number is the highest rate that is acknowledged, which is after the
// commit, in time; bare commits beside it show how long the disk takes for one, and that is forgiven. Afterwards the
// database must hold what was acknowledged.
import {
  AUDIENCE,
  type AudiencePlayer,
  linesOfSurroundings,
  type Surroundings,
  targetOf,
  watch,
  withAudience,
} from '../beside.js';
import type { Delivered } from '../channel.js';
import { nowMs } from '../clock.js';
import { COMMITS_PER_SECOND, type Commits, withCommits } from '../commits.js';
import { connectTo, descendantsCpuUs } from '../database.js';
import { columns, ms, percent, us } from '../figures.js';
import type { Latency } from '../histogram.js';
import { climb, every, highestOf, RATES, type Rung, seriesOf, wordsOf } from '../ladder.js';
import type { AudienceHeard } from '../loads/audience.js';
import type { Account, PositionsPiece, PositionsPlayed, PositionsSetup } from '../loads/positions.js';
import { type Player, soon, withPlayer } from '../players.js';
import { cpuUs } from '../processes.js';
import { failuresOf } from '../requests.js';
import type { Goal, Plot } from '../result.js';
import type { Bench, Report } from '../scenario.js';
import { type Relay, withRelay } from '../server.js';
import { CONNECTIONS } from '../throughput.js';
import { enlist } from '../users.js';
import { faultsOfDelivery, faultsOfGenerator, judge, linesOfFaults, linesOfGoals } from '../verdict.js';

const LISTENERS = 100;
/** A radio may send two fixes a second: with fewer radios that limit would be measured. */
const RADIOS = 2_000;
const PHONES = 200;
const PHONES_SHARE = 0.2;
const RADIO_FIXES_PER_SECOND = 2;
/**
 * What a position may take longer than bare commits of the same seconds, for a disk that stalls is no full server. One
 * that falls behind by a twentieth of what comes passes both within a step of 2 s.
 */
const BEYOND_COMMITS_MS_MAX = { p50: 25, p99: 100 };
/** Stalls are short and come in bursts. */
const TRIES_MAX = 4;
const SETTINGS = { LOG_LEVEL: 'warn' };

interface Plan {
  readonly radios: number;
  readonly perSecond: readonly number[];
  readonly stepMs: number;
  readonly warmUpMs: number;
}

const FULL: Plan = { radios: RADIOS, perSecond: allowedFor(RADIOS), stepMs: 2_000, warmUpMs: 3_000 };
const QUICK: Plan = { radios: 1_000, perSecond: every(3, allowedFor(1_000)), stepMs: 700, warmUpMs: 700 };
const WARM_UP_PER_SECOND = 200;

function allowedFor(radios: number): readonly number[] {
  const most = (RADIO_FIXES_PER_SECOND * radios) / (1 - PHONES_SHARE);
  return RATES.filter((rate) => rate <= most);
}

/** What is there all the time. */
interface Beside {
  readonly heard: AudienceHeard;
  readonly commits: Latency;
  readonly surroundings: Surroundings;
  readonly spent: Clocks;
}

interface Clocks {
  readonly atMs: number;
  /** CPU of the service. */
  readonly serviceUs: number;
  /** CPU of its PostgreSQL. */
  readonly databaseUs: number;
}

interface Step extends PositionsPlayed, Beside {}

interface Measured {
  readonly plan: Plan;
  readonly rungs: readonly Rung<Step>[];
  /** Before the first fix. */
  readonly quiet: Beside;
  readonly delivered: Delivered;
  /** Devices of which the database does not hold what it should. */
  readonly wrong: number;
}

type PositionsPlayer = Player<PositionsPiece, PositionsPlayed, readonly Account[]>;

export function gpsTide(bench: Bench): Promise<Report> {
  const plan = bench.isQuick ? QUICK : FULL;
  const { cores, signal } = bench;
  return withRelay({ cores: cores.server, signal, settings: SETTINGS }, (relay) =>
    withAudience(bench, { relay, listeners: LISTENERS }, (audience) =>
      withPositions(bench, { relay, radios: plan.radios }, (positions) =>
        withCommits(relay, async (commits) =>
          reportOf(await measure(bench, plan, { relay, audience, positions, commits })),
        ),
      ),
    ),
  );
}

interface Players {
  readonly relay: Relay;
  readonly audience: AudiencePlayer;
  readonly positions: PositionsPlayer;
  readonly commits: Commits;
}

async function measure(
  { progress }: Bench,
  plan: Plan,
  { relay, audience, positions, commits }: Players,
): Promise<Measured> {
  const { perSecond, stepMs, warmUpMs } = plan;
  async function play(perSecond: number): Promise<Step> {
    const watched = watch(relay);
    const before = readClocks(relay);
    const when = { fromMs: soon(), ms: stepMs };
    const [heard, committed, played] = await Promise.all([
      audience.play(when),
      commits.play(when),
      positions.play({ ...when, perSecond }),
    ]);
    const { generatorShare, radios } = played;
    const surroundings = watched([heard, { generatorShare, late: radios.late }]);
    const spent = passed(before, readClocks(relay));
    progress(
      `${perSecond} fixes a second: p99 ${ms(radios.latency.p99Ms)}, of bare commits ${ms(committed.p99Ms)}`,
    );
    return { ...played, heard, commits: committed, surroundings, spent };
  }
  await positions.play({ fromMs: soon(), ms: warmUpMs, perSecond: WARM_UP_PER_SECOND });
  const quiet = await play(0);
  const rungs = await climb({ perSecond, isGood: isInTime, play, triesMax: TRIES_MAX });
  const wrong = await countWrong(relay, await positions.end());
  return { plan, rungs, quiet, delivered: await audience.end(), wrong };
}

const readClocks = ({ pid }: Relay): Clocks => ({
  atMs: nowMs(),
  serviceUs: cpuUs(pid),
  databaseUs: descendantsCpuUs(pid),
});

const passed = (before: Clocks, after: Clocks): Clocks => ({
  atMs: after.atMs - before.atMs,
  serviceUs: after.serviceUs - before.serviceUs,
  databaseUs: after.databaseUs - before.databaseUs,
});

async function withPositions<T>(
  { cores, signal }: Bench,
  { relay, radios }: { readonly relay: Relay; readonly radios: number },
  use: (positions: PositionsPlayer) => Promise<T>,
): Promise<T> {
  const users = await enlist(relay, { users: radios + PHONES, hasDevices: true });
  return withPlayer<PositionsSetup, PositionsPiece, PositionsPlayed, readonly Account[], T>(
    new URL('../loads/positions.js', import.meta.url),
    {
      server: targetOf(relay),
      restUrl: relay.restUrl,
      connectionsMax: CONNECTIONS,
      radios: users.slice(0, radios),
      phones: users.slice(radios),
      phonesShare: PHONES_SHARE,
    },
    { cores: cores.generator, signal },
    use,
  );
}

const failuresIn = ({ radios, phones }: PositionsPlayed): number =>
  Object.values(radios.failures).reduce((sum, count) => sum + count, 0) + failuresOf(phones);

const isInTime = (step: Step): boolean =>
  failuresIn(step) === 0 &&
  [step.radios.latency, step.phones.latency].every(
    ({ p50Ms, p99Ms }) =>
      p50Ms <= step.commits.p50Ms + BEYOND_COMMITS_MS_MAX.p50 &&
      p99Ms <= step.commits.p99Ms + BEYOND_COMMITS_MS_MAX.p99,
  );

/** CPU microseconds of each position, beyond what audio and bare commits take by themselves in the same time. */
function costOf({ radios, phones, spent }: Step, quiet: Beside) {
  const fixes = radios.fixes + phones.requests;
  const of = (side: 'serviceUs' | 'databaseUs') =>
    (spent[side] - (quiet.spent[side] / quiet.spent.atMs) * spent.atMs) / fixes;
  return { serviceUs: of('serviceUs'), databaseUs: of('databaseUs') };
}

async function countWrong(relay: Relay, accounts: readonly Account[]): Promise<number> {
  const sql = await connectTo(relay);
  try {
    const rows = await sql<{ device_id: string; alt: number }[]>`select device_id, alt from gps_fixes`;
    const held = new Map(rows.map(({ device_id, alt }) => [device_id, alt]));
    return accounts.filter((account) => !isRight(account, held.get(account.deviceId))).length;
  } finally {
    await sql.end();
  }
}

/** `held` is the number in the database. Of two fixes under way together either may be the last; but the held one must not be older than one that was acknowledged. */
export function isRight({ fixes }: Account, held = -1): boolean {
  const acknowledged = fixes.filter(({ storedMs }) => storedMs !== null);
  if (held === 0) return acknowledged.length === 0; // as it was enlisted
  const holding = fixes[held - 1];
  if (holding === undefined) return false;
  const storedMs = holding.storedMs ?? Number.POSITIVE_INFINITY;
  return acknowledged.every(({ sentMs }) => sentMs <= storedMs);
}

function reportOf(measured: Measured): Report {
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
      ...linesOfFaults(faults),
      `highest rate acknowledged in time: ${wordsOf(rungs)}/s`,
      `  in time: p50 at most ${p50} ms and p99 at most ${p99} ms later than those of bare commits beside, no failure`,
      ...linesOfGoals(goals.slice(1)),
      '',
      `load: ${plan.radios} radios by GPS_UPDATE, ${PHONES} phones by REST (${percent(PHONES_SHARE)} of the fixes), open loop; one talker, ${LISTENERS} listeners; ${COMMITS_PER_SECOND} bare commits a second`,
      `held constant: radios, phones, their shares, the audio; ${plan.stepMs / 1000} s at each rate`,
      '',
      ...linesOfRungs(rungs, quiet),
      'limits raised: none; a radio sends at most two fixes a second, which is what it may',
    ],
    faults,
    goals,
    plots: [plotOfLatency(rungs), plotOfCpu(rungs, quiet)],
    details: { settings: SETTINGS, load, rungs, quiet, delivered, wrong },
  };
}

function goalsOf({ rungs, quiet, wrong }: Measured, faults: readonly string[]): Goal[] {
  const watched = (name: string, value: number, unit: string): Goal => ({ name, value, unit, isMet: null });
  const goals: Goal[] = [
    watched('positions per second acknowledged in time', highestOf(rungs), '/s'),
    {
      name: 'devices whose stored position is older than an acknowledged one',
      value: wrong,
      unit: '',
      atMost: 0,
      isMet: judge(faults, wrong === 0),
    },
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
