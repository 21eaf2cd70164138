// Pages of docs/ that follow from code and results: their figures, the files they name, the shape of the decisions.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import t from 'tap';
import { PAGE, RESULTS, withFigures } from '../../bench/report/performance.js';
import { type Result, readResults } from '../../bench/report/results.js';

const DECISIONS = 'docs/decisions';
const decisions = readdirSync(DECISIONS).filter((file) => file !== 'README.md');

t.test(
  'the figures of docs/performance.md are those of the result files (else run `make docs`)',
  async (t) => {
    const page = readFileSync(PAGE, 'utf8');
    t.equal(withFigures(page, await readResults(RESULTS)), page);
  },
);

t.test('figures are drawn from valid full runs only', async (t) => {
  const draw = (results: readonly Result[], part: string) =>
    withFigures(`<!-- results: ${part} -->\nold\n<!-- end -->\n`, { results, unreadable: [] });
  const capacity = result('many-groups', 'capacity, relay', 100_000);
  const bundles = result('bundles', 'CPU per delivered frame, bundles of 60 ms / live', 0.5);

  t.match(draw([capacity, bundles], 'one-core'), '| live, plain text | 2,000 | 1,200 |');
  t.match(draw([capacity, bundles], 'one-core'), '| 60 ms bundles, plain text | 4,000 | 2,400 |');
  // 400 talkgroups of 49 listeners. A node is planned with 1,200, 920, 2,400 and 1,800 streams: 24, 18, 48 and 36 of them.
  t.match(
    draw([capacity, bundles], 'fleets'),
    '| 20,000 | 2 % | 400 | 19,600 | 1,019 Mbit/s | 17 | 23 | 9 | 12 |',
  );
  for (const spoiled of [
    { ...capacity, faults: ['lost'] },
    { ...capacity, isQuick: true },
  ]) {
    t.match(draw([spoiled, bundles], 'one-core'), 'this table is empty');
    t.match(draw([spoiled, bundles], 'answers'), /on one core, p99 within 20 ms \| no valid run \|/);
  }
  const nodes = result('cluster', 'estimate: deliveries per second, 3 nodes / 1, talkgroups of 50', 2.8);
  t.match(draw([nodes], 'relays'), 'talkgroups of 50 | 2.800 | [cluster](../bench/results/cluster.json) |');
  t.match(draw([nodes], 'relays'), '| no valid run | threads |', 'no link to a file that is not there');
  t.notMatch(draw([capacity, bundles], 'fleets'), 'old');
  t.throws(() => draw([], 'no-such-part'), /no-such-part/);
});

t.test('every decision has its number, date, status and four parts, and is listed', async (t) => {
  const index = readFileSync(`${DECISIONS}/README.md`, 'utf8');
  t.ok(decisions.length >= 21);
  for (const [at, file] of decisions.sort().entries()) {
    const number = String(at + 1).padStart(3, '0');
    const text = readFileSync(`${DECISIONS}/${file}`, 'utf8');
    const [, title = ''] = /^# \d{3}: (.+)$/m.exec(text) ?? [];
    const [, date = ''] =
      /^Date: (\d{4}-\d\d-\d\d)\. Status: (?:accepted|replaced by \d{3})\.$/m.exec(text) ?? [];
    t.match(file, new RegExp(`^${number}-[a-z0-9-]+\\.md$`));
    t.ok(text.startsWith(`# ${number}: `), file);
    t.strictSame(text.match(/^## .+$/gm), ['## Context', '## Choice', '## Rejected', '## Measurement'], file);
    t.ok(index.includes(`| [${number}](${file}) | ${title} | ${date} |`), `${file} is in the index`);
  }
});

t.test('every file of ours that architecture, decisions and security name exists', async (t) => {
  const pages = [
    'docs/architecture.md',
    'docs/security.md',
    ...decisions.map((file) => `${DECISIONS}/${file}`),
  ];
  for (const page of pages) {
    const text = readFileSync(page, 'utf8');
    for (const [, path = ''] of text.matchAll(/`((?:[a-z-]+\/)+[a-z-]+(?:\.test)?\.(?:ts|mjs|json))`/g))
      t.ok(existsSync(path) || existsSync(`src/${path}`), `${page}: ${path}`);
    for (const [, path = ''] of text.matchAll(/\]\(\.\.\/(test\/[^)]+)\)/g))
      t.ok(existsSync(path), `${page}: ${path}`);
  }
});

t.test(
  'the pictures of docs/architecture.md show the files of the steps beside them, in order',
  async (t) => {
    const page = readFileSync('docs/architecture.md', 'utf8');
    const pictures = [...page.matchAll(/^!\[.{20,}\]\((images\/.+\.svg)\)$([^#]*)/gm)];
    t.equal(pictures.length, 4);
    for (const [, picture = '', steps = ''] of pictures) {
      const shown = filesIn(readFileSync(`docs/${picture}`, 'utf8'));
      t.ok(shown.length > 10, picture);
      for (const path of shown) t.ok(existsSync(`src/${path}`), `${picture}: ${path}`);
      t.equal(firstOutOfOrder(shown, pathsIn(steps)), undefined, picture);
    }
    t.equal(firstOutOfOrder(['a', 'b', 'a'], ['a', 'x', 'b', 'a']), undefined);
    t.equal(firstOutOfOrder(['b', 'a'], ['a', 'b']), 'a');
  },
);

t.test('docs/architecture.md has at most 300 lines', async (t) => {
  t.ok(readFileSync('docs/architecture.md', 'utf8').trimEnd().split('\n').length <= 300);
});

t.test('a file that docs/architecture.md names without its folder exists in src', async (t) => {
  const names = new Set(
    readdirSync('src', { recursive: true, encoding: 'utf8' }).map((path) => basename(path)),
  );
  const page = readFileSync('docs/architecture.md', 'utf8');
  for (const [, name = ''] of page.matchAll(/`([a-z-]+\.ts)`/g)) t.ok(names.has(name), name);
});

t.test('every port that docs/architecture.md lists is an interface of its file', async (t) => {
  const page = readFileSync('docs/architecture.md', 'utf8');
  const [, table = ''] = /^\| port \| file \| implemented by \|\n\|.*\n((?:\|.*\n)+)/m.exec(page) ?? [];
  const rows = table.trim().split('\n');
  t.ok(rows.length > 5);
  for (const row of rows) {
    const [, names = '', files = ''] = row.split('|');
    const code = pathsIn(files)
      .map((path) => readFileSync(`src/${path}`, 'utf8'))
      .join('\n');
    for (const [, name = ''] of names.matchAll(/`(\w+)`/g))
      t.match(code, new RegExp(`^export interface ${name}\\b`, 'm'), name);
  }
});

const filesIn = (svg: string) =>
  [...svg.matchAll(/<text class="file"[^>]*>([^<]+)</g)].map(([, path = '']) => path);
const pathsIn = (text: string) => [...text.matchAll(/`([a-z/-]+\.ts)`/g)].map(([, path = '']) => path);

/** The first of `some` that does not follow the one before it in `all`. */
function firstOutOfOrder(some: readonly string[], all: readonly string[]): string | undefined {
  let from = 0;
  return some.find((one) => {
    const at = all.indexOf(one, from);
    from = at + 1;
    return at < 0;
  });
}

function result(scenario: string, name: string, value: number): Result {
  const goals = [{ name, value, unit: '', isMet: null }];
  return {
    scenario,
    startedAt: '2026-01-01T00:00:00Z',
    isQuick: false,
    faults: [],
    doubts: [],
    noise: [],
    goals,
    plots: [],
    rest: {},
  };
}
