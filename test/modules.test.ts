// The modules of src and bench: which may import which, no circles, and how large a file or a folder may be. Each wall
// is tried on made-up files that break it.
import t from 'tap';
import ts from 'typescript';
import { modules } from '../src/docs/modules.js';
import { readSource, type SourceFile, sourceFiles } from './helpers/code/source-files.js';

const LINES_MAX = 300;
/** Of a file that is one class: three quarters of its lines. */
const CLASS_LINES_MAX = 450;
const FILES_MAX = 25;

const files = [...sourceFiles('src'), ...sourceFiles('bench')];

t.test('a module imports only the modules that the table allows', async (t) => {
  t.strictSame(files.flatMap(breachesOf).sort(), []);
  const made = readSource('src/db/pages.ts', `import type { Page } from '../http/paging.js';`);
  t.strictSame(breachesOf(made), ['src/db/pages.ts -> src/http/paging.ts']);
  t.strictSame(breachesOf(readSource('src/db/pages.ts', `import './gate.js'; import '../ids.js';`)), []);
});

t.test('the table names only modules that exist, and its own rules make no circle', async (t) => {
  const found = new Set(files.map(({ path }) => moduleOf(path)));
  t.strictSame(
    Object.keys(modules).filter((module) => !found.has(module)),
    [],
  );
  t.strictSame(circlesIn(new Map(Object.entries(modules).map(([name, { imports }]) => [name, imports]))), []);
});

t.test('no file imports itself by way of others, not even for a type', async (t) => {
  t.strictSame(circlesIn(importsOf(files)), []);
  const made = [
    readSource('src/a.ts', `import type { B } from './b.js';`),
    readSource('src/b.ts', `export * from './c.js';`),
    readSource('src/c.ts', `type A = import('./a.js').A;`),
    readSource('src/d.ts', `import './a.js';`),
  ];
  t.strictSame(circlesIn(importsOf(made)), ['src/a.ts', 'src/b.ts', 'src/c.ts']);
});

t.test('no module imports itself by way of others, not even for a type', async (t) => {
  t.strictSame(circlesIn(byModule(files)), []);
  const made = [
    readSource('src/auth/tokens.ts', `import '../settings.js';`),
    readSource('src/settings.ts', `import type { Page } from './http/paging.js';`),
    readSource('src/http/guard.ts', `import '../auth/store.js';`),
  ];
  t.strictSame(circlesIn(importsOf(made)), [], 'the files themselves make none');
  t.strictSame(circlesIn(byModule(made)), ['src/auth', 'src/http', 'src/settings.ts']);
});

t.test(`no file has more than ${LINES_MAX} lines, or ${CLASS_LINES_MAX} when it is one class`, async (t) => {
  t.strictSame(tooLong(files), []);
  const file = (path: string, ...parts: string[]) => readSource(path, parts.join(''));
  const classOf = (lines: number) => `class Long {${'\n'.repeat(lines - 1)}}\n`;
  const long = file('src/long.ts', '\n'.repeat(LINES_MAX + 1));
  const longest = file('src/longest.ts', classOf(CLASS_LINES_MAX + 1));
  const two = file('src/two.ts', classOf(LINES_MAX), classOf(20));
  const beside = file('src/beside.ts', classOf(LINES_MAX), '\n'.repeat(101));
  t.strictSame(tooLong([file('src/class.ts', classOf(CLASS_LINES_MAX)), long, longest, two, beside]), [
    { path: 'src/long.ts', size: LINES_MAX + 1 },
    { path: 'src/longest.ts', size: CLASS_LINES_MAX + 1 },
    { path: 'src/two.ts', size: LINES_MAX + 20 },
    { path: 'src/beside.ts', size: LINES_MAX + 101 },
  ]);
});

t.test(`no folder has more than ${FILES_MAX} files`, async (t) => {
  t.strictSame(tooFull(files), []);
  const many = Array.from({ length: FILES_MAX + 1 }, (_, index) => readSource(`src/many/${index}.ts`, ''));
  const enough = many.slice(1).map(({ path }) => readSource(path.replace('many', 'enough'), ''));
  t.strictSame(tooFull([...many, ...enough]), [{ path: 'src/many', size: FILES_MAX + 1 }]);
});

/** The module that the file belongs to. undefined: the ground. */
function moduleOf(path: string): string | undefined {
  return Object.keys(modules)
    .filter((module) => path.replace(/x$/, '') === `${module}.ts` || path.startsWith(`${module}/`))
    .sort((one, other) => other.length - one.length)[0];
}

/** As `file -> file`, each once. */
function breachesOf({ path, imports }: SourceFile): string[] {
  const own = moduleOf(path);
  if (own === undefined) return [];
  const wrong = imports.filter(({ from }) => {
    const other = moduleOf(from);
    return other !== undefined && other !== own && !modules[own]?.imports.includes(other);
  });
  return [...new Set(wrong.map(({ from }) => `${path} -> ${from}`))];
}

/** By name the names it imports. */
type Graph = ReadonlyMap<string, Iterable<string>>;

const importsOf = (some: readonly SourceFile[]): Graph =>
  new Map(some.map(({ path, imports }) => [path, imports.map(({ from }) => from)]));

/** Modules as one node each, and files of the ground as one each. */
function byModule(some: readonly SourceFile[]): Graph {
  const nodeOf = (path: string) => moduleOf(path) ?? path;
  const graph = new Map<string, Set<string>>();
  for (const { path, imports } of some) {
    const node = nodeOf(path);
    const used = graph.get(node) ?? new Set();
    graph.set(node, used);
    for (const { from } of imports) if (nodeOf(from) !== node) used.add(nodeOf(from));
  }
  return graph;
}

/** Those from which a way leads back to themselves. */
function circlesIn(graph: Graph): string[] {
  const names = [...graph.keys()].sort();
  return names.filter((name) => {
    const reached = new Set(graph.get(name));
    for (const one of reached) for (const next of graph.get(one) ?? []) reached.add(next); // a Set goes on to what is added
    return reached.has(name);
  });
}

interface Size {
  readonly path: string;
  /** Lines of a file, files of a folder. */
  readonly size: number;
}

const linesOf = (text: string) => text.split('\n').length - 1;

function isOneClass({ tree, text }: SourceFile): boolean {
  const [only, ...others] = tree.statements.filter(ts.isClassDeclaration);
  return only !== undefined && others.length === 0 && linesOf(only.getText()) >= 0.75 * linesOf(text);
}

function tooLong(some: readonly SourceFile[]): Size[] {
  return some
    .filter((file) => linesOf(file.text) > (isOneClass(file) ? CLASS_LINES_MAX : LINES_MAX))
    .map(({ path, text }) => ({ path, size: linesOf(text) }));
}

function tooFull(some: readonly SourceFile[]): Size[] {
  const folders = some.map(({ path }) => path.slice(0, path.lastIndexOf('/')));
  return [...new Set(folders)]
    .map((path) => ({ path, size: folders.filter((folder) => folder === path).length }))
    .filter(({ size }) => size > FILES_MAX);
}
