// Tells what became of every frame and event while the load rose and fell, and how much later calls came through under load.
import { type Noise, noiseOf } from '../../figures/doubts.js';
import { columns, ms, percent } from '../../figures/figures.js';
import { atMost, watched } from '../../figures/goals.js';
import { mergeLatencies } from '../../figures/histogram.js';
import { faultsOfGenerator } from '../../figures/judge.js';
import type { Goal } from '../../figures/result.js';
import type { CallsPlayed } from '../../generator/loads/surges/calls.js';
import type { Passed, SurgesPlayed } from '../../generator/loads/surges/surges.js';
import type { Report } from '../../scenario.js';
import type { SurgesTold } from './surges.js';

/** How much later (ms, p99) a call may come under load: the longest window by default. */
const CALL_MS_MAX = 60;

export function reportOfSurges(told: SurgesTold): Pick<Report, 'lines' | 'goals' | 'noise' | 'details'> {
  return {
    lines: linesOf(told),
    goals: [...goalsOfAccount(told), ...goalsOfPassages(told), ...goalsOfCalls(told)],
    noise: noiseOfAll(told),
    details: { surges: { ...told } },
  };
}

/** Of the surges, and of the load beside the calls. Nothing that comes late in a doubtful run is excused. */
function goalsOfAccount({ surges, beside }: SurgesTold): Goal[] {
  const sum = (of: (played: SurgesPlayed) => number) => of(surges) + of(beside);
  const none = (name: string, of: (played: SurgesPlayed) => number) =>
    atMost(watched(`surges: ${name}`, sum(of), ''), 0, []);
  return [
    none('frames lost and not told', ({ untold }) => untold),
    none('frames repeated, out of order or outside of their burst', disordered),
    none('frames told as missed that were not', ({ overtold }) => overtold),
    none('LAG without a late frame', ({ wrongLags }) => wrongLags),
    none('event numbers missing or repeated', misnumbered),
    none('frames that the relay rejected', ({ sent, relayed }) => sent - relayed),
    watched(
      'surges: LAG told',
      sum(({ lags }) => lags),
      '',
    ),
    watched(
      'surges: frames told as missed',
      sum(({ missed }) => missed),
      '',
    ),
  ];
}

const disordered = ({ repeated, outOfOrder, misplaced }: SurgesPlayed) => repeated + outOfOrder + misplaced;
const misnumbered = ({ eventsMissing, eventsRepeated }: SurgesPlayed) => eventsMissing + eventsRepeated;

/** Deliveries per second that left the generator. */
const offered = ({ deliveries, ms }: Passed) => (1000 * deliveries) / ms;

function goalsOfPassages({ surges, heldSeconds }: SurgesTold): Goal[] {
  return [
    watched('surges: most that was offered', Math.max(...surges.passed.map(offered)), 'deliveries/s'),
    ...surges.passed.map(({ name, latency }) => watched(`surges: p99, ${name}`, latency.p99Ms, 'ms')),
    ...Object.entries(heldSeconds).map(([window, s]) =>
      watched(`surges: seconds with a window of ${window} ms`, s, ''),
    ),
  ];
}

function goalsOfCalls({ calls, beside }: SurgesTold): Goal[] {
  const failed = failuresOf(calls.alone) + failuresOf(calls.loaded);
  // What did not come through is in no percentile.
  const isOpen = failed > 0 || faultsOfGenerator(beside.conditions).length > 0;
  return [
    atMost(watched('calls: denied, unanswered or lost', failed, ''), 0, []),
    ...CALLS.map(([name, of]) => {
      const value = of(calls.loaded).p99Ms - of(calls.alone).p99Ms;
      const goal = watched(`calls: ${name}, p99 under load less without`, value, 'ms');
      return atMost(goal, CALL_MS_MAX, isOpen ? null : []);
    }),
  ];
}

const CALLS = [
  ['press to first frame', ({ pressed }: CallsPlayed) => pressed],
  ['first frame', ({ firstFrame }: CallsPlayed) => firstFrame],
  ['frame in an emergency', ({ emergency }: CallsPlayed) => emergency],
] as const;

const deniedOf = ({ deniedBy }: CallsPlayed) =>
  Object.values(deniedBy).reduce((sum, count) => sum + count, 0);
const failuresOf = (played: CallsPlayed) => deniedOf(played) + played.unanswered + played.lost;

function linesOf(told: SurgesTold): string[] {
  const { talkers, talkersMost, perTalker, surges, beside, heldSeconds, windowMs } = told;
  const line = columns(8, 12, 12, 12, 12, 10, 11, 14);
  const passed = [...surges.passed, ...beside.passed];
  const held = Object.entries(heldSeconds).map(([window, s]) => `${s.toFixed(1)} s with ${window} ms`);
  return [
    `surges, default settings; load 1 here is ${talkers} talkgroups (${talkers * perTalker} deliveries/s), at most ${talkersMost} talk`,
    line('', 'of load 1', 'deliveries/s', 'p50', 'p99', 'server', 'generator', 'late, p99'),
    ...passed.map((one) => {
      const { name, latency, late, serverShare, generatorShare } = one;
      return line(
        ...([name, (offered(one) / perTalker / talkers).toFixed(2), offered(one).toFixed(0)] as const),
        ...[ms(latency.p50Ms), ms(latency.p99Ms), percent(serverShare), percent(generatorShare)],
        ms(late.p99Ms),
      );
    }),
    `windows in the surges: ${held.join(', ')}; ${windowMs} ms beside the calls`,
    ...[surges, beside].map(
      (played, i) => `${i === 0 ? 'surges' : 'load beside the calls'}: ${wordsOf(played)}`,
    ),
    ...linesOfCalls(told),
  ];
}

function wordsOf(played: SurgesPlayed): string {
  const { sent, bursts, received, untold, lags, missed, wrongLags, stalls, snapshots, rejected } = played;
  return [
    `${sent} frames in ${bursts} bursts, ${received} deliveries`,
    `${untold} lost and not told, ${disordered(played)} in disorder`,
    `${lags} LAG (${wrongLags} wrong) for ${stalls} stalls with ${missed} frames, ${played.overtold} too many`,
    `${misnumbered(played)} events missing or repeated, ${snapshots} snapshots, ${rejected} rejections`,
  ].join('; ');
}

function linesOfCalls({ calls }: SurgesTold): string[] {
  const line = columns(24, 12, 12, 12, 12);
  const cells = (of: (played: CallsPlayed) => { readonly p50Ms: number; readonly p99Ms: number }) =>
    [calls.alone, calls.loaded].flatMap((played) => [ms(of(played).p50Ms), ms(of(played).p99Ms)]);
  const failures = Object.entries(calls).map(([name, played]) => {
    const { unanswered, lost, late } = played;
    return `${name}: ${deniedOf(played)} denied, ${unanswered} unanswered, ${lost} deliveries lost, left ${ms(late.p99Ms)} late (p99)`;
  });
  return [
    line('calls', 'alone p50', 'p99', 'loaded p50', 'p99'),
    ...CALLS.map(([name, of]) => line(name, ...cells(of))),
    ...failures,
  ];
}

/** The process with the calls is one of the generator. */
function noiseOfAll({ surges, beside, calls }: SurgesTold): Noise[] {
  const p99Of = ({ passed }: SurgesPlayed) => mergeLatencies(passed.map(({ latency }) => latency)).p99Ms;
  const othersShare = Math.max(0, beside.conditions.othersShare - calls.loaded.generatorShare);
  return [
    noiseOf(surges.conditions, 'frames', p99Of(surges), 'surges'),
    noiseOf({ ...beside.conditions, othersShare }, 'frames', p99Of(beside), 'load beside the calls'),
    noiseOf({ late: calls.loaded.late, othersShare }, 'calls', calls.loaded.emergency.p99Ms, 'calls'),
  ];
}
