// Prints the goals of all results as a Markdown table, for documents: `node dist/bench/report/table.js [FOLDER]`.
import { fileURLToPath } from 'node:url';
import { type Results, readResults, verdictOf } from './results.js';
import { spreadOf, targetOf, withUnit } from './wording.js';

/** A line for each goal, the first of a scenario linked to the file they come from; quick runs are none of them. */
export function tableOf({ results }: Results): string[] {
  const rows = results
    .filter(({ isQuick }) => !isQuick)
    .flatMap((result) =>
      result.goals.map((goal, i) => {
        const { scenario } = result;
        const source = i === 0 ? `[${scenario}](results/${scenario}.json)` : '';
        const figure = [withUnit(goal.value, goal.unit), spreadOf(goal)].filter(Boolean).join(', ');
        return `| ${source} | ${goal.name} | ${figure} | ${targetOf(goal)} | ${verdictOf(goal, result)} |`;
      }),
    );
  return ['| scenario | goal | figure, quartiles | target | |', '|---|---|---|---|---|', ...rows];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  console.log(tableOf(await readResults(process.argv[2] ?? 'bench/results')).join('\n'));
}
