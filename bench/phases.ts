// From phases with and without a disturbance to ratios of pairs, and whether the others were left in peace.
import { linesOfRuns } from './conditions.js';
import { columns, mib, ms, type Quartiles, quartiles } from './figures.js';
import { generate } from './generator.js';
import type { DisturbanceTask, Load, Phase, Played } from './loads/disturbance.js';
import type { Bench, Report } from './scenario.js';
import { type Relay, withRelay } from './server.js';
import { enlist } from './users.js';
import { faultsOfDelivery, faultsOfGenerator, judge, linesOfFaults, wordOf } from './verdict.js';

/** One kind of disturbance, with a talkgroup and radios of its own. */
export interface Case {
  readonly name: string;
  readonly load: Load;
  readonly floorMode: 'open' | 'single';
  /** Who disturbs is in a talkgroup of its own. */
  readonly isElsewhere: boolean;
}

/** The most that the median of the pairs may be; null: any. */
export interface Targets {
  readonly p50: number | null;
  readonly p99: number;
}

/** How a case is told on the terminal, beside what all have in common: lines of a table, a cell for each case. */
export type Details = (played: Played, load: Load) => Readonly<Record<string, string>>;

export interface PhasesOptions {
  readonly cases: readonly Case[];
  readonly targets: Targets;
  readonly settings: Readonly<Record<string, string>>;
  readonly details: Details;
}

interface Run extends Case, Played {
  readonly ratios: { readonly p50: Quartiles; readonly p99: Quartiles };
}

/** Plays the cases one after the other on one server. */
export function playPhases(bench: Bench, options: PhasesOptions): Promise<Report> {
  const { cores, signal, progress } = bench;
  const { cases, targets, settings } = options;
  return withRelay({ cores: cores.server, signal, settings }, async (relay) => {
    const runs: Run[] = [];
    for (const one of cases) {
      progress(one.name);
      const played = await play(bench, relay, one);
      runs.push({ ...one, ratios: ratiosOf(played.phases, one.load), ...played });
    }
    const faults = runs.flatMap((run) => [
      ...faultsOfDelivery(run.delivered, run.name),
      ...faultsOfGenerator(run, run.name),
    ]);
    const isMet = judge(
      faults,
      runs.every(
        ({ ratios: { p50, p99 } }) =>
          p50.median <= (targets.p50 ?? Number.POSITIVE_INFINITY) && p99.median <= targets.p99,
      ),
    );
    return {
      lines: linesOf(runs, { ...options, faults, isMet }),
      result: { settings, faults, targets, isMet, runs },
    };
  });
}

async function play({ cores, signal }: Bench, relay: Relay, { load, ...one }: Case): Promise<Played> {
  const speaking = load.listeners + 1;
  const users = await enlist(relay, {
    users: speaking + load.disturbing,
    talkgroups: [one.floorMode, one.floorMode],
    memberOf: (user) => [user >= speaking && one.isElsewhere ? 1 : 0],
  });
  const { url, greets, pid } = relay;
  return generate<DisturbanceTask, Played>(
    new URL('./loads/disturbance.js', import.meta.url),
    {
      server: { url, greets, pid },
      users: users.slice(0, speaking),
      disturbing: users.slice(speaking),
      load,
    },
    { cores: cores.generator, signal },
  );
}

/** The n-th phases of two turns that are a pair, the turns 2n and 2n + 1, are compared. */
function ratiosOf(phases: readonly Phase[], { turnPhases }: Load): Run['ratios'] {
  const ratios = phases.flatMap(({ isDisturbed, turn, p50Ms, p99Ms }, i) => {
    const other = phases[(turn ^ 1) * turnPhases + (i % turnPhases)];
    if (!isDisturbed || other === undefined) return [];
    return [{ p50: p50Ms / other.p50Ms, p99: p99Ms / other.p99Ms }];
  });
  // On a machine that stalls, a phase may pass without a delivery.
  const of = (key: 'p50' | 'p99') => quartiles(ratios.map((one) => one[key]).filter(Number.isFinite));
  return { p50: of('p50'), p99: of('p99') };
}

interface Told extends PhasesOptions {
  readonly faults: readonly string[];
  readonly isMet: boolean | null;
}

function linesOf(runs: readonly Run[], { targets, details, faults, isMet }: Told): string[] {
  const line = columns(30, 27);
  const each = (name: string, cell: (run: Run) => string) => line(name, ...runs.map(cell));
  const spread = ({ low, median, high }: Quartiles) =>
    `${median.toFixed(3)} (${low.toFixed(2)} to ${high.toFixed(2)})`;
  const named = runs.map((run) => details(run, run.load));
  return [
    ...linesOfFaults(faults),
    each('with / without, of the others', ({ name }) => name),
    each('p50, median of pairs', ({ ratios }) => spread(ratios.p50)),
    each('p99, median of pairs', ({ ratios }) => spread(ratios.p99)),
    `  target at most ${targets.p50 === null ? '' : `${targets.p50.toFixed(2)} and `}${targets.p99.toFixed(2)} (p99), all of them: ${wordOf(isMet)}`,
    '',
    each('p50 without', (run) => ms(run.without.p50Ms)),
    each('p50 with', (run) => ms(run.with.p50Ms)),
    each('p99 without', (run) => ms(run.without.p99Ms)),
    each('p99 with', (run) => ms(run.with.p99Ms)),
    each('longest without', (run) => ms(run.without.maxMs)),
    each('longest with', (run) => ms(run.with.maxMs)),
    each('pairs of phases', ({ phases }) => `${phases.length / 2}`),
    each('listeners, and who disturbs', ({ load }) => `${load.listeners} + ${load.disturbing}`),
    each('lost by the others', ({ delivered }) => `${delivered.lost}`),
    ...Object.keys(named[0] ?? {}).map((name) => line(name, ...named.map((cells) => cells[name] ?? ''))),
    each('server memory (RSS), before', (run) => mib(run.residentBytesBefore)),
    each('  most in a phase', ({ phases }) => mib(Math.max(...phases.map((phase) => phase.residentBytes)))),
    each('  after', (run) => mib(run.residentBytesAfter)),
    '',
    ...linesOfRuns(runs, 'frames'),
  ];
}
