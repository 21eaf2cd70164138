// Judges what a load measured: met, NOT met, or cannot be told.
import { doubtsOf, linesOfDoubts, noiseOf, withDoubts } from '../figures/doubts.js';
import { ms } from '../figures/figures.js';
import { atMost, watched } from '../figures/goals.js';
import type { Latency } from '../figures/histogram.js';
import { faultsOfGenerator, linesOfFaults, linesOfGoals } from '../figures/judge.js';
import type { Goal } from '../figures/result.js';
import { type Conditions, linesOfConditions } from '../machine/conditions.js';

/** What a load came to. */
export interface Played {
  /** Sessions without the first one, and how long they took to connect. */
  readonly sessions: number;
  readonly joinedMs: number;
  readonly bursts: number;
  readonly floorMsMax: number;
  /** Frames of all talkers. */
  readonly sent: number;
  /** Frames that each listener heard. */
  readonly byListener: readonly number[];
  readonly twice: number;
  /** Frames that the service skipped for listeners that it found too slow (LAG). */
  readonly skipped: number;
  /** Connections of listeners that ended while the load ran, by their reason. */
  readonly ended: Readonly<Record<string, number>>;
  readonly latency: Latency;
  /** Listeners that took the time. */
  readonly probes: number;
  readonly conditions: Conditions;
}

/** Half of the 300 ms from mouth to ear that 3GPP allows for mission critical push-to-talk (TS 22.179). */
const P99_MS_MAX = 150;

export interface Verdict {
  readonly word: 'met' | 'NOT met' | 'cannot be told';
  readonly faults: readonly string[];
  readonly doubts: readonly string[];
  readonly goals: readonly Goal[];
}

export function verdictOf(played: Played): Verdict {
  const { conditions, latency, skipped } = played;
  const p99Ms = latency.count > 0 ? latency.p99Ms : null;
  const faults = faultsOfGenerator(conditions);
  const doubts = doubtsOf([noiseOf(conditions, 'frames', p99Ms)]);
  const { lost } = lossOf(played);
  const loss = atMost(watched('frames lost', lost, ''), 0, faults);
  const goals = [
    ...withDoubts([atMost(watched('latency, p99', p99Ms ?? Number.NaN, 'ms'), P99_MS_MAX, faults)], doubts),
    // The service skips frames for a listener that answers no ping: behind a late generator it is none of its own.
    doubts.length > 0 && lost > 0 && skipped >= lost ? { ...loss, isMet: null } : loss,
  ];
  const word = goals.some(({ isMet }) => isMet === false)
    ? 'NOT met'
    : goals.some(({ isMet }) => isMet === null)
      ? 'cannot be told'
      : 'met';
  return { word, faults, doubts, goals };
}

/** Deliveries that did not come, over all listeners, and how they are spread. */
function lossOf({ sent, byListener }: Played) {
  const lost = byListener.map((heard) => sent - heard);
  return {
    lost: lost.reduce((sum, frames) => sum + frames, 0),
    losers: lost.filter((frames) => frames > 0).length,
    worst: lost.reduce((most, frames) => Math.max(most, frames), 0),
  };
}

/** For the terminal. */
export function linesOf(played: Played, { word, faults, doubts, goals }: Verdict): string[] {
  const { sessions, joinedMs, bursts, floorMsMax, sent, byListener, latency, probes, conditions } = played;
  const { lost, losers, worst } = lossOf(played);
  const number = (value: number) => value.toLocaleString('en');
  const ended = Object.entries(played.ended).map(([reason, count]) => `${count} ended: ${reason}`);
  return [
    ...linesOfFaults(faults),
    ...linesOfDoubts(doubts),
    ...linesOfGoals(goals),
    '',
    `${lineOfJoining(sessions, joinedMs)}, none refused`,
    `talk bursts: ${bursts}, the floor granted within ${ms(floorMsMax)}`,
    `latency: p50 ${ms(latency.p50Ms)}, p99 ${ms(latency.p99Ms)}, longest ${ms(latency.maxMs)}, one way, at ${number(probes)} of ${number(byListener.length)} listeners`,
    `loss: ${number(lost)} of ${number(sent * byListener.length)} frames; listeners that lost some: ${number(losers)}, the worst ${number(worst)} of ${number(sent)}`,
    ...(played.skipped > 0 ? [`skipped for slow listeners (LAG): ${number(played.skipped)} frames`] : []),
    ...(played.twice > 0 ? [`heard twice: ${number(played.twice)} frames`] : []),
    ...(ended.length > 0 ? [`connections: ${ended.join(', ')}`] : []),
    ...linesOfConditions(conditions, 'frames'),
    '',
    `verdict: ${word}`,
  ];
}

/** The first session came before the others, and is in no rate. */
export const lineOfJoining = (sessions: number, joinedMs: number): string =>
  `connected: ${(sessions + 1).toLocaleString('en')} sessions, ${Math.round((1000 * sessions) / joinedMs).toLocaleString('en')} per second`;
