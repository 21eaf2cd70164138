// The bench's page and comparison, from made-up results.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import t from 'tap';
import { doubtsOf, noiseOf, withDoubts } from '../../bench/figures/doubts.js';
import { linesOfGoals } from '../../bench/figures/judge.js';
import type { Goal, Plot } from '../../bench/figures/result.js';
import { ABOUT } from '../../bench/report/about.js';
import { changesBetween, linesOfComparison } from '../../bench/report/compare.js';
import { chooseLooks } from '../../bench/report/looks.js';
import { pageOf, RESULTS, writePage } from '../../bench/report/page.js';
import { type Result, readResults } from '../../bench/report/results.js';
import { linearScale, logScale, percentileScale } from '../../bench/report/scales.js';
import { readPage } from '../helpers/pages/pages.js';

const GOALS: readonly Goal[] = [
  { name: 'p99 relay latency', value: 8.63, low: 8.1, high: 9.2, unit: 'ms', isMet: null },
  {
    name: 'CPU per delivery, relay / bare',
    value: 1.02,
    low: 1,
    high: 1.04,
    unit: '',
    atMost: 1.05,
    isMet: true,
  },
  { name: 'requests answered', value: 900, unit: '/s', atLeast: 1000, isMet: false },
];

const PLOTS: readonly Plot[] = [
  {
    kind: 'percentiles',
    title: 'latency of all',
    note: 'lower is better',
    series: [
      {
        name: 'relay',
        points: [
          [0, 0.4],
          [50, 1],
          [99, 4],
          [99.9, 7],
          [100, 9],
        ],
      },
      {
        name: 'ws',
        points: [
          [0, 0.6],
          [50, 2],
          [99, 9],
          [99.9, 30],
          [100, 30],
        ],
      },
    ],
  },
  {
    kind: 'curve',
    title: 'as the rate grows',
    note: 'a line ends where frames were lost',
    x: { label: 'rate', unit: '/s', scale: 'log' },
    y: { label: 'p99', unit: 'ms', scale: 'linear' },
    series: [
      {
        name: 'relay',
        points: [
          [10, 1],
          [100, 2],
          [1000, 30],
        ],
      },
    ],
  },
  {
    kind: 'bars',
    title: 'cost of each',
    note: 'whiskers are quartiles',
    unit: 'µs',
    bars: [
      { name: 'relay', value: 12, low: 11, high: 13 },
      { name: 'ws', value: 29 },
    ],
  },
];

const resultOf = (some: Partial<Result>): Result => ({
  scenario: 'one-talker-1000',
  startedAt: '2026-01-02T03:04:05.678Z',
  isQuick: false,
  faults: [],
  doubts: [],
  noise: [],
  goals: GOALS,
  plots: PLOTS,
  rest: { machine: { cpu: 'a processor', cores: 2, node: 'v20', kernel: '6' }, load: { listeners: 1000 } },
  ...some,
});

const page = (...results: readonly Result[]) => pageOf({ results, unreadable: [] });

/** The one goal of a run. */
const figure = (goal: Partial<Goal>, faults: readonly string[] = []): Result =>
  resultOf({ faults, goals: [{ name: 'p99', value: 10, unit: 'ms', isMet: true, ...goal }] });

const judge = (a: Result, b: Result) => changesBetween(a, b)[0]?.judgement;

t.test('the page shows every goal, target and plot of every scenario', async (t) => {
  const shown = page(resultOf({}), resultOf({ scenario: 'of tomorrow' }));
  for (const part of [
    '8.63 ms',
    '8.10 to 9.20',
    'at most 1.050',
    'at least 1,000 /s',
    'NOT met',
    'watched',
  ]) {
    t.ok(shown.includes(part), part);
  }
  for (const { name } of GOALS)
    t.equal(shown.split(`<td>${name}</td>`).length, 5, `${name}: twice of each of two`);
  for (const { title, note } of PLOTS) t.ok(shown.includes(title) && shown.includes(note), title);
  t.equal(shown.split('<svg').length - shown.split('<svg class="gauge"').length, 6, 'three plots of each');
  t.ok(
    shown.includes('href="#of tomorrow"') && shown.includes('id="of tomorrow"'),
    'also of an unknown scenario',
  );
});

t.test('the page needs neither network nor script', async (t) => {
  const shown = page(resultOf({}));
  t.notMatch(shown, /https?:/);
  t.notMatch(shown, /<script|<link|<img|@import|url\(["']?(?!#)/);
});

t.test('what a result says cannot become markup', async (t) => {
  const evil = '<script>"&\'';
  const shown = page(
    resultOf({
      scenario: evil,
      faults: [evil],
      goals: [{ name: evil, value: 1, unit: evil, isMet: null }],
      plots: PLOTS.map((plot) => ({ ...plot, title: evil, note: evil })),
      rest: { load: { [evil]: evil } },
    }),
    resultOf({
      plots: [
        { kind: 'bars', title: '', note: '', unit: evil, bars: [{ name: evil, value: 1 }] },
        {
          kind: 'percentiles',
          title: '',
          note: '',
          series: [
            {
              name: evil,
              points: [
                [0, 1],
                [100, 2],
              ],
            },
          ],
        },
      ],
    }),
  );
  t.notMatch(shown, /<script/);
});

t.test('no figure of a run with a fault is called met', async (t) => {
  const shown = page(resultOf({ faults: ['3 deliveries lost'] }));
  t.match(shown, /3 deliveries lost/);
  t.notMatch(shown, /class="verdict (met|missed|watched)">. (met|NOT met|watched)<\/span><\/td>/);
});

t.test('times and rates of a doubtful run are not told anywhere, and its ratios are', async (t) => {
  const late = { late: { p99Ms: 107 }, othersShare: 0.03 };
  const noise = [noiseOf(late, 'frames', 211)];
  const doubts = doubtsOf(noise);
  t.strictSame(doubts, ['frames left 107.00 ms late (p99), and 211.00 ms were measured']);
  const goals: Goal[] = [
    { name: 'p99', value: 211, unit: 'ms', atMost: 300, isMet: true },
    { name: 'capacity', value: 9, unit: 'deliveries/s', atLeast: 10, isMet: false },
    { name: 'ratio', value: 1.02, unit: '', atMost: 1.05, isMet: true },
    { name: 'memory', value: 3, unit: 'KiB', atMost: 4, isMet: true },
  ];
  const told = withDoubts(goals, doubts);
  const wanted = ['cannot be told', 'cannot be told', 'met', 'met'];
  const words = (text: string) => /(cannot be told|met)$/.exec(text)?.[0];
  t.strictSame(linesOfGoals(told).map(words), wanted);
  const result = resultOf({ goals: told, doubts, noise, plots: [] });
  const shown = page(result);
  t.strictSame(
    [...shown.matchAll(/<span class="verdict \w+">. ([\w ]+)<\/span><\/td>/g)].map(([, word]) => word),
    wanted,
  );
  t.match(shown, /<b>1<\/b> <span class="invalid">\? doubtful/);
  t.match(shown, /DOUBTFUL: .*<li>frames left 107\.00 ms late/s);
  t.match(shown, /<dt>left late<\/dt><dd>frames 107\.00 ms \(p99\)<\/dd>/);
  const quiet = resultOf({ goals, plots: [] });
  t.strictSame(
    changesBetween(quiet, result).map(({ judgement, percent }) => [judgement, percent]),
    [
      ['not comparable', null],
      ['not comparable', null],
      ['within the noise', 0],
      ['within the noise', 0],
    ],
  );
  const lines = linesOfComparison(
    { results: [quiet], unreadable: [] },
    { results: [{ ...result, goals: told.slice(1) }], unreadable: [] },
  ).join('\n');
  t.match(lines, /B is DOUBTFUL: frames left/);
  t.match(lines, /not in B: 1 number$/m);
});

t.test('a late generator and a loud machine are doubts, beyond what a quiet one has', async (t) => {
  const at = (lateP99Ms: number, measured: number | null, othersShare = 0) =>
    doubtsOf([noiseOf({ late: { p99Ms: lateP99Ms }, othersShare }, 'frames', measured, 'run')]).length;
  t.equal(at(2, 3), 0, 'as late as timers are');
  t.equal(at(2.1, 11), 0, 'less than a fifth of what was measured');
  t.equal(at(2.1, 10), 1);
  t.equal(at(900, null), 0, 'no latency was measured');
  t.equal(at(0, null, 0.1), 0);
  t.equal(at(3, 10, 0.11), 2);
});

t.test('times of two machines are not compared', async (t) => {
  const own = { machine: { cpu: 'another', cores: 64, node: 'v20', kernel: '6' } };
  const [a, b] = [resultOf({ goals: GOALS }), resultOf({ goals: GOALS, rest: own })];
  for (const { a: goal, judgement } of changesBetween(a, b))
    t.equal(judgement === 'not comparable', ['ms', '/s'].includes(goal.unit), goal.name);
  const shown = page(a, { ...b, scenario: 'many-groups' });
  t.match(shown, /<li><b>B<\/b>: 64 cores of another/);
  t.match(shown, /<td class="soft">B<\/td>/);
});

t.test('own results have the reference beside them', async (t) => {
  const [own, reference] = [
    resultOf({}),
    resultOf({ goals: GOALS.map((goal) => ({ ...goal, value: 4321 })) }),
  ];
  const shown = pageOf({ results: [own], unreadable: [] }, [reference]);
  t.match(shown, /<th class="number">reference<\/th>/);
  t.equal(shown.split('>4,321').length - 1, GOALS.length);
});

t.test('old, cut and missing files are named and hide no others', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'bench-report-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const { rest, ...said } = resultOf({
    goals: [{ name: 'unmeasured', value: Number.NaN, unit: '', isMet: null }],
  });
  await writeFile(join(folder, 'good.json'), JSON.stringify({ ...said, ...rest }));
  await writeFile(join(folder, 'old.json'), JSON.stringify({ scenario: 'old', isMet: true }));
  await writeFile(join(folder, 'cut.json'), '{"scenario": "cu');
  const shown = await readFile(await writePage(folder), 'utf8');
  t.match(shown, /unmeasured<\/td>\n<td class="number figure">not measured/);
  t.match(shown, /old\.json \(it was written by an earlier bench/);
  t.match(shown, /cut\.json \(it is no JSON\)/);
  const lines = linesOfComparison(await readResults(folder), await readResults(join(folder, 'nowhere')));
  t.match(
    lines.join('\n'),
    /no scenario is in both\n.*only in A: one-talker-1000.*nowhere: there is no such file/s,
  );
});

t.test(
  'a change within the quartiles is noise however large, and one beyond them is none however small',
  async (t) => {
    const before = figure({ value: 10, low: 8, high: 14, atMost: 20 });
    t.equal(judge(before, figure({ value: 13, low: 12, high: 16, atMost: 20 })), 'within the noise');
    const exact = figure({ value: 10, low: 9.9, high: 10.1, atMost: 20 });
    t.equal(judge(exact, figure({ value: 9.7, low: 9.6, high: 9.8, atMost: 20 })), 'better');
    t.equal(judge(exact, figure({ value: 10.3, low: 10.2, high: 10.4, atMost: 20 })), 'worse');
    t.equal(judge(exact, figure({ value: 10.3, low: 10.2, high: 10.4 })), 'changed');
  },
);

t.test('without quartiles a change counts when it is more than a tenth', async (t) => {
  t.equal(judge(figure({ atLeast: 5 }), figure({ value: 10.9, atLeast: 5 })), 'within the noise');
  t.equal(judge(figure({ atLeast: 5 }), figure({ value: 11.1, atLeast: 5 })), 'better');
  t.equal(judge(figure({ value: 0, atMost: 0 }), figure({ value: 0, atMost: 0 })), 'within the noise');
  t.equal(judge(figure({ value: 0, atMost: 0 }), figure({ value: 1, atMost: 0 })), 'worse');
});

t.test('a run with a fault is better or worse than nothing', async (t) => {
  t.equal(judge(figure({}), figure({ value: 1 }, ['lost'])), 'untold');
  t.equal(judge(figure({}, ['lost']), figure({ value: 1 })), 'untold');
});

t.test('what was different about two runs is said before their figures', async (t) => {
  const other = resultOf({ rest: { load: { listeners: 500 } }, isQuick: true });
  const told = linesOfComparison(
    { results: [resultOf({})], unreadable: [] },
    { results: [other], unreadable: [] },
  );
  const said = told.join('\n');
  t.match(
    said,
    /B is a quick look.*DIFFERENT machine\.cpu.*DIFFERENT load\.listeners: A 1000, B 500.*p99 relay/s,
  );
});

t.test(
  'every value has its place between the ends of its axis, and a larger one lies beyond it',
  async () => {
    const positive = fc.double({ min: 1e-3, max: 1e7, noNaN: true });
    const share = fc.double({ min: 0, max: 100, noNaN: true });
    const scales = [
      fc.tuple(fc.constant(linearScale), fc.array(positive, { minLength: 1 })),
      fc.tuple(fc.constant(logScale), fc.array(positive, { minLength: 1 })),
      fc.tuple(fc.constant(percentileScale), fc.array(share, { minLength: 1 })),
    ];
    fc.assert(
      fc.property(fc.oneof(...scales), ([scaleOf, values]) => {
        const { place, min, max, ticks } = scaleOf(values);
        const places = values.toSorted((a, b) => a - b).map(place);
        const slack = (max - min) / 1e6;
        const isWithin = [...places, ...ticks.map(({ at }) => at)].every(
          (at) => at >= min - slack && at <= max + slack,
        );
        return (
          isWithin && ticks.length >= 2 && places.every((at, i) => i === 0 || at >= (places[i - 1] ?? 0))
        );
      }),
    );
  },
);

t.test('no two lines of a plot look alike, and a name looks the same in all of them', async () => {
  const names = fc.uniqueArray(fc.constantFrom('relay', 'a', 'b', 'c', 'd', 'e', 'f', 'g'), { minLength: 1 });
  fc.assert(
    fc.property(fc.array(names), (plots) => {
      const looks = chooseLooks(plots.map(plotOf));
      return plots.every((plot) => new Set(plot.map((name) => looks.get(name))).size === plot.length);
    }),
  );
});

const plotOf = (names: readonly string[]): Plot => ({
  kind: 'percentiles',
  title: '',
  note: '',
  series: names.map((name) => ({ name, points: [] })),
});

t.test(
  'the picture of the report is of the results that are there, and each of them has a title',
  async (t) => {
    const reference = await readResults(RESULTS);
    t.strictSame(
      reference.results.map(({ scenario }) => scenario).filter((scenario) => !(scenario in ABOUT)),
      [],
    );
    const [, said = ''] =
      /!\[First page of the report: (.+)\]\(report\.png\)/.exec(readPage('bench/README.md')) ?? [];
    t.match(said, /^\d+ scenarios, measured /, 'draw bench/report.png anew, and say here what it shows');
    t.ok(pageOf(reference).includes(`${said}.`), said);
  },
);
