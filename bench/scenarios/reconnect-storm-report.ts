// Reports a run of reconnect-storm: faults, goals, tables, plots.
import { AUDIENCE, linesOfSurroundings, type Surroundings } from '../experiments/beside.js';
import { noiseOf } from '../figures/doubts.js';
import { columns, ms } from '../figures/figures.js';
import { atMost, watched } from '../figures/goals.js';
import { type Latency, mergeLatencies } from '../figures/histogram.js';
import { faultsOfDelivery, faultsOfGenerator, judge } from '../figures/judge.js';
import { percentilesOf } from '../figures/plots.js';
import type { Goal, Plot } from '../figures/result.js';
import type { AudienceHeard } from '../generator/loads/audience.js';
import type { CallersEnded } from '../generator/loads/callers.js';
import type { StormPlayed } from '../generator/loads/storm.js';
import type { Delivered } from '../radios/channel.js';
import type { Report } from '../scenario.js';

export interface Plan {
  readonly radios: number;
  /** Before the cut, so that what joining cost the database is counted by then. */
  readonly calmMs: number;
  /** From the cut: first as long as most need, then until the goal's time is over. */
  readonly windowsMs: readonly [number, number];
}

export const MEMBERS = 50;
export const LISTENERS = 100;
const BACK_S_MAX = 20;
const P99_MS_MAX = 50;
export const SETTINGS = { LOG_LEVEL: 'warn' };

export interface Played {
  readonly storms: readonly StormPlayed[];
  readonly calm: AudienceHeard;
  readonly windows: readonly AudienceHeard[];
  /** To those who stay, from their first frame to their last. */
  readonly delivered: Delivered;
  readonly calls: CallersEnded;
  /** From the cut until the goal's time is over. The generators are those of the radios. */
  readonly surroundings: Surroundings;
  /** In the same time. null in a rehearsal, which does not wait for them to be counted. */
  readonly transactions: number | null;
}

/** What the lines, the goals and the plots say. */
interface Figures extends Played {
  /** In the order of time, of all radios. */
  readonly welcomedMs: readonly number[];
  readonly heardMs: readonly number[];
  readonly ready: number;
  readonly resumed: number;
  readonly attempts: number;
  readonly refused: ReadonlyMap<string, number>;
  readonly survivorsP99Ms: number;
}

function figuresOf(played: Played): Figures {
  const { storms, windows } = played;
  const sum = (of: (storm: StormPlayed) => number) => storms.reduce((all, storm) => all + of(storm), 0);
  const inOrder = (of: (storm: StormPlayed) => readonly number[]) => storms.flatMap(of).sort((a, b) => a - b);
  const refused = new Map<string, number>();
  for (const [how, count] of storms.flatMap((storm) => Object.entries(storm.refused))) {
    refused.set(how, (refused.get(how) ?? 0) + count);
  }
  return {
    ...played,
    welcomedMs: inOrder((storm) => storm.welcomedMs),
    heardMs: inOrder((storm) => storm.heardMs),
    ready: sum((storm) => storm.ready),
    resumed: sum((storm) => storm.resumed),
    attempts: sum((storm) => storm.attempts),
    refused,
    survivorsP99Ms: Math.max(...windows.map(({ latency }) => latency.p99Ms)),
  };
}

export function report(plan: Plan, played: Played): Report {
  const figures = figuresOf(played);
  const faults = faultsOf(plan, figures);
  const goals = goalsOf(plan, figures, faults);
  return {
    lines: linesOf(plan, figures),
    faults,
    noise: [noiseOf(figures.surroundings, 'attempts', figures.survivorsP99Ms)],
    goals,
    plots: plotsOf(figures),
    details: {
      load: { ...plan, membersOfATalkgroup: MEMBERS, listeners: LISTENERS, audience: AUDIENCE },
      settings: SETTINGS,
      ...figures,
      refused: Object.fromEntries(figures.refused),
      welcomedMs: undefined, // in the plot
      heardMs: undefined,
      storms: played.storms.map(({ welcomedMs: _, heardMs: __, ...storm }) => storm),
    },
  };
}

/** The radios' own generators may well be busy for a moment: that makes their times longer, never shorter. */
function faultsOf({ radios }: Plan, { ready, calm, windows, delivered }: Figures): string[] {
  return [
    ...(ready < radios ? [`${radios - ready} radios had heard nothing before the cut`] : []),
    ...[calm, ...windows].flatMap((heard) => faultsOfGenerator(heard, 'those who stay')),
    ...faultsOfDelivery(delivered, 'those who stay'),
  ];
}

/** Two are promised, for as many radios as it is about. The others are watched. */
function goalsOf(plan: Plan, figures: Figures, faults: readonly string[]): Goal[] {
  const { radios, windowsMs } = plan;
  const { heardMs, survivorsP99Ms, surroundings, transactions, refused } = figures;
  const isBack = heardMs.length === radios;
  const endMs = windowsMs[0] + windowsMs[1];
  const backS = (isBack ? (heardMs.at(-1) ?? 0) : endMs) / 1000;
  const isRehearsal = transactions === null;
  return [
    {
      ...watched(`last of ${radios} radios hears again`, backS, 's'),
      atMost: BACK_S_MAX,
      isMet: isRehearsal ? null : judge(faults, isBack && backS <= BACK_S_MAX),
    },
    atMost(
      watched('p99 of those who stayed, during the storm', survivorsP99Ms, 'ms'),
      P99_MS_MAX,
      isRehearsal ? null : faults,
    ),
    ...(transactions === null ? [] : [watched('database transactions in the storm', transactions, '')]),
    watched(
      'CPU of PostgreSQL per returning radio',
      (1000 * surroundings.databaseShare * endMs) / radios,
      'µs',
    ),
    watched('attempts closed with 1013', refused.get('1013') ?? 0, ''),
  ];
}

function linesOf({ radios, windowsMs }: Plan, figures: Figures): string[] {
  return [
    ...linesOfRadios(figures, radios),
    ...linesOfSurvivors(figures, windowsMs),
    line('database transactions', `${figures.transactions ?? '-'}`),
    ...linesOfSurroundings(figures.surroundings, 'attempts'),
    '',
    `load: ${radios} radios, ${MEMBERS} in a talkgroup with one frame a second, dropped at once; they come back with`,
    `the client library's waits and their resume tokens. First frame: up to 1 s of it is the wait for that frame.`,
    `those who stay: ${LISTENERS} listeners, ${AUDIENCE.framesPerSecond} frames/s; p99 is the longer one of both windows`,
  ];
}

const line = columns(38, 14);

/** When so many were there, of `times` in their order. */
function timeOf(times: readonly number[], count: number): string {
  const last = times[count - 1];
  return last === undefined ? 'not in time' : ms(last);
}

function linesOfRadios(
  { welcomedMs, heardMs, resumed, attempts, refused }: Figures,
  radios: number,
): string[] {
  const counts = [0.5, 0.99, 1].map((share) => Math.ceil(share * radios));
  const failures = [...refused].map(([how, count]) => `${count} × ${how}`);
  return [
    line('since the cut', 'half', '99 %', 'all'),
    line('  WELCOME', ...counts.map((count) => timeOf(welcomedMs, count))),
    line('  first frame', ...counts.map((count) => timeOf(heardMs, count))),
    line('radios back, of them resumed', `${heardMs.length}`, `${resumed}`),
    line('attempts', `${attempts}`),
    `  came to nothing: ${failures.join(', ') || 'none'}`,
  ];
}

function linesOfSurvivors(
  { calm, windows, delivered, calls }: Figures,
  [firstMs]: Plan['windowsMs'],
): string[] {
  const each = (name: string, figure: (latency: Latency) => number) =>
    line(name, ...[calm, ...windows].map(({ latency }) => ms(figure(latency))));
  return [
    line('those who stayed', 'calm', `first ${firstMs / 1000} s`, 'after'),
    each('  p50', ({ p50Ms }) => p50Ms),
    each('  p99', ({ p99Ms }) => p99Ms),
    each('  longest', ({ maxMs }) => maxMs),
    line('  lost', `${delivered.lost}`),
    line('calls left late, p99 and longest', ms(calls.late.p99Ms), ms(calls.late.maxMs)),
  ];
}

const CURVE_POINTS = 60;

function plotsOf({ welcomedMs, heardMs, calm, windows }: Figures): Plot[] {
  const back = (times: readonly number[]) =>
    Array.from({ length: CURVE_POINTS + 1 }, (_, i) => {
      const count = Math.round((i * times.length) / CURVE_POINTS);
      return [(times[Math.max(0, count - 1)] ?? 0) / 1000, count] as const;
    });
  const storm = mergeLatencies(windows.map(({ latency }) => latency));
  return [
    {
      kind: 'curve',
      title: 'Radios that are back',
      note: 'All were cut at 0; the distance between the lines is the wait for the next frame of the talkgroup.',
      x: { label: 'since the cut', unit: 's', scale: 'linear' },
      y: { label: 'radios', unit: '', scale: 'linear' },
      series: [
        { name: 'WELCOME', points: back(welcomedMs) },
        { name: 'first frame', points: back(heardMs) },
      ],
    },
    percentilesOf('Latency of those who stayed', 'In the calm before the cut, and from the cut on.', [
      ['calm', calm.latency],
      ['storm', storm],
    ]),
  ];
}
