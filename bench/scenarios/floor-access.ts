// How soon may one talk? Floor control in 1, 100 and 1,000 talkgroups: access time, and the first frame of a burst.
import { type AccessRun, faultsOfAccess, measureAccess } from '../experiments/access.js';
import { noiseOf } from '../figures/doubts.js';
import { columns, ms } from '../figures/figures.js';
import { atMost, watched } from '../figures/goals.js';
import type { Latency } from '../figures/histogram.js';
import { percentilesOf } from '../figures/plots.js';
import type { Goal, Plot } from '../figures/result.js';
import type { Load } from '../generator/loads/floor-access.js';
import { linesOfRuns } from '../machine/conditions.js';
import type { Bench, Report } from '../scenario.js';

const PAYLOAD_BYTES = 60;
/** One talkgroup needs many members, for a radio may begin 8 bursts in 10 s, and has one floor for all of them. */
const LOADS: readonly Load[] = [
  { talkgroups: 1, members: 40, burstsPerSecond: 20, bursts: 400, warmUpBursts: 40 },
  { talkgroups: 100, members: 4, burstsPerSecond: 200, bursts: 2400, warmUpBursts: 400 },
  { talkgroups: 1000, members: 4, burstsPerSecond: 200, bursts: 2400, warmUpBursts: 400 },
].map((load) => ({ ...load, payloadBytes: PAYLOAD_BYTES }));
const QUICK_LOADS: readonly Load[] = [
  {
    talkgroups: 100,
    members: 4,
    burstsPerSecond: 200,
    bursts: 500,
    warmUpBursts: 100,
    payloadBytes: PAYLOAD_BYTES,
  },
];
const SETTINGS = { LOG_LEVEL: 'warn' };
/** Of both numbers: the server's part of 300 ms, the rest of which belongs to radio links, codecs and buffers. */
const TARGET_MS = 10;

export async function floorAccess(bench: Bench): Promise<Report> {
  const runs: AccessRun[] = [];
  const loads = bench.isQuick ? QUICK_LOADS : LOADS;
  for (const load of loads) {
    const { talkgroups } = load;
    const name = talkgroups === 1 ? '1 talkgroup' : `${talkgroups.toLocaleString('en')} talkgroups`;
    runs.push(await measureAccess(bench, { name, load, settings: SETTINGS }));
  }
  const faults = runs.flatMap(faultsOfAccess);
  const goals = goalsOf(runs, faults);
  return {
    lines: linesOf(runs),
    faults,
    noise: runs.map((run) => noiseOf(run, 'bursts', run.access.p99Ms, run.name)),
    goals,
    plots: [
      plotOf(runs, {
        title: 'Access time',
        note: 'From when FLOOR_REQUEST should have left the talker to FLOOR_GRANTED in its hand.',
        latency: ({ access }) => access,
      }),
      plotOf(runs, {
        title: 'First frame of a burst',
        note: 'From when it should have left a talker who did not ask to when each listener had it in hand.',
        latency: ({ firstFrame }) => firstFrame,
      }),
    ],
    details: { load: loads, settings: SETTINGS, runs },
  };
}

function goalsOf(runs: readonly AccessRun[], faults: readonly string[]): Goal[] {
  const goal = (name: string, value: number) => atMost(watched(name, value, 'ms'), TARGET_MS, faults);
  return runs.flatMap(({ name, access, firstFrame }) => [
    goal(`access time p99, ${name}`, access.p99Ms),
    goal(`first frame p99, ${name}`, firstFrame.p99Ms),
  ]);
}

interface Told {
  readonly title: string;
  readonly note: string;
  readonly latency: (run: AccessRun) => Latency;
}

const plotOf = (runs: readonly AccessRun[], { title, note, latency }: Told): Plot =>
  percentilesOf(
    title,
    note,
    runs.map((run) => [run.name, latency(run)]),
  );

function linesOf(runs: readonly AccessRun[]): string[] {
  const line = columns(24, 18);
  const each = (name: string, cell: (run: AccessRun) => string) => line(name, ...runs.map(cell));
  const latency = (name: string, of: (run: AccessRun) => Latency) => [
    each(`${name} p50`, (run) => ms(of(run).p50Ms)),
    each(`${name} p95`, (run) => ms(of(run).p95Ms)),
    each(`${name}, longest`, (run) => ms(of(run).maxMs)),
  ];
  return [
    each('', ({ name }) => name),
    ...latency('access time', ({ access }) => access),
    ...latency('first frame', ({ firstFrame }) => firstFrame),
    each('requests granted', ({ access }) => `${access.count}`),
    each('first frames heard', ({ firstFrame }) => `${firstFrame.count}`),
    each('bursts a second', ({ load }) => `${load.burstsPerSecond}`),
    each('radios', ({ load }) => `${load.talkgroups * load.members}`),
    '',
    ...linesOfRuns(runs, 'bursts'),
    '',
    'to compare: 3GPP TS 22.179 gives the whole system 300 ms for 95 % of all requests (KPI 1, R-6.15.3.2-012)',
    'and 300 ms from mouth to ear for 95 % of all bursts (KPI 3, R-6.15.3.2-015)',
  ];
}
