// Prints the goals of all results as a Markdown table, for documents: `node dist/bench/report/table.js [FOLDER]`.
import { fileURLToPath } from 'node:url';
import type { Goal } from '../figures/result.js';
import { spreadOf, targetOf, withUnit } from '../figures/wording.js';
import { type Results, readResults, verdictOf } from './results.js';

/**
 * A line for the first goal of each scenario and for all with a target. A scenario without targets gets its first four
 * goals. The first line links to the file below `base`. Quick runs are left out.
 */
export function tableOf({ results }: Results, base = 'results/'): string[] {
  const rows = results
    .filter(({ isQuick }) => !isQuick)
    .flatMap((result) =>
      shownOf(result.goals).map((goal, i) => {
        const { scenario } = result;
        const source = i === 0 ? `[${scenario}](${base}${scenario}.json)` : '';
        const figure = [withUnit(goal.value, goal.unit), spreadOf(goal)].filter(Boolean).join(', ');
        return `| ${source} | ${goal.name} | ${figure} | ${targetOf(goal)} | ${verdictOf(goal, result)} |`;
      }),
    );
  return ['| scenario | goal | figure, quartiles | target | |', '|---|---|---|---|---|', ...rows];
}

const WATCHED_SHOWN = 4;

function shownOf(goals: readonly Goal[]): readonly Goal[] {
  const isPromised = ({ atMost, atLeast }: Goal) => atMost !== undefined || atLeast !== undefined;
  if (!goals.some(isPromised)) return goals.slice(0, WATCHED_SHOWN);
  return goals.filter((goal, i) => i === 0 || isPromised(goal));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  console.log(tableOf(await readResults(process.argv[2] ?? 'bench/results')).join('\n'));
}
