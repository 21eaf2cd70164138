// How many positions a second does the service store? The load: 1,000 radios that send GPS_UPDATE over their WebSockets and
// 200 phones that report by REST, in open loop, the rate stepped up, beside one talker and 100 listeners. Constant are
// radios, phones, their shares and the audio. The number is the highest rate at which 99 of 100 fixes are acknowledged, which
// is after their commit, within 100 ms; afterwards the database must hold what was acknowledged.
import {
  AUDIENCE,
  linesOfSurroundings,
  type Surroundings,
  targetOf,
  watch,
  withAudience,
} from '../beside.js';
import type { Delivered } from '../channel.js';
import { connectTo } from '../database.js';
import { columns, ms, percent } from '../figures.js';
import { climb, every, highestOf, RATES, type Rung, seriesOf, wordsOf } from '../ladder.js';
import type { AudienceHeard } from '../loads/audience.js';
import type { Account, PositionsPiece, PositionsPlayed, PositionsSetup } from '../loads/positions.js';
import { type Player, soon, withPlayer } from '../players.js';
import { failuresOf } from '../requests.js';
import type { Goal, Plot } from '../result.js';
import type { Bench, Report } from '../scenario.js';
import { type Relay, withRelay } from '../server.js';
import { CONNECTIONS } from '../throughput.js';
import { enlist } from '../users.js';
import { faultsOfDelivery, faultsOfGenerator, judge, linesOfFaults, wordOf } from '../verdict.js';

const LISTENERS = 100;
/** A radio may send two fixes a second: with fewer radios that limit would be measured. */
const RADIOS = 1_000;
const PHONES = 200;
const PHONES_SHARE = 0.2;
const RADIO_FIXES_PER_SECOND = 2;
const P99_MS_MAX = 100;
const SETTINGS = { LOG_LEVEL: 'warn' };

interface Plan {
  readonly radios: number;
  readonly perSecond: readonly number[];
  readonly stepMs: number;
  readonly warmUpMs: number;
}

const FULL: Plan = { radios: RADIOS, perSecond: allowedFor(RADIOS), stepMs: 2_000, warmUpMs: 2_000 };
const QUICK: Plan = { radios: 300, perSecond: every(3, allowedFor(300)), stepMs: 700, warmUpMs: 700 };
const WARM_UP_PER_SECOND = 200;

function allowedFor(radios: number): readonly number[] {
  const most = (RADIO_FIXES_PER_SECOND * radios) / (1 - PHONES_SHARE);
  return RATES.filter((rate) => rate <= most);
}

interface Step extends PositionsPlayed {
  readonly heard: AudienceHeard;
  readonly surroundings: Surroundings;
}

interface Measured {
  readonly plan: Plan;
  readonly rungs: readonly Rung<Step>[];
  /** Before the first fix. */
  readonly quiet: AudienceHeard;
  readonly delivered: Delivered;
  /** Devices of which the database does not hold what it should. */
  readonly wrong: number;
}

type PositionsPlayer = Player<PositionsPiece, PositionsPlayed, readonly Account[]>;

export function gpsTide(bench: Bench): Promise<Report> {
  const plan = bench.isQuick ? QUICK : FULL;
  const { cores, signal, progress } = bench;
  return withRelay({ cores: cores.server, signal, settings: SETTINGS }, async (relay) => {
    const measured = await withAudience(bench, { relay, listeners: LISTENERS }, (audience) =>
      withPositions(bench, { relay, radios: plan.radios }, async (positions): Promise<Measured> => {
        await positions.play({ fromMs: soon(), ms: plan.warmUpMs, perSecond: WARM_UP_PER_SECOND });
        const quiet = await audience.play({ fromMs: soon(), ms: plan.stepMs });
        const rungs = await climb({
          perSecond: plan.perSecond,
          isGood: isInTime,
          async play(perSecond): Promise<Step> {
            const watched = watch(relay);
            const when = { fromMs: soon(), ms: plan.stepMs };
            const [heard, played] = await Promise.all([
              audience.play(when),
              positions.play({ ...when, perSecond }),
            ]);
            const { generatorShare } = played;
            progress(`${perSecond} fixes a second: p99 ${ms(played.radios.latency.p99Ms)}`);
            return {
              ...played,
              heard,
              surroundings: watched([heard, { generatorShare, late: played.radios.late }]),
            };
          },
        });
        const wrong = await countWrong(relay, await positions.end());
        return { plan, rungs, quiet, delivered: await audience.end(), wrong };
      }),
    );
    return reportOf(measured);
  });
}

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

const isInTime = (played: PositionsPlayed): boolean =>
  failuresIn(played) === 0 &&
  played.radios.latency.p99Ms <= P99_MS_MAX &&
  played.phones.latency.p99Ms <= P99_MS_MAX;

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

function reportOf({ plan, rungs, quiet, delivered, wrong }: Measured): Report {
  const faults = [
    ...faultsOfDelivery(delivered, 'audio'),
    ...rungs.flatMap(({ perSecond, played }) => faultsOfGenerator(played.surroundings, `${perSecond}/s`)),
  ];
  const best = rungs.findLast(({ isGood }) => isGood)?.played;
  const goals: Goal[] = [
    {
      name: `positions per second acknowledged with p99 at most ${P99_MS_MAX} ms`,
      value: highestOf(rungs),
      unit: '/s',
      isMet: null,
    },
    {
      name: 'devices whose stored position is older than an acknowledged one',
      value: wrong,
      unit: '',
      atMost: 0,
      isMet: judge(faults, wrong === 0),
    },
    { name: 'audio p99 without positions', value: quiet.latency.p99Ms, unit: 'ms', isMet: null },
    ...(best === undefined
      ? []
      : [{ name: 'audio p99 beside that rate', value: best.heard.latency.p99Ms, unit: 'ms', isMet: null }]),
  ];
  const load = {
    listeners: LISTENERS,
    audience: AUDIENCE,
    ...plan,
    phones: PHONES,
    phonesShare: PHONES_SHARE,
    p99MsMax: P99_MS_MAX,
  };
  return {
    lines: [
      ...linesOfFaults(faults),
      `highest rate acknowledged with p99 at most ${P99_MS_MAX} ms and no failure: ${wordsOf(rungs)}/s`,
      `devices whose stored position is older than an acknowledged one: ${wrong}`,
      `  target 0: ${wordOf(judge(faults, wrong === 0))}`,
      '',
      `load: ${plan.radios} radios by GPS_UPDATE, ${PHONES} phones by REST (${percent(PHONES_SHARE)} of the fixes), open loop; one talker, ${LISTENERS} listeners`,
      `held constant: radios, phones, their shares, the audio; ${plan.stepMs / 1000} s at each rate`,
      '',
      ...linesOfRungs(rungs, quiet),
      'limits raised: none; a radio sends at most two fixes a second, which is what it may',
    ],
    faults,
    goals,
    plots: [plotOf(rungs)],
    details: { settings: SETTINGS, load, rungs, quiet, delivered, wrong },
  };
}

function linesOfRungs(rungs: readonly Rung<Step>[], quiet: AudienceHeard): string[] {
  const line = columns(12, 13, 13, 13, 10, 12, 9, 12);
  const last = rungs.at(-1)?.played.surroundings;
  return [
    line('per second', 'OK p50', 'OK p99', 'REST p99', 'failures', 'audio p99', 'server', 'PostgreSQL'),
    line('0', '', '', '', '', ms(quiet.latency.p99Ms)),
    ...rungs.map(({ perSecond, played, isGood }) => {
      const { radios, phones, heard, surroundings } = played;
      const cells = [
        ms(radios.latency.p50Ms),
        ms(radios.latency.p99Ms),
        ms(phones.latency.p99Ms),
        `${failuresIn(played)}`,
        ms(heard.latency.p99Ms),
        percent(surroundings.serverShare),
        percent(surroundings.databaseShare),
      ];
      return `${line(`${perSecond}`, ...cells)}${isGood ? '' : '  too much'}`;
    }),
    ...(last === undefined ? [] : linesOfSurroundings(last, 'frames and fixes').slice(1)),
  ];
}

const plotOf = (rungs: readonly Rung<Step>[]): Plot => ({
  kind: 'curve',
  title: 'Positions: acknowledgement against rate',
  note: 'From when a fix was due to its OK, which comes after the commit; the audio of others beside it.',
  x: { label: 'positions', unit: '/s', scale: 'log' },
  y: { label: 'latency', unit: 'ms', scale: 'log' },
  series: [
    seriesOf('GPS_UPDATE p50', rungs, ({ radios }) => radios.latency.p50Ms),
    seriesOf('GPS_UPDATE p99', rungs, ({ radios }) => radios.latency.p99Ms),
    seriesOf('REST p99', rungs, ({ phones }) => phones.latency.p99Ms),
    seriesOf('audio p99', rungs, ({ heard }) => heard.latency.p99Ms),
  ],
});
