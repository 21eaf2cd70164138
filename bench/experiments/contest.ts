// Plays a contest in a generator's process: several servers under the same load, turn by turn.
import type { Contest, ContestTask } from '../generator/loads/contest.js';
import { generateTogether } from '../generator/player.js';
import type { Bench } from '../scenario.js';

export const playContest = (
  bench: Pick<Bench, 'cores' | 'signal'>,
  task: Omit<ContestTask, 'helperCores'>,
): Promise<Contest> =>
  generateTogether<ContestTask, Contest>(
    new URL('../generator/loads/contest.js', import.meta.url),
    task,
    bench,
  );

/** The order of the servers, or whatever else takes turns, in each round: forth and back, so that drift meets all alike. */
export function forthAndBack(count: number, rounds: number): readonly (readonly number[])[] {
  const forth = Array.from({ length: count }, (_, index) => index);
  const back = forth.toReversed();
  return Array.from({ length: rounds }, (_, round) => (round % 2 === 0 ? forth : back));
}
