// Raises the load of several servers in turns, in steps of one measure, until speech breaks on each of them.
import { faultsOfGenerator } from '../figures/judge.js';
import type { Step } from '../generator/loads/steps.js';
import { climb, type Rung } from './ladder.js';

/** A server that plays one step at a time. */
export interface Climber<Played extends Step> {
  readonly name: string;
  /** So many talkgroups at most can be active. */
  readonly talkersMax: number;
  readonly play: (talkers: number) => Promise<Played>;
}

/**
 * Why a server went no further. `speech`: a frame was lost, or came too late. `generator`: that was the limit before the server.
 * `load`: there was no larger one.
 */
export type End = 'speech' | 'generator' | 'load';

export interface Ascent<Played extends Step> {
  readonly name: string;
  /** The rate is in deliveries per second. */
  readonly rungs: readonly Rung<Played>[];
  readonly end: End;
}

export interface Speech {
  /** Deliveries per second that one talker makes. */
  readonly perTalker: number;
  readonly p99MsMax: number;
}

export const isHeard = ({ lost, latency, isWhole }: Step, { p99MsMax }: Speech): boolean =>
  lost === 0 && isWhole && latency.p99Ms <= p99MsMax;

/** A larger part of the longest p99 that is the generator's says more of the generator. */
const LATE_SHARE_MAX = 0.2;

/** Whether the generator was the limit of a step: it was full, or it was so late that speech broke. */
export const isGeneratorsLimit = (step: Step, speech: Speech): boolean =>
  faultsOfGenerator(step).length > 0 ||
  (!isHeard(step, speech) && step.late.p99Ms > LATE_SHARE_MAX * speech.p99MsMax);

/** One server alone, up to the first of these numbers of talkers at which speech breaks. */
export async function ascend<Played extends Step>(
  { talkersMax, play }: Climber<Played>,
  talkers: readonly number[],
  speech: Speech,
): Promise<readonly Rung<Played>[]> {
  return climb({
    perSecond: talkers.filter((count) => count <= talkersMax).map((count) => count * speech.perTalker),
    play: (perSecond) => play(Math.round(perSecond / speech.perTalker)),
    isGood: (played) => isHeard(played, speech) && !isGeneratorsLimit(played, speech),
  });
}

/** All of them, step by step, forth and back. One that is at its end plays no further step. */
export async function ascendInTurns<Played extends Step>(
  climbers: readonly Climber<Played>[],
  talkers: readonly number[],
  speech: Speech,
): Promise<readonly Ascent<Played>[]> {
  const rungs = new Map<Climber<Played>, Rung<Played>[]>(climbers.map((climber) => [climber, []]));
  const ends = new Map<Climber<Played>, End>();
  for (const [step, count] of talkers.entries()) {
    for (const climber of step % 2 === 0 ? climbers : climbers.toReversed()) {
      if (ends.has(climber)) continue;
      const [rung] = await ascend(climber, [count], speech);
      if (rung === undefined) ends.set(climber, 'load');
      else {
        rungs.get(climber)?.push(rung);
        if (!rung.isGood) ends.set(climber, isGeneratorsLimit(rung.played, speech) ? 'generator' : 'speech');
      }
    }
  }
  return climbers.map((climber) => ({
    name: climber.name,
    rungs: rungs.get(climber) ?? [],
    end: ends.get(climber) ?? 'load',
  }));
}
