// How soon does a watcher see a position, and what does watching cost? Radios report positions of a talkgroup at a steady
// rate, in open loop. One thread, two threads, and two nodes when nats-server is there. Phases with and without watchers
// alternate for the cost. Last, a watcher of 5,000 devices behind 1 Mbit/s hears a talker.
import { inTurns } from '../experiments/beside.js';
import { columns, ms, type Quartiles, quartiles, us } from '../figures/figures.js';
import { atMost, watched, watchedMedian } from '../figures/goals.js';
import { faultsOfGenerator } from '../figures/judge.js';
import type { Goal } from '../figures/result.js';
import type { WatchingPiece, WatchingPlayed, WatchingSetup } from '../generator/loads/watching.js';
import { type Player, soon } from '../generator/player.js';
import { cpuUs, findProgram } from '../machine/processes.js';
import type { Target } from '../radios/raw-radio.js';
import type { Bench, Report } from '../scenario.js';
import { withCluster } from '../servers/cluster.js';
import type { Relay } from '../servers/relay.js';
import { enlist } from '../servers/users.js';

const INTERVAL_MS = 1000;
/** What a position may take beyond the interval. */
const BEYOND_MS_MAX = 100;
const COST_US_MAX = 5;
const NARROW_BYTES_PER_SECOND = 1e6 / 8;
const SETTINGS = { LOG_LEVEL: 'warn' };
/** Until the devices were listed, and read again. */
const LEAD_MS = 1000;

interface Load {
  readonly devices: number;
  readonly reporters: number;
  readonly watchers: number;
  readonly perSecond: number;
  readonly ms: number;
  readonly bytesPerSecond: number | null;
}

interface Plan {
  /** A device reports every 2 s, so no position is replaced before it is seen. */
  readonly seen: Load;
  readonly cost: Load;
  readonly pairs: number;
  /** Each device every 10 s. */
  readonly narrow: Load;
}

const FULL: Plan = {
  seen: { devices: 400, reporters: 200, watchers: 4, perSecond: 200, ms: 12_000, bytesPerSecond: null },
  cost: { devices: 2000, reporters: 1000, watchers: 1, perSecond: 1000, ms: 8000, bytesPerSecond: null },
  /** The CPU of a position varies by a tenth from phase to phase, so their median needs many. */
  pairs: 16,
  narrow: {
    ...{ devices: 5000, reporters: 500, watchers: 1, perSecond: 500, ms: 30_000 },
    bytesPerSecond: NARROW_BYTES_PER_SECOND,
  },
};
const QUICK: Plan = {
  seen: { ...FULL.seen, ms: 3000 },
  cost: { ...FULL.cost, devices: 1000, reporters: 500, perSecond: 500, ms: 1200 },
  pairs: 1,
  narrow: { ...FULL.narrow, devices: 1000, reporters: 200, perSecond: 100, ms: 3000 },
};

type WatchingPlayer = Player<WatchingPiece, WatchingPlayed, null>;
type Fleet = Pick<Relay, 'dataDir' | 'jwtSecret'>;

interface Seen {
  readonly where: string;
  readonly played: WatchingPlayed;
}

interface Cost {
  /** CPU of the service for a position (µs), of each pair. */
  readonly withoutUs: Quartiles;
  readonly addedUs: Quartiles;
  readonly played: readonly WatchingPlayed[];
}

export async function positions(bench: Bench): Promise<Report> {
  const plan = bench.isQuick ? QUICK : FULL;
  const seen: Seen[] = [];
  for (const where of ['one thread', 'two threads', 'two nodes'] as const)
    if (where !== 'two nodes' || findProgram('nats-server') !== null)
      seen.push({ where, played: await seenOn(bench, where, plan.seen) });
  const cost = await costOf(bench, plan);
  const narrow = await bench.withRelay(SETTINGS, (relay) =>
    withWatching(bench, { fleet: relay, servers: [relay], load: plan.narrow }, (player) => {
      bench.progress('a watcher behind 1 Mbit/s');
      return playOnce(player, plan.narrow);
    }),
  );
  return reportOf(plan, { seen, cost, narrow });
}

function seenOn(bench: Bench, where: string, load: Load): Promise<WatchingPlayed> {
  bench.progress(where);
  const measure = (fleet: Fleet, servers: readonly Target[]) =>
    withWatching(bench, { fleet, servers, load }, (player) => playOnce(player, load));
  if (where === 'two nodes')
    return withCluster({ cores: bench.cores.server, signal: bench.signal, settings: SETTINGS }, (cluster) =>
      measure(cluster, cluster.nodes),
    );
  const settings = { ...SETTINGS, ...(where === 'two threads' && { RELAY_THREADS: '2' }) };
  return bench.withRelay(settings, (relay) => measure(relay, [relay]));
}

const playOnce = (player: WatchingPlayer, { perSecond, ms }: Load) =>
  player.play({ fromMs: soon(), ms, perSecond, isWatching: true });

/** The same rate with and without a watcher, in turns. */
function costOf(bench: Bench, { cost: load, pairs }: Plan): Promise<Cost> {
  return bench.withRelay(SETTINGS, (relay) =>
    withWatching(bench, { fleet: relay, servers: [relay], load }, async (player) => {
      const { perSecond, ms } = load;
      const play = (isWatching: boolean, lengthMs = ms) =>
        player.play({ fromMs: soon(), ms: lengthMs, perSecond, isWatching });
      await play(false, ms / 2); // the first statements compile
      const phases = await inTurns(pairs, async (isWatching) => {
        bench.progress(`cost ${isWatching ? 'with' : 'without'} a watcher`);
        await play(isWatching, LEAD_MS);
        const before = cpuUs(relay.pid);
        const played = await play(isWatching);
        return { played, us: (cpuUs(relay.pid) - before) / played.fixes };
      });
      const couples = Array.from({ length: pairs }, (_, pair) => phases.slice(2 * pair, 2 * pair + 2));
      const usOf = (isWatching: boolean) =>
        couples.map(
          (couple) => couple.find(({ played }) => played.rows > 0 === isWatching)?.us ?? Number.NaN,
        );
      const [without, withOne] = [usOf(false), usOf(true)];
      return {
        withoutUs: quartiles(without),
        addedUs: quartiles(withOne.map((us, pair) => us - (without[pair] ?? Number.NaN))),
        played: phases.map(({ played }) => played),
      };
    }),
  );
}

async function withWatching<T>(
  bench: Bench,
  { fleet, servers, load }: { fleet: Fleet; servers: readonly Target[]; load: Load },
  use: (player: WatchingPlayer) => Promise<T>,
): Promise<T> {
  const { devices, reporters, watchers, bytesPerSecond } = load;
  const members = await enlist(fleet, { users: devices, hasDevices: true });
  const [talkgroup] = members[0]?.talkgroups ?? [];
  if (talkgroup === undefined) throw new Error('the fleet has one talkgroup');
  const setup: WatchingSetup = {
    servers: servers.map(({ url, dialect }) => ({ url, dialect })),
    talkgroup,
    reporters: members.slice(0, reporters),
    watchers: members.slice(reporters, reporters + watchers),
    deviceIds: members.map(({ deviceId }) => deviceId ?? ''),
    ...{ intervalMs: INTERVAL_MS, bytesPerSecond },
  };
  return bench.withPlayer(new URL('../generator/loads/watching.js', import.meta.url), setup, use);
}

interface Measured {
  readonly seen: readonly Seen[];
  readonly cost: Cost;
  readonly narrow: WatchingPlayed;
}

function reportOf(plan: Plan, { seen, cost, narrow }: Measured): Report {
  const all = [...seen.map(({ played }) => played), ...cost.played, narrow];
  const faults = [...new Set(all.flatMap((played) => [...faultsOfGenerator(played), ...faultsOf(played)]))];
  if (narrow.listed < plan.narrow.devices) faults.push(`${narrow.listed} devices were listed`);
  if (narrow.frames === 0) faults.push('no speech was heard behind the narrow link');
  const line = columns(14, 12, 12, 12, 12, 12);
  const goals: Goal[] = [
    ...seen.map(({ where, played }) =>
      atMost(
        watched(`position to a watcher, p95, ${where}`, played.latency.p95Ms, 'ms'),
        INTERVAL_MS + BEYOND_MS_MAX,
        faults,
      ),
    ),
    atMost(watchedMedian('CPU that a watcher adds to a position', cost.addedUs, 'µs'), COST_US_MAX, faults),
    watchedMedian('CPU of a position without watchers', cost.withoutUs, 'µs'),
    atMost(watched('LAG of a watcher behind 1 Mbit/s that hears speech', narrow.lags, ''), 0, faults),
    watched(`list of ${plan.narrow.devices} devices behind 1 Mbit/s`, narrow.listedMs, 'ms'),
    watched('position to that watcher, p95', narrow.latency.p95Ms, 'ms'),
  ];
  return {
    lines: [
      line('', 'positions', 'p50', 'p95', 'p99', 'list'),
      ...seen.map(({ where, played }) => lineOf(line, where, played)),
      lineOf(line, '1 Mbit/s', narrow),
      '',
      `cost of a position: ${us(cost.withoutUs.median)} without watchers, ${us(cost.addedUs.median)} more with one`,
      `speech behind 1 Mbit/s: ${narrow.frames} frames, ${narrow.lags} LAG, ${narrow.unseen} positions replaced by later ones`,
      `interval ${INTERVAL_MS} ms; a position is timed from when its radio is due to send it, so the commit is in it`,
    ],
    limits: 'a position waits for its commit and for the end of the interval',
    faults,
    goals,
    plots: [],
    details: { settings: SETTINGS, load: plan, intervalMs: INTERVAL_MS, seen, cost, narrow },
  };
}

const lineOf = (
  line: (...cells: string[]) => string,
  where: string,
  { fixes, latency, listedMs }: WatchingPlayed,
) => line(where, `${fixes}`, ms(latency.p50Ms), ms(latency.p95Ms), ms(latency.p99Ms), ms(listedMs));

function faultsOf({ failures }: WatchingPlayed): string[] {
  return Object.entries(failures).map(([code, count]) => `${count} positions were answered with ${code}`);
}
