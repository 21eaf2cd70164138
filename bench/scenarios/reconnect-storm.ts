// Ten thousand radios lose their connection at once and come back, while others talk on. The load: talkgroups of 50 with
// a frame each second in each, and one talkgroup of 100 listeners with 50 frames/s that is not cut. Constant are who
// talks and the client library's waits. The numbers: until the last one hears again, and p99 of those who stayed.
import { setTimeout } from 'node:timers/promises';
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
import { around } from '../clock.js';
import { COUNTED_MS, countTransactions } from '../database.js';
import { columns, ms } from '../figures.js';
import { type Latency, mergeLatencies, percentilePoints } from '../histogram.js';
import type { AudienceHeard } from '../loads/audience.js';
import type { CallersEnded, CallersSetup } from '../loads/callers.js';
import type { StormPiece, StormPlayed, StormSetup } from '../loads/storm.js';
import { type Player, soon, withPlayer } from '../players.js';
import type { Goal, Plot } from '../result.js';
import type { Bench, Report } from '../scenario.js';
import { type Relay, withRelay } from '../server.js';
import { enlist, type Member } from '../users.js';
import { faultsOfDelivery, faultsOfGenerator, judge, linesOfFaults, linesOfGoals } from '../verdict.js';

interface Plan {
  readonly radios: number;
  /** Before the cut, so that what joining cost the database is counted by then. */
  readonly calmMs: number;
  /** From the cut: first as long as most need, then until the goal's time is over. */
  readonly windowsMs: readonly [number, number];
}

const PLAN: Plan = { radios: 10_000, calmMs: COUNTED_MS, windowsMs: [5_000, 17_000] };
/** A rehearsal. */
const QUICK: Plan = { radios: 500, calmMs: 1_000, windowsMs: [2_000, 2_000] };
/** Each a process; that one can set out while another reads. */
const GENERATORS = 2;
const MEMBERS = 50;
/** Callers talk in the talkgroups of the others, as dispatchers do; eight at once are allowed. */
const TALKGROUPS_PER_CALLER = 8;
const LISTENERS = 100;
const ARRIVALS_PER_SECOND = 2_000;
const BACK_S_MAX = 20;
const P99_MS_MAX = 50;
const SETTINGS = { LOG_LEVEL: 'warn' };

interface Fleet {
  readonly radios: readonly Member[];
  /** Who talk in the talkgroups of the radios. */
  readonly callers: readonly Member[];
}

interface Played {
  readonly storms: readonly StormPlayed[];
  readonly calm: AudienceHeard;
  readonly windows: readonly AudienceHeard[];
  /** To those who stay, from their first frame to their last. */
  readonly delivered: Delivered;
  readonly calls: CallersEnded;
  /** From the cut until the goal's time is over; the generators are those of the radios. */
  readonly surroundings: Surroundings;
  /** In the same time; null in a rehearsal, which does not wait for them to be counted. */
  readonly transactions: number | null;
}

export async function reconnectStorm(bench: Bench): Promise<Report> {
  const plan = bench.isQuick ? QUICK : PLAN;
  const options = { cores: bench.cores.server, signal: bench.signal, settings: SETTINGS };
  const played = await withRelay(options, async (relay) => {
    const fleet = await enlistFleet(relay, plan);
    return withPlayers(bench, relay, fleet, (players) => play(bench, plan, relay, players));
  });
  return report(plan, played);
}

async function enlistFleet(relay: Relay, { radios }: Plan): Promise<Fleet> {
  const groups = Math.ceil(radios / MEMBERS);
  const callers = Math.ceil(groups / TALKGROUPS_PER_CALLER);
  const users = await enlist(relay, {
    users: radios + callers,
    talkgroups: Array.from({ length: groups }, () => 'open' as const),
    memberOf(user) {
      if (user < radios) return [Math.floor(user / MEMBERS)];
      const first = (user - radios) * TALKGROUPS_PER_CALLER;
      return Array.from({ length: Math.min(TALKGROUPS_PER_CALLER, groups - first) }, (_, i) => first + i);
    },
  });
  return { radios: users.slice(0, radios), callers: users.slice(radios) };
}

interface Players {
  readonly audience: AudiencePlayer;
  readonly callers: Player<never, never, CallersEnded>;
  readonly storms: readonly Storm[];
}

type Storm = Player<StormPiece, StormPlayed, null>;

/** Calls `use` when all have joined. */
function withPlayers<T>(
  bench: Bench,
  relay: Relay,
  { radios, callers }: Fleet,
  use: (players: Players) => Promise<T>,
): Promise<T> {
  const { cores, signal, progress } = bench;
  const server = targetOf(relay);
  const options = { cores: cores.generator, signal };
  const each = Math.ceil(radios.length / GENERATORS);

  /** Those from `firstIndex` on, beside others. */
  function withStorms(
    firstIndex: number,
    others: readonly Storm[],
    then: (storms: readonly Storm[]) => Promise<T>,
  ): Promise<T> {
    const users = radios.slice(firstIndex, firstIndex + each);
    if (users.length === 0) return then(others);
    progress(`${users.length} radios join`);
    return withPlayer<StormSetup, StormPiece, StormPlayed, null, T>(
      new URL('../loads/storm.js', import.meta.url),
      { server, users, firstIndex, arrivalsPerSecond: ARRIVALS_PER_SECOND },
      options,
      (storm) => withStorms(firstIndex + each, [...others, storm], then),
    );
  }

  return withAudience(bench, { relay, listeners: LISTENERS }, (audience) =>
    withPlayer<CallersSetup, never, never, CallersEnded, T>(
      new URL('../loads/callers.js', import.meta.url),
      { server, callers, payloadBytes: AUDIENCE.payloadBytes },
      options,
      (callers) => withStorms(0, [], (storms) => use({ audience, callers, storms })),
    ),
  );
}

async function play(
  { signal, isQuick, progress }: Bench,
  { calmMs, windowsMs }: Plan,
  relay: Relay,
  { audience, callers, storms }: Players,
): Promise<Played> {
  const [firstMs, secondMs] = windowsMs;
  progress('calm');
  const calm = await audience.play({ fromMs: soon(), ms: calmMs });
  const before = isQuick ? null : await countTransactions(relay);
  progress('all are cut');
  const cutAtMs = soon();
  const endAtMs = cutAtMs + firstMs + secondMs;
  const watched = watch(relay);
  const listen = async () => {
    const first = await audience.play({ fromMs: cutAtMs, ms: firstMs });
    const fromMs = soon();
    return [first, await audience.play({ fromMs, ms: endAtMs - fromMs })];
  };
  const [windows, played] = await Promise.all([
    listen(),
    Promise.all(storms.map((storm) => storm.play({ cutAtMs, ms: firstMs + secondMs }))),
  ]);
  await around(endAtMs);
  const surroundings = watched(played);
  const [delivered, calls] = [await audience.end(), await callers.end()];
  if (before !== null) await setTimeout(COUNTED_MS, undefined, { signal });
  const transactions = before === null ? null : (await countTransactions(relay)) - before;
  return { storms: played, calm, windows, delivered, calls, surroundings, transactions };
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

function report(plan: Plan, played: Played): Report {
  const figures = figuresOf(played);
  const faults = faultsOf(plan, figures);
  const goals = goalsOf(plan, figures, faults);
  return {
    lines: linesOf({ plan, figures, faults, goals }),
    faults,
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

/** Two are promised, for as many radios as it is about; the others are watched. */
function goalsOf(plan: Plan, figures: Figures, faults: readonly string[]): Goal[] {
  const { radios, windowsMs } = plan;
  const { heardMs, survivorsP99Ms, surroundings, transactions, refused } = figures;
  const isBack = heardMs.length === radios;
  const endMs = windowsMs[0] + windowsMs[1];
  const backS = (isBack ? (heardMs.at(-1) ?? 0) : endMs) / 1000;
  const verdict = (isGood: boolean) => (plan === QUICK ? null : judge(faults, isGood));
  const watched = { isMet: null };
  return [
    {
      name: `last of ${radios} radios hears again`,
      value: backS,
      unit: 's',
      atMost: BACK_S_MAX,
      isMet: verdict(isBack && backS <= BACK_S_MAX),
    },
    {
      name: 'p99 of those who stayed, during the storm',
      value: survivorsP99Ms,
      unit: 'ms',
      atMost: P99_MS_MAX,
      isMet: verdict(survivorsP99Ms <= P99_MS_MAX),
    },
    ...(transactions === null
      ? []
      : [{ name: 'database transactions in the storm', value: transactions, unit: '', ...watched }]),
    {
      name: 'CPU of PostgreSQL per returning radio',
      value: (1000 * surroundings.databaseShare * endMs) / radios,
      unit: 'µs',
      ...watched,
    },
    { name: 'attempts closed with 1013', value: refused.get('1013') ?? 0, unit: '', ...watched },
  ];
}

interface Told {
  readonly plan: Plan;
  readonly figures: Figures;
  readonly faults: readonly string[];
  readonly goals: readonly Goal[];
}

function linesOf({ plan: { radios, windowsMs }, figures, faults, goals }: Told): string[] {
  return [
    ...linesOfFaults(faults),
    ...linesOfGoals(goals),
    '',
    ...linesOfRadios(figures, radios),
    ...linesOfSurvivors(figures, windowsMs),
    line('database transactions', `${figures.transactions ?? '-'}`),
    ...linesOfSurroundings(figures.surroundings, 'attempts'),
    '',
    `load: ${radios} radios, ${MEMBERS} in a talkgroup with one frame a second, dropped at once; they come back with`,
    `the client library's waits and their resume tokens. First frame: up to 1 s of it is the wait for that frame.`,
    `those who stay: ${LISTENERS} listeners, ${AUDIENCE.framesPerSecond} frames/s; p99 is the longer one of both windows`,
    'limits raised: none',
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
    {
      kind: 'percentiles',
      title: 'Latency of those who stayed',
      note: 'In the calm before the cut, and from the cut on.',
      series: [
        { name: 'calm', points: percentilePoints(calm.latency) },
        { name: 'storm', points: percentilePoints(storm) },
      ],
    },
  ];
}
