// Turns phases with and without a disturbance into ratios of pairs, and judges the effect on the other radios.
import { noiseOf } from '../figures/doubts.js';
import { columns, mib, ms, type Quartiles, quartiles } from '../figures/figures.js';
import { faultsOfDelivery, faultsOfGenerator, judge } from '../figures/judge.js';
import { percentilesOf } from '../figures/plots.js';
import type { Bar, Goal, Plot } from '../figures/result.js';
import type { DisturbanceTask, Load, Phase, Played } from '../generator/loads/disturbance.js';
import { linesOfRuns } from '../machine/conditions.js';
import type { Bench, Report } from '../scenario.js';
import type { Relay } from '../servers/relay.js';
import { enlist } from '../servers/users.js';

/** One kind of disturbance, with a talkgroup and radios of its own. */
export interface Case {
  readonly name: string;
  readonly load: Load;
  readonly floorMode: 'open' | 'single';
  /** Who disturbs is in a talkgroup of its own. */
  readonly isElsewhere: boolean;
}

/** The most that the median of the pairs may be. null: any. */
export interface Targets {
  readonly p50: number | null;
  readonly p99: number;
}

/** What a scenario says of a case beside what all have in common. */
export interface Account {
  /** Lines of the terminal's table, a cell for each case. */
  readonly cells: Readonly<Record<string, string>>;
  /** Judged here. Names get the case's behind them. */
  readonly goals: readonly Omit<Goal, 'isMet'>[];
}

export interface PhasesOptions {
  readonly cases: readonly Case[];
  readonly targets: Targets;
  readonly settings: Readonly<Record<string, string>>;
  readonly accountOf: (played: Played, load: Load) => Account;
}

interface Run extends Case, Played {
  readonly ratios: { readonly p50: Quartiles; readonly p99: Quartiles };
}

/** Plays the cases one after the other on one server. */
export function playPhases(bench: Bench, options: PhasesOptions): Promise<Report> {
  const { cases, settings } = options;
  return bench.withRelay(settings, async (relay) => {
    const runs: Run[] = [];
    for (const one of cases) {
      bench.progress(one.name);
      const played = await play(bench, relay, one);
      runs.push({ ...one, ratios: ratiosOf(played.phases, one.load), ...played });
    }
    const faults = runs.flatMap((run) => [
      ...faultsOfDelivery(run.delivered, run.name),
      ...faultsOfGenerator(run, run.name),
    ]);
    const goals = runs.flatMap((run) => goalsOf(run, options)).map((goal) => judged(goal, faults));
    const load = cases.map(({ name, load }) => ({ name, ...load }));
    return {
      lines: linesOf(runs, options),
      faults,
      noise: runs.map((run) => noiseOf(run, 'frames', run.without.p99Ms, run.name)),
      goals,
      plots: plotsOf(runs),
      details: { load, settings, runs },
    };
  });
}

async function play(bench: Bench, relay: Relay, { load, ...one }: Case): Promise<Played> {
  const speaking = load.listeners + 1;
  const users = await enlist(relay, {
    users: speaking + load.disturbing,
    talkgroups: [one.floorMode, one.floorMode],
    memberOf: (user) => [user >= speaking && one.isElsewhere ? 1 : 0],
  });
  const { url, dialect, pid } = relay;
  return bench.generate<DisturbanceTask, Played>(
    new URL('../generator/loads/disturbance.js', import.meta.url),
    {
      server: { url, dialect, pid },
      users: users.slice(0, speaking),
      disturbing: users.slice(speaking),
      load,
    },
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

function goalsOf(run: Run, { targets, accountOf }: PhasesOptions): Omit<Goal, 'isMet'>[] {
  const ratio = (name: string, { low, median, high }: Quartiles, atMost: number | null) => ({
    name: `${name} of the others, with / without`,
    value: median,
    low,
    high,
    unit: '',
    ...(atMost !== null && { atMost }),
  });
  const goals = [
    ratio('p50', run.ratios.p50, targets.p50),
    ratio('p99', run.ratios.p99, targets.p99),
    ...accountOf(run, run.load).goals,
  ];
  return goals.map((goal) => ({ ...goal, name: `${goal.name}: ${run.name}` }));
}

function judged(goal: Omit<Goal, 'isMet'>, faults: readonly string[]): Goal {
  const { value, atMost } = goal;
  return { ...goal, isMet: atMost === undefined ? null : judge(faults, value <= atMost) };
}

function plotsOf(runs: readonly Run[]): Plot[] {
  const bars = runs.flatMap(({ name, ratios }): Bar[] => [
    { name: `${name}: p50`, value: ratios.p50.median, low: ratios.p50.low, high: ratios.p50.high },
    { name: `${name}: p99`, value: ratios.p99.median, low: ratios.p99.low, high: ratios.p99.high },
  ]);
  return [
    {
      kind: 'bars',
      title: 'Latency of the others, with / without',
      note: '1: they notice nothing. Median of the pairs of phases; whiskers are their quartiles.',
      unit: '',
      bars,
    },
    ...runs.map(
      (run): Plot =>
        percentilesOf(
          `The others: ${run.name}`,
          'All phases with and all without; the nearer the lines, the better.',
          [
            ['with', run.with],
            ['without', run.without],
          ],
        ),
    ),
    {
      kind: 'curve',
      title: 'Memory of the server',
      note: 'Resident set at the end of each phase; what it keeps for those who disturb would show here.',
      x: { label: 'time measured', unit: 's', scale: 'linear' },
      y: { label: 'resident set', unit: 'MiB', scale: 'linear' },
      series: runs.map((run) => ({ name: run.name, points: memoryOf(run) })),
    },
  ];
}

const memoryOf = ({ load, phases }: Run) =>
  phases.map(({ residentBytes }, i): [number, number] => [
    ((i + 1) * load.phaseFrames) / load.framesPerSecond,
    residentBytes / 2 ** 20,
  ]);

function linesOf(runs: readonly Run[], { accountOf }: PhasesOptions): string[] {
  const line = columns(30, 27);
  const each = (name: string, cell: (run: Run) => string) => line(name, ...runs.map(cell));
  const cells = runs.map((run) => accountOf(run, run.load).cells);
  return [
    each('of the others', ({ name }) => name),
    each('p50 without', (run) => ms(run.without.p50Ms)),
    each('p50 with', (run) => ms(run.with.p50Ms)),
    each('p99 without', (run) => ms(run.without.p99Ms)),
    each('p99 with', (run) => ms(run.with.p99Ms)),
    each('longest without', (run) => ms(run.without.maxMs)),
    each('longest with', (run) => ms(run.with.maxMs)),
    each('pairs of phases', ({ phases }) => `${phases.length / 2}`),
    each('listeners, and who disturbs', ({ load }) => `${load.listeners} + ${load.disturbing}`),
    each('lost by the others', ({ delivered }) => `${delivered.lost}`),
    ...Object.keys(cells[0] ?? {}).map((name) => line(name, ...cells.map((of) => of[name] ?? ''))),
    each('server memory (RSS), before', (run) => mib(run.residentBytesBefore)),
    each('  most in a phase', ({ phases }) => mib(Math.max(...phases.map((phase) => phase.residentBytes)))),
    each('  after', (run) => mib(run.residentBytesAfter)),
    '',
    ...linesOfRuns(runs, 'frames'),
  ];
}
