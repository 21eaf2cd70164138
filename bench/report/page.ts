// All results as one page that stands alone: contents, a table of every goal, then each scenario with its plots. No script, no
// network.
import { writeFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Goal, Plot } from '../figures/result.js';
import { spreadOf, targetOf, withUnit } from '../figures/wording.js';
import { ABOUT } from './about.js';
import { factsOf } from './facts.js';
import { gauge } from './gauge.js';
import { type Html, html, raw } from './html.js';
import { chooseLooks, type Looks } from './looks.js';
import { drawPlot } from './plots.js';
import {
  type Result,
  type Results,
  readResults,
  type Unreadable,
  type Verdict,
  verdictOf,
} from './results.js';
import { STYLE } from './style.js';

/** The reference, which the repository has. */
export const RESULTS = 'bench/results';

/** Reads every result in the folder and writes `index.html` beside them. Returns where. Own results have the reference beside. */
export async function writePage(resultsDir: string): Promise<string> {
  const file = join(resultsDir, 'index.html');
  const isReference = resolve(resultsDir) === resolve(RESULTS);
  const reference = isReference ? [] : (await readResults(RESULTS)).results;
  await writeFile(file, pageOf(await readResults(resultsDir), reference));
  return file;
}

/** The whole document. */
export function pageOf({ results, unreadable }: Results, reference: readonly Result[] = []): string {
  const ordered = inOrder(results);
  const looks = chooseLooks(ordered.flatMap(({ plots }) => plots));
  const beside = { machines: machinesOf(ordered), reference };
  const { markup } = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Talkgroup radio service: bench results</title>
<style>${raw(STYLE)}</style>
</head>
<body>
<h1>Talkgroup radio service: bench results</h1>
${masthead(ordered, beside)}
${tallyOf(ordered)}
${ordered.length > 1 ? contents(ordered) : null}
${ordered.length > 1 ? summary(ordered, beside) : null}
${READING}
${unreadable.length > 0 ? leftOut(unreadable) : null}
${ordered.map((result) => sectionOf(result, looks, beside))}
</body>
</html>
`;
  return markup;
}

/** As ABOUT has them. Whatever it does not know comes last. */
function inOrder(results: readonly Result[]): Result[] {
  const names = Object.keys(ABOUT);
  const place = ({ scenario }: Result) => (names.indexOf(scenario) + names.length + 1) % (names.length + 1);
  return results.toSorted((a, b) => place(a) - place(b));
}

/** What the rows of a table have beside them. */
interface Beside {
  /** A letter for each machine, in words. */
  readonly machines: ReadonlyMap<string, string>;
  readonly reference: readonly Result[];
}

const machineOf = (result: Result): string => factsOf(result).get('machine') ?? 'unknown';

function machinesOf(results: readonly Result[]): ReadonlyMap<string, string> {
  const names = [...new Set(results.map(machineOf))].sort();
  return new Map(names.map((name, at) => [name, String.fromCharCode(65 + (at % 26))]));
}

/** Said once of all runs where it is the same for all. */
function masthead(results: readonly Result[], { machines, reference }: Beside): Html {
  const days = results.map(({ startedAt }) => startedAt.slice(0, 10)).sort();
  const [first, last] = [days[0], days.at(-1)];
  const [machine] = machines.keys();
  if (first === undefined || last === undefined)
    return html`<p>No results yet: <b>make bench</b> writes some.</p>`;
  return html`<p class="soft">${results.length} ${results.length === 1 ? 'scenario' : 'scenarios'}, measured ${
    first === last ? `on ${first}` : `from ${first} to ${last}`
  } ${machines.size === 1 ? `on ${machine}` : `on ${machines.size} different machines`}. Ratios are taken inside one run; figures of different machines do not compare.</p>
${machines.size < 2 ? null : html`<ul class="soft">${[...machines].map(([name, letter]) => html`<li><b>${letter}</b>: ${name}</li>`)}</ul>`}
${reference.length === 0 ? null : html`<p class="soft"><b>reference</b>: the results that the repository has, of another time and perhaps another machine.</p>`}`;
}

/** In front: what there is, with what was decided of it. */
function contents(results: readonly Result[]): Html {
  return html`<nav><ul class="contents">${results.map(
    (result) =>
      html`<li><a href="#${result.scenario}">${titleOf(result)}</a> ${countVerdicts([result])
        .filter(([verdict]) => verdict !== 'watched')
        .map(([verdict, count]) => badge(verdict, count))} ${doubtMark(result)}</li>`,
  )}</ul></nav>`;
}

/** How many goals have which verdict. */
function tallyOf(results: readonly Result[]): Html {
  const counts = countVerdicts(results);
  const withDoubts = results.filter(({ doubts }) => doubts.length > 0).length;
  return html`<ul class="tally">${counts.map(([verdict, count]) => html`<li><b>${count}</b> ${badge(verdict)}</li>`)}${
    withDoubts === 0 ? null : html`<li><b>${withDoubts}</b> <span class="invalid">? doubtful</span></li>`
  }</ul>`;
}

/** In the order of MARKS. What does not occur is left out. */
function countVerdicts(results: readonly Result[]): [Verdict, number][] {
  const verdicts = results.flatMap((result) => result.goals.map((goal) => verdictOf(goal, result)));
  return (Object.keys(MARKS) as Verdict[])
    .map((verdict): [Verdict, number] => [verdict, verdicts.filter((one) => one === verdict).length])
    .filter(([, count]) => count > 0);
}

/** A shape beside the word, for readers who see no colour. */
const MARKS: Readonly<Record<Verdict, { readonly className: string; readonly mark: string }>> = {
  met: { className: 'met', mark: '✓' },
  'NOT met': { className: 'missed', mark: '✗' },
  invalid: { className: 'invalid', mark: '!' },
  'cannot be told': { className: 'invalid', mark: '?' },
  watched: { className: 'watched', mark: '·' },
};

function badge(verdict: Verdict, count?: number): Html {
  const { className, mark } = MARKS[verdict];
  return html`<span class="verdict ${className}">${mark} ${count === undefined ? '' : `${count} `}${verdict}</span>`;
}

function summary(results: readonly Result[], beside: Beside): Html {
  return html`<table>
${headings(beside)}
${results.map(
  (result) => html`<tbody>
<tr><th colspan="${columnsOf(beside)}"><a href="#${result.scenario}">${titleOf(result)}</a> ${marksOf(result)}</th></tr>
${rowsOf(result, beside)}
</tbody>`,
)}
</table>`;
}

/** Six, a letter where there are several machines, and the reference where it is beside. */
const columnsOf = ({ machines, reference }: Beside): number =>
  6 + (machines.size > 1 ? 1 : 0) + (reference.length > 0 ? 1 : 0);

const headings = ({ machines, reference }: Beside): Html => html`<colgroup><col class="goal"></colgroup>
<thead><tr><th>goal</th>${machines.size > 1 ? html`<th>machine</th>` : null}<th class="number">figure</th><th class="number">quartiles</th>${
  reference.length > 0 ? html`<th class="number">reference</th>` : null
}<th class="number">target</th><th>against target</th><th>verdict</th></tr></thead>`;

const titleOf = ({ scenario }: Result) => ABOUT[scenario]?.title ?? scenario;

const quickMark = ({ isQuick }: Result): Html | null =>
  isQuick ? html`<span class="quick">quick look: a small load, no result</span>` : null;

const doubtMark = ({ doubts }: Result): Html | null =>
  doubts.length > 0 ? html`<span class="quick">? doubtful</span>` : null;

const marksOf = (result: Result): readonly Html[] =>
  [quickMark(result), doubtMark(result)].filter((mark) => mark !== null);

/** What was decided comes before what is only watched. */
function rowsOf(result: Result, beside: Beside): Html[] {
  if (result.goals.length === 0)
    return [html`<tr><td colspan="${columnsOf(beside)}" class="soft">no goals</td></tr>`];
  const rows = result.goals.map((goal) => ({ goal, verdict: verdictOf(goal, result) }));
  return [
    ...rows.filter(({ verdict }) => verdict !== 'watched'),
    ...rows.filter(({ verdict }) => verdict === 'watched'),
  ].map(({ goal, verdict }) => rowOf({ goal, verdict, result }, beside));
}

interface Row {
  readonly goal: Goal;
  readonly verdict: Verdict;
  readonly result: Result;
}

const rowOf = ({ goal, verdict, result }: Row, { machines, reference }: Beside): Html => html`<tr>
<td>${goal.name}</td>
${machines.size > 1 ? html`<td class="soft">${machines.get(machineOf(result)) ?? ''}</td>` : null}<td class="number figure">${withUnit(goal.value, goal.unit)}</td>
<td class="number soft">${spreadOf(goal)}</td>
${reference.length > 0 ? html`<td class="number soft">${referenceOf(goal, result, reference)}</td>` : null}<td class="number">${targetOf(goal)}</td>
<td>${verdict === 'invalid' ? null : gauge(goal)}</td>
<td>${badge(verdict)}</td>
</tr>`;

function referenceOf({ name }: Goal, { scenario }: Result, reference: readonly Result[]): string {
  const goal = reference.find((one) => one.scenario === scenario)?.goals.find((one) => one.name === name);
  return goal === undefined ? '' : withUnit(goal.value, goal.unit);
}

const READING = html`<div class="reading">
<p><b>Latency</b> counts from when a frame or request <i>should</i> have left, not from when it did: what the sender owes to a slow server is in it. p99: 99 of 100 were faster.</p>
<p><b>Quartiles</b> are those of the pairs or parts of one run: half of them lay between. A change within them is noise.</p>
<p><b>Against target</b>: the upright line is the target, the dot the figure, the band its quartiles; the shaded side is the good one.</p>
<p><b>Percentile plots</b> are stretched to the right: from 90 to 99 is as far as from 99 to 99.9. A curve that stays flat treats its slowest deliveries like all others; “longest” is the slowest of all.</p>
<p><b>Whiskers</b> on bars reach from quartile to quartile. The same name has the same colour, dashes and symbol throughout.</p>
<p><b>invalid</b>: the run had a fault (a frame lost, a generator at its limit), so no figure of it says anything. <b>cannot be told</b>: the run is doubtful, the load was too small for the target, or the server beside ours failed. <b>doubtful</b>: the machine was not quiet, or the generator was late, so times and rates say nothing; ratios and memory do. <b>watched</b>: a figure without a target.</p>
</div>`;

const leftOut = (unreadable: readonly Unreadable[]): Html =>
  html`<p class="soft">Left out: ${unreadable
    .map(({ file, why }) => `${basename(file)} (${why})`)
    .join(', ')}.</p>`;

function sectionOf(result: Result, looks: Looks, beside: Beside): Html {
  const { scenario, faults, doubts, plots } = result;
  return html`<section id="${scenario}">
<header>
<h2>${titleOf(result)} ${marksOf(result)}</h2>
<p>${ABOUT[scenario]?.what ?? ''}</p>
<p>${countVerdicts([result]).map(([verdict, count]) => badge(verdict, count))}</p>
</header>
${faults.length > 0 ? faultsOf(faults) : null}
${doubts.length > 0 ? doubtsOf(doubts) : null}
<table>${headings(beside)}<tbody>${rowsOf(result, beside)}</tbody></table>
${plots.length > 0 ? html`<div class="plots">${plots.map((plot) => figureOf(plot, looks))}</div>` : null}
<dl class="facts">${[...factsOf(result)].map(([name, fact]) => html`<dt>${name}</dt><dd>${fact}</dd>`)}</dl>
</section>`;
}

const faultsOf = (
  faults: readonly string[],
): Html => html`<div class="faults">INVALID: nothing below may be believed
<ul>${faults.map((fault) => html`<li>${fault}</li>`)}</ul></div>`;

const doubtsOf = (
  doubts: readonly string[],
): Html => html`<div class="doubts">DOUBTFUL: times and rates below are not those of the server alone
<ul>${doubts.map((doubt) => html`<li>${doubt}</li>`)}</ul></div>`;

const figureOf = (plot: Plot, looks: Looks): Html => html`<figure>
<figcaption><h3>${plot.title}</h3><p>${plot.note}</p></figcaption>
${raw(drawPlot(plot, looks))}
</figure>`;

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  console.log(`written to ${await writePage(process.argv[2] ?? RESULTS)}`);
}
