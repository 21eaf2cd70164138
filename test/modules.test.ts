// The modules of src and bench: which may import which, no circles, and how large a file or a folder may be. Each wall
// is tried on made-up files that break it.
import t from 'tap';
import { readSource, type SourceFile, sourceFiles } from './helpers/source-files.js';

/**
 * The modules, and what each may import, types included. A module is a folder with the file of the same name beside it.
 * What belongs to no module is ground: any module may import it, and it builds the program from the modules.
 */
const modules: Readonly<Record<string, readonly string[]>> = {
  'src/auth': ['src/credentials', 'src/db', 'src/http'],
  'src/client/audio': ['src/client/clock', 'src/client/talking'],
  'src/client/clock': [],
  'src/client/connection': ['src/client/clock', 'src/protocol'],
  'src/client/emergencies': ['src/client/clock', 'src/client/connection', 'src/protocol'],
  'src/client/events': [],
  'src/client/hearing': ['src/client/clock', 'src/client/connection', 'src/protocol'],
  'src/client/node': ['src/client/radio'],
  'src/client/radio': [
    'src/client/audio',
    'src/client/clock',
    'src/client/connection',
    'src/client/emergencies',
    'src/client/events',
    'src/client/hearing',
    'src/client/talking',
    'src/protocol',
  ],
  'src/client/talking': ['src/client/clock', 'src/client/connection', 'src/client/events', 'src/protocol'],
  'src/client/terminal': [
    'src/client/audio',
    'src/client/connection',
    'src/client/hearing',
    'src/client/node',
    'src/client/radio',
    'src/protocol',
  ],
  'src/config': ['src/credentials', 'src/keys'],
  'src/credentials': [],
  'src/db': [],
  'src/devices': ['src/db', 'src/http'],
  'src/directory': ['src/db', 'src/protocol'],
  'src/docs': ['src/config', 'src/http', 'src/metrics', 'src/protocol'],
  'src/emergencies': ['src/db', 'src/http'],
  'src/gps': ['src/db', 'src/http', 'src/protocol'],
  'src/http': ['src/db'],
  'src/keys': ['src/db', 'src/http'],
  'src/metrics': ['src/auth', 'src/db', 'src/gps', 'src/http', 'src/relay/relay-side', 'src/tls'],
  'src/protocol': [],
  'src/relay/cluster': ['src/protocol', 'src/relay/delivery'],
  'src/relay/compose': [
    'src/auth',
    'src/config',
    'src/db',
    'src/directory',
    'src/emergencies',
    'src/gps',
    'src/protocol',
    'src/relay/cluster',
    'src/relay/hub',
    'src/relay/relay-side',
    'src/relay/requests',
    'src/relay/session',
    'src/relay/websocket',
    'src/tls',
  ],
  'src/relay/delivery': ['src/protocol', 'src/relay/figures'],
  'src/relay/emergencies': [
    'src/db',
    'src/directory',
    'src/protocol',
    'src/relay/delivery',
    'src/relay/floor',
    'src/relay/limits',
    'src/relay/members',
  ],
  'src/relay/figures': ['src/protocol'],
  'src/relay/floor': [
    'src/protocol',
    'src/relay/delivery',
    'src/relay/figures',
    'src/relay/limits',
    'src/relay/members',
  ],
  'src/relay/hub': [
    'src/db',
    'src/protocol',
    'src/relay/cluster',
    'src/relay/delivery',
    'src/relay/emergencies',
    'src/relay/figures',
    'src/relay/floor',
    'src/relay/members',
    'src/relay/presence',
    'src/relay/reception',
    'src/relay/requests',
    'src/relay/rights',
    'src/relay/session',
  ],
  'src/relay/limits': [],
  'src/relay/members': ['src/directory', 'src/protocol', 'src/relay/delivery', 'src/relay/limits'],
  'src/relay/presence': ['src/protocol', 'src/relay/delivery', 'src/relay/members'],
  'src/relay/reception': [
    'src/protocol',
    'src/relay/delivery',
    'src/relay/figures',
    'src/relay/members',
    'src/relay/presence',
  ],
  'src/relay/relay-side': ['src/db', 'src/gps', 'src/relay/hub', 'src/relay/websocket'],
  'src/relay/requests': [
    'src/protocol',
    'src/relay/delivery',
    'src/relay/emergencies',
    'src/relay/figures',
    'src/relay/floor',
    'src/relay/limits',
    'src/relay/members',
    'src/relay/presence',
    'src/relay/reception',
    'src/relay/session',
  ],
  'src/relay/rights': [
    'src/db',
    'src/directory',
    'src/protocol',
    'src/relay/delivery',
    'src/relay/floor',
    'src/relay/members',
  ],
  'src/relay/session': [
    'src/protocol',
    'src/relay/delivery',
    'src/relay/emergencies',
    'src/relay/figures',
    'src/relay/floor',
    'src/relay/limits',
    'src/relay/members',
    'src/relay/reception',
  ],
  'src/relay/threads': [
    'src/auth',
    'src/config',
    'src/db',
    'src/relay/compose',
    'src/relay/relay-side',
    'src/relay/websocket',
  ],
  'src/relay/websocket': [
    'src/protocol',
    'src/relay/delivery',
    'src/relay/figures',
    'src/relay/hub',
    'src/relay/limits',
    'src/tls',
  ],
  'src/talkgroups': ['src/db', 'src/http', 'src/protocol'],
  'src/tls': [],
  'bench/experiments': [
    'bench/figures',
    'bench/generator',
    'bench/machine',
    'bench/radios',
    'bench/scenario',
    'bench/servers',
  ],
  'bench/figures': [],
  'bench/generator': ['bench/figures', 'bench/machine', 'bench/radios', 'src/protocol'],
  'bench/machine': ['bench/figures'],
  'bench/radios': ['bench/figures', 'bench/machine', 'src/client/connection', 'src/protocol'],
  'bench/report': ['bench/figures'],
  'bench/scenario': ['bench/figures', 'bench/generator', 'bench/machine', 'bench/servers'],
  'bench/scenarios': [
    'bench/experiments',
    'bench/figures',
    'bench/generator',
    'bench/machine',
    'bench/radios',
    'bench/scenario',
    'bench/servers',
    'src/protocol',
  ],
  'bench/servers': ['bench/figures', 'bench/machine', 'bench/radios'],
};

const LINES_MAX = 300;
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
  t.strictSame(circlesIn(new Map(Object.entries(modules))), []);
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

t.test(`no file has more than ${LINES_MAX} lines, no folder more than ${FILES_MAX} files`, async (t) => {
  t.strictSame(tooLarge(files), []);
  const long = readSource('src/long.ts', '\n'.repeat(LINES_MAX + 1));
  const many = Array.from({ length: FILES_MAX + 1 }, (_, index) => readSource(`src/many/${index}.ts`, ''));
  const enough = many.slice(1).map(({ path }) => readSource(path.replace('many', 'enough'), ''));
  t.strictSame(tooLarge([long, ...many, ...enough]), [
    { path: 'src/long.ts', size: LINES_MAX + 1 },
    { path: 'src/many', size: FILES_MAX + 1 },
  ]);
});

/** The module that the file belongs to; undefined: the ground. */
function moduleOf(path: string): string | undefined {
  return Object.keys(modules)
    .filter((module) => path === `${module}.ts` || path.startsWith(`${module}/`))
    .sort((one, other) => other.length - one.length)[0];
}

/** As `file -> file`, each once. */
function breachesOf({ path, imports }: SourceFile): string[] {
  const own = moduleOf(path);
  if (own === undefined) return [];
  const wrong = imports.filter(({ from }) => {
    const other = moduleOf(from);
    return other !== undefined && other !== own && !modules[own]?.includes(other);
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

function tooLarge(some: readonly SourceFile[]): Size[] {
  const lines = some.map(({ path, text }) => ({ path, size: text.split('\n').length - 1, most: LINES_MAX }));
  const folders = some.map(({ path }) => path.slice(0, path.lastIndexOf('/')));
  const counts = [...new Set(folders)].map((path) => ({
    path,
    size: folders.filter((folder) => folder === path).length,
    most: FILES_MAX,
  }));
  return [...lines, ...counts]
    .filter(({ size, most }) => size > most)
    .map(({ path, size }) => ({ path, size }));
}
