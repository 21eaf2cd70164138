// Does anything grow? Half an hour of a fleet: the slope of the server's memory and of its descriptors. The load: 1,000
// radios in talkgroups of 20, a radio talking in five of them at any time, 5 % of the radios leaving and coming back each
// minute, half of them resumed, and ten REST writes a second. Constant are all of these rates. The first minutes warm up.
import { setTimeout } from 'node:timers/promises';
import { enlistAskers, withRest } from '../experiments/throughput.js';
import { columns, mib, ms, percent } from '../figures/figures.js';
import { atMost, watched } from '../figures/goals.js';
import { faultsOfGenerator } from '../figures/judge.js';
import type { Goal, Plot } from '../figures/result.js';
import type { RestPlayed } from '../generator/loads/rest.js';
import type { Load, Sample, SoakPiece, SoakPlayed, SoakSetup } from '../generator/loads/soak.js';
import { soon } from '../generator/player.js';
import { failuresOf } from '../generator/requests.js';
import { type Memory, readMemory } from '../machine/held-memory.js';
import { residentBytes } from '../machine/processes.js';
import type { Bench, Report } from '../scenario.js';
import type { Relay } from '../servers/relay.js';
import { enlist } from '../servers/users.js';

interface Plan {
  readonly ms: number;
  /** Before the first sample that counts: pools and memories that have a bound take their size. */
  readonly warmUpMs: number;
  readonly sampleMs: number;
  /** From the end of the warm-up on a collection is forced so often. */
  readonly collectMs: number;
}

const PLAN: Plan = { ms: 30 * 60_000, warmUpMs: 12 * 60_000, sampleMs: 10_000, collectMs: 60_000 };
/** A rehearsal: its slopes say nothing. */
const QUICK: Plan = { ms: 60_000, warmUpMs: 20_000, sampleMs: 2_000, collectMs: 10_000 };
const RADIOS = 1_000;
const LOAD: Load = {
  members: 20,
  voices: 5,
  burstFrames: 250,
  framesPerSecond: 50,
  payloadBytes: 60,
  leavesPerSecond: (0.05 * RADIOS) / 60,
  absentMs: 10_000,
};
const REST_PER_SECOND = 10;
const REST_USERS = 20;
const KIB_PER_MINUTE_MAX = 64;
/** Two in the time that counts. One in the moment of a sample is a radio on its way. */
const DESCRIPTORS_PER_MINUTE_MAX = 0.1;
const SETTINGS = { LOG_LEVEL: 'warn' };

interface Played extends SoakPlayed {
  readonly rest: RestPlayed;
  readonly collected: readonly Collected[];
}

/** Right behind a forced collection. */
interface Collected extends Memory {
  /** Since the piece began. */
  readonly atMs: number;
  readonly residentBytes: number;
}

export async function soak(bench: Bench): Promise<Report> {
  const plan = bench.isQuick ? QUICK : PLAN;
  const inspector = createInspectorLog();
  const options = { nodeFlags: ['--inspect=127.0.0.1:0'], onOutput: inspector.take };
  const play = async (relay: Relay): Promise<Played> => {
    const users = await enlist(relay, {
      users: RADIOS,
      talkgroups: Array.from({ length: RADIOS / LOAD.members }, () => 'open' as const),
      memberOf: (user) => [Math.floor(user / LOAD.members)],
    });
    const askers = await enlistAskers(relay, REST_USERS);
    const { url, dialect, pid } = relay;
    return withRest(bench, { relay, users: askers, mix: 'writes' }, (rest) =>
      bench.withPlayer<SoakSetup, SoakPiece, SoakPlayed, null, Played>(
        new URL('../generator/loads/soak.js', import.meta.url),
        { server: { url, dialect, pid }, users, load: LOAD },
        async (fleet) => {
          bench.progress(`${RADIOS} radios have joined: ${plan.ms / 60_000} min`);
          const [soaked, asked, collected] = await Promise.all([
            fleet.play({ ms: plan.ms, sampleMs: plan.sampleMs }),
            rest.play({ fromMs: soon(), ms: plan.ms, perSecond: REST_PER_SECOND }),
            collect({ inspectorUrl: inspector.url(), pid, plan, signal: bench.signal }),
          ]);
          return { ...soaked, rest: asked, collected };
        },
      ),
    );
  };
  const played = await bench.withRelay(SETTINGS, play, options);
  return report(plan, played, bench.isQuick);
}

/** What Node prints of its inspector. */
function createInspectorLog() {
  let log = '';
  return {
    take(text: string): void {
      if (log.length < 8_000) log += text;
    },
    url: () => /^Debugger listening on (\S+)$/m.exec(log)?.[1] ?? '',
  };
}

interface Collecting {
  readonly inspectorUrl: string;
  readonly pid: number;
  readonly plan: Plan;
  readonly signal: AbortSignal;
}

async function collect({ inspectorUrl, pid, plan, signal }: Collecting): Promise<Collected[]> {
  const fromMs = performance.now();
  const collected: Collected[] = [];
  for (let atMs = plan.warmUpMs; atMs < plan.ms; atMs += plan.collectMs) {
    // Not held up by it: a fleet or a server that failed meanwhile ends the run.
    await setTimeout(fromMs + atMs - performance.now(), undefined, { signal, ref: false });
    const memory = await readMemory(inspectorUrl);
    collected.push({ atMs, ...memory, residentBytes: residentBytes(pid).all });
  }
  return collected;
}

/** Per minute, behind the warm-up. */
interface Slopes {
  /** Of the resident set, right behind a collection. */
  readonly bytes: number;
  /** Of what JavaScript holds then, on both threads. */
  readonly heldBytes: number;
  readonly descriptors: number;
}

function slopesOf({ samples, collected }: Played, { warmUpMs }: Plan): Slopes {
  const slope = <One extends { readonly atMs: number }>(all: readonly One[], of: (one: One) => number) =>
    slopeOf(all.map((one) => [one.atMs / 60_000, of(one)]));
  const counted = samples.filter(({ atMs }) => atMs >= warmUpMs);
  return {
    bytes: slope(collected, ({ residentBytes }) => residentBytes),
    heldBytes: slope(collected, heldIn),
    descriptors: slope(counted, ({ otherDescriptors }) => otherDescriptors),
  };
}

const heldIn = ({ main, relay }: Memory) => main.heap + main.external + relay.heap + relay.external;

/** Of the straight line with the least squares of distances in y. */
function slopeOf(points: readonly (readonly [x: number, y: number])[]): number {
  const mean = (of: (point: readonly [number, number]) => number) =>
    points.reduce((sum, point) => sum + of(point), 0) / points.length;
  const meanX = mean(([x]) => x);
  const meanY = mean(([, y]) => y);
  return mean(([x, y]) => (x - meanX) * (y - meanY)) / mean(([x]) => (x - meanX) ** 2);
}

function report(plan: Plan, played: Played, isRehearsal: boolean): Report {
  const slopes = slopesOf(played, plan);
  const faults = faultsOf(played);
  const goals = goalsOf(slopes, faults, isRehearsal);
  return {
    lines: linesOf(plan, played),
    faults,
    goals,
    plots: plotsOf(played),
    details: {
      load: { ...LOAD, ...plan, radios: RADIOS, restPerSecond: REST_PER_SECOND },
      settings: SETTINGS,
      ...played,
    },
  };
}

function faultsOf({ lost, repeated, resuming, resumed, ...played }: Played): string[] {
  const failed = failuresOf(played.rest.sent);
  return [
    ...(lost + repeated > 0 ? [`${lost} deliveries lost, ${repeated} heard again or too late`] : []),
    ...(resumed < resuming ? [`${resuming - resumed} of ${resuming} sessions were not resumed`] : []),
    ...(failed > 0 ? [`${failed} REST requests failed`] : []),
    ...faultsOfGenerator(played),
  ];
}

function goalsOf(
  { bytes, heldBytes, descriptors }: Slopes,
  faults: readonly string[],
  isRehearsal: boolean,
): Goal[] {
  const judged = isRehearsal ? null : faults;
  return [
    atMost(
      watched('growth of server memory, garbage collected', bytes / 1024, 'KiB/min'),
      KIB_PER_MINUTE_MAX,
      judged,
    ),
    watched('of it, what JavaScript holds', heldBytes / 1024, 'KiB/min'),
    atMost(watched('growth of descriptors', descriptors, '/min'), DESCRIPTORS_PER_MINUTE_MAX, judged),
  ];
}

function linesOf(plan: Plan, played: Played): string[] {
  const line = columns(38, 16);
  const first = played.samples.find(({ atMs }) => atMs >= plan.warmUpMs);
  const last = played.samples.at(-1);
  const [firstHeld, lastHeld] = [played.collected[0], played.collected.at(-1)];
  const both = (of: (one: Collected) => number) =>
    [firstHeld, lastHeld].map((one) => mib(one === undefined ? Number.NaN : of(one)));
  return [
    line('', 'after warm-up', 'at the end'),
    line('server memory, garbage collected', ...both(({ residentBytes }) => residentBytes)),
    line('of it, held by JavaScript', ...both(heldIn)),
    line(
      'server memory as it was',
      ...[first, last].map((sample) => mib(sample?.residentBytes ?? Number.NaN)),
    ),
    line('descriptors beside the radios', ...[first, last].map((sample) => `${sample?.otherDescriptors}`)),
    line('frames sent, deliveries to check', `${played.framesSent}`, `${played.deliveries}`),
    line('lost, heard again or too late', `${played.lost}`, `${played.repeated}`),
    line('came back, resumed and anew', `${played.resumed} of ${played.resuming}`, `${played.anew}`),
    line('REST requests, p99', `${played.rest.sent.requests}`, ms(played.rest.sent.latency.p99Ms)),
    line('generator', percent(played.generatorShare)),
    '',
    `load: ${RADIOS} radios, ${LOAD.members} in a talkgroup, talk in ${LOAD.voices} of them at once, ${Math.round(60 * LOAD.leavesPerSecond)} radios a minute`,
    `leave for ${LOAD.absentMs / 1000} s, ${REST_PER_SECOND} REST writes a second; ${plan.ms / 60_000} min, least squares over all but the first ${plan.warmUpMs / 60_000} min`,
  ];
}

function plotsOf({ samples, collected }: Played): Plot[] {
  const x = { label: 'time', unit: 'min', scale: 'linear' } as const;
  const points = (of: (sample: Sample) => number) =>
    samples.map((sample) => [sample.atMs / 60_000, of(sample)] as const);
  return [
    {
      kind: 'curve',
      title: 'Server memory',
      note: 'Level is good; teeth are the garbage collector, forced once a minute from the end of the warm-up on.',
      x,
      y: { label: 'resident set', unit: 'MiB', scale: 'linear' },
      series: [
        { name: 'as it was', points: points(({ residentBytes }) => residentBytes / 2 ** 20) },
        {
          name: 'right behind a collection',
          points: collected.map(
            ({ atMs, residentBytes }) => [atMs / 60_000, residentBytes / 2 ** 20] as const,
          ),
        },
      ],
    },
    {
      kind: 'curve',
      title: 'Descriptors beside the radios',
      note: 'All that the server holds open, less the radios that are connected.',
      x,
      y: { label: 'descriptors', unit: '', scale: 'linear' },
      series: [{ name: 'RELAY_THREADS=1', points: points(({ otherDescriptors }) => otherDescriptors) }],
    },
  ];
}
