// How many positions a second does the service store? The load: 2,000 radios that send GPS_UPDATE over their WebSockets and
// 200 phones that report by REST, in open loop, the rate stepped up, beside one talker and 100 listeners. Constant are
// radios, phones, their shares and the audio. The number is the highest rate that is acknowledged, which is after the
// commit, in time. Bare commits beside it show how long the disk takes for one, and that is forgiven. Afterwards the
// database must hold what was acknowledged.
import { type AudiencePlayer, targetOf, watch, withAudience } from '../experiments/beside.js';
import { climb, every, RATES } from '../experiments/ladder.js';
import { CONNECTIONS } from '../experiments/throughput.js';
import { ms } from '../figures/figures.js';
import type {
  Account,
  PositionsPiece,
  PositionsPlayed,
  PositionsSetup,
} from '../generator/loads/positions.js';
import { type Player, soon } from '../generator/player.js';
import { nowMs } from '../machine/clock.js';
import { descendantsCpuUs } from '../machine/descendants.js';
import { cpuUs } from '../machine/processes.js';
import type { Bench, Report } from '../scenario.js';
import { type Commits, withCommits } from '../servers/commits.js';
import { connectTo } from '../servers/database.js';
import type { Relay } from '../servers/relay.js';
import { enlist } from '../servers/users.js';
import {
  BEYOND_COMMITS_MS_MAX,
  type Clocks,
  failuresIn,
  LISTENERS,
  type Measured,
  PHONES,
  PHONES_SHARE,
  type Plan,
  reportOf,
  SETTINGS,
  type Step,
} from './gps-tide-report.js';

/** A radio may send two fixes a second: with fewer radios that limit would be measured. */
const RADIOS = 2_000;
const RADIO_FIXES_PER_SECOND = 2;
/** Stalls are short and come in bursts. */
const TRIES_MAX = 4;

const FULL: Plan = { radios: RADIOS, perSecond: allowedFor(RADIOS), stepMs: 2_000, warmUpMs: 3_000 };
const QUICK: Plan = { radios: 1_000, perSecond: every(3, allowedFor(1_000)), stepMs: 700, warmUpMs: 700 };
const WARM_UP_PER_SECOND = 200;

function allowedFor(radios: number): readonly number[] {
  const most = (RADIO_FIXES_PER_SECOND * radios) / (1 - PHONES_SHARE);
  return RATES.filter((rate) => rate <= most);
}

type PositionsPlayer = Player<PositionsPiece, PositionsPlayed, readonly Account[]>;

export function gpsTide(bench: Bench): Promise<Report> {
  const plan = bench.isQuick ? QUICK : FULL;
  return bench.withRelay(SETTINGS, (relay) =>
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
  bench: Bench,
  { relay, radios }: { readonly relay: Relay; readonly radios: number },
  use: (positions: PositionsPlayer) => Promise<T>,
): Promise<T> {
  const users = await enlist(relay, { users: radios + PHONES, hasDevices: true });
  return bench.withPlayer<PositionsSetup, PositionsPiece, PositionsPlayed, readonly Account[], T>(
    new URL('../generator/loads/positions.js', import.meta.url),
    {
      server: targetOf(relay),
      restUrl: relay.restUrl,
      connectionsMax: CONNECTIONS,
      radios: users.slice(0, radios),
      phones: users.slice(radios),
      phonesShare: PHONES_SHARE,
    },
    use,
  );
}

const isInTime = (step: Step): boolean =>
  failuresIn(step) === 0 &&
  [step.radios.latency, step.phones.latency].every(
    ({ p50Ms, p99Ms }) =>
      p50Ms <= step.commits.p50Ms + BEYOND_COMMITS_MS_MAX.p50 &&
      p99Ms <= step.commits.p99Ms + BEYOND_COMMITS_MS_MAX.p99,
  );

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

/** `held` is the number in the database. Of two fixes under way together either may be the last, but the held one must not be older than one that was acknowledged. */
export function isRight({ fixes }: Account, held = -1): boolean {
  const acknowledged = fixes.filter(({ storedMs }) => storedMs !== null);
  if (held === 0) return acknowledged.length === 0; // as it was enlisted
  const holding = fixes[held - 1];
  if (holding === undefined) return false;
  const storedMs = holding.storedMs ?? Number.POSITIVE_INFINITY;
  return acknowledged.every(({ sentMs }) => sentMs <= storedMs);
}
