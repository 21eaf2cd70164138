// All results as one page that stands alone: a table of every goal, then each scenario with its plots. No script, no network.
import { writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
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

/** Reads every result in the folder and writes `index.html` beside them; returns where. */
export async function writePage(resultsDir: string): Promise<string> {
  const file = join(resultsDir, 'index.html');
  await writeFile(file, pageOf(await readResults(resultsDir)));
  return file;
}

/** The whole document. */
export function pageOf({ results, unreadable }: Results): string {
  const ordered = inOrder(results);
  const looks = chooseLooks(ordered.flatMap(({ plots }) => plots));
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
${masthead(ordered)}
${tallyOf(ordered)}
${ordered.length > 1 ? summary(ordered) : null}
${READING}
${unreadable.length > 0 ? leftOut(unreadable) : null}
${ordered.map((result) => sectionOf(result, looks))}
</body>
</html>
`;
  return markup;
}

/** As ABOUT has them; whatever it does not know comes last. */
function inOrder(results: readonly Result[]): Result[] {
  const names = Object.keys(ABOUT);
  const place = ({ scenario }: Result) => (names.indexOf(scenario) + names.length + 1) % (names.length + 1);
  return results.toSorted((a, b) => place(a) - place(b));
}

/** Said once of all runs where it is the same for all. */
function masthead(results: readonly Result[]): Html {
  const days = results.map(({ startedAt }) => startedAt.slice(0, 10)).sort();
  const [first, last] = [days[0], days.at(-1)];
  const machines = new Set(results.flatMap((result) => factsOf(result).get('machine') ?? []));
  const [machine, ...others] = machines;
  if (first === undefined || last === undefined)
    return html`<p>No results yet: <b>make bench</b> writes some.</p>`;
  return html`<p class="soft">${results.length} ${results.length === 1 ? 'scenario' : 'scenarios'}, measured ${
    first === last ? `on ${first}` : `from ${first} to ${last}`
  } ${others.length === 0 ? `on ${machine ?? 'an unknown machine'}` : `on ${machines.size} different machines`}. Ratios are taken inside one run; figures of different machines do not compare.</p>`;
}

/** How many goals have which verdict. */
function tallyOf(results: readonly Result[]): Html {
  const counts = countVerdicts(results);
  return html`<ul class="tally">${counts.map(([verdict, count]) => html`<li><b>${count}</b> ${badge(verdict)}</li>`)}</ul>`;
}

/** In the order of MARKS; what does not occur is left out. */
function countVerdicts(results: readonly Result[]): [Verdict, number][] {
  const verdicts = results.flatMap((result) => result.goals.map((goal) => verdictOf(goal, result)));
  return (Object.keys(MARKS) as Verdict[])
    .map((verdict): [Verdict, number] => [verdict, verdicts.filter((one) => one === verdict).length])
    .filter(([, count]) => count > 0);
}

/** A shape beside the word, for whoever sees no colour. */
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

function summary(results: readonly Result[]): Html {
  return html`<table>
${HEADINGS}
${results.map(
  (result) => html`<tbody>
<tr><th colspan="6"><a href="#${result.scenario}">${titleOf(result)}</a> ${quickMark(result)}</th></tr>
${rowsOf(result)}
</tbody>`,
)}
</table>`;
}

const HEADINGS = html`<colgroup><col class="goal"></colgroup>
<thead><tr><th>goal</th><th class="number">figure</th><th class="number">quartiles</th><th class="number">target</th><th>against target</th><th>verdict</th></tr></thead>`;

const titleOf = ({ scenario }: Result) => ABOUT[scenario]?.title ?? scenario;

const quickMark = ({ isQuick }: Result): Html | null =>
  isQuick ? html`<span class="quick">quick look: a small load, no result</span>` : null;

function rowsOf(result: Result): Html[] {
  if (result.goals.length === 0) return [html`<tr><td colspan="6" class="soft">no goals</td></tr>`];
  return result.goals.map((goal) => rowOf(goal, verdictOf(goal, result)));
}

const rowOf = (goal: Goal, verdict: Verdict): Html => html`<tr>
<td>${goal.name}</td>
<td class="number figure">${withUnit(goal.value, goal.unit)}</td>
<td class="number soft">${spreadOf(goal)}</td>
<td class="number">${targetOf(goal)}</td>
<td>${verdict === 'invalid' ? null : gauge(goal)}</td>
<td>${badge(verdict)}</td>
</tr>`;

const READING = html`<div class="reading">
<p><b>Latency</b> counts from when a frame or request <i>should</i> have left, not from when it did: what the sender owes to a slow server is in it. p99: 99 of 100 were faster.</p>
<p><b>Quartiles</b> are those of the pairs or parts of one run: half of them lay between. A change within them is noise.</p>
<p><b>Against target</b>: the upright line is the target, the dot the figure, the band its quartiles; the shaded side is the good one.</p>
<p><b>Percentile plots</b> are stretched to the right: from 90 to 99 is as far as from 99 to 99.9. A curve that stays flat treats its slowest deliveries like all others; “longest” is the slowest of all.</p>
<p><b>Whiskers</b> on bars reach from quartile to quartile. The same name has the same colour, dashes and symbol throughout.</p>
<p><b>invalid</b>: the run had a fault (a frame lost, a generator at its limit), so no figure of it says anything. <b>cannot be told</b>: the load was too small for the target, or the server beside ours failed. <b>watched</b>: a figure without a target.</p>
</div>`;

const leftOut = (unreadable: readonly Unreadable[]): Html =>
  html`<p class="soft">Left out: ${unreadable
    .map(({ file, why }) => `${basename(file)} (${why})`)
    .join(', ')}.</p>`;

function sectionOf(result: Result, looks: Looks): Html {
  const { scenario, faults, plots } = result;
  return html`<section id="${scenario}">
<header>
<h2>${titleOf(result)} ${quickMark(result)}</h2>
<p>${ABOUT[scenario]?.what ?? ''}</p>
<p>${countVerdicts([result]).map(([verdict, count]) => badge(verdict, count))}</p>
</header>
${faults.length > 0 ? faultsOf(faults) : null}
<table>${HEADINGS}<tbody>${rowsOf(result)}</tbody></table>
${plots.length > 0 ? html`<div class="plots">${plots.map((plot) => figureOf(plot, looks))}</div>` : null}
<dl class="facts">${[...factsOf(result)].map(([name, fact]) => html`<dt>${name}</dt><dd>${fact}</dd>`)}</dl>
</section>`;
}

const faultsOf = (
  faults: readonly string[],
): Html => html`<div class="faults">INVALID: nothing below may be believed
<ul>${faults.map((fault) => html`<li>${fault}</li>`)}</ul></div>`;

const figureOf = (plot: Plot, looks: Looks): Html => html`<figure>
<figcaption><h3>${plot.title}</h3><p>${plot.note}</p></figcaption>
${raw(drawPlot(plot, looks))}
</figure>`;

const RESULTS = 'bench/results';

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  console.log(`written to ${await writePage(process.argv[2] ?? RESULTS)}`);
}
