// Bundles the console into dist/console: the page, its workers and worklets, and each file packed beside it.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join, posix } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { type BuildOptions, build, type Metafile } from 'esbuild';
import { codecFile } from './codec-file.js';
import { KEPT, licensesOf } from './licenses.js';
import { sharedShell } from './shared-shell.js';

// From dist/src/console.
const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const SOURCE = join(ROOT, 'src/console');
const BUILT = join(ROOT, 'dist/console');
/** What the present files were made of. Beside the folder, which is served. */
const RECORD = join(ROOT, 'dist/console.json');

const PAGE = 'app/main.tsx';
const SHELL = 'shell/shell.tsx';
/** What a login loads: the shell with the first tab, the worker with the codec, the worklets. */
const LOGIN = [SHELL];
const WORKLETS = '../client/sound/worklets.ts';
const LOGIN_PARTS = ['shell/desk.css', 'worker/radio-worker.ts', WORKLETS];
/** Bundled by themselves. Those after the first one are loaded by the code that needs them. */
const STYLESHEETS = [
  ...['console.css', 'admin/admin.css', 'map/map.css', 'map/maplibre.css', 'phone/phone.css'],
  ...['recordings/recordings.css', 'settings/pages.css', 'shell/desk.css', 'talkgroups/tile-menu.css'],
];
/** What a browser installs the console with. Their names stay, because the browser keeps them. */
const INSTALL = 'install';
/** Of what the files have from others. */
const LICENSES = 'licenses.txt';
/** In front of the path of a file that a package has for Node alone. */
const LEFT_OUT = '(disabled):';
/** Files of this name run in scopes of their own, so each is bundled by itself, and so are the worklets of the client. */
const OWN_SCOPE = /(?:worker|worklets?)\.ts$/;

/** What a file costs to load (bytes, by gzip). */
export type BuiltFile = { name: string; gzipBytes: number };

export type BuiltConsole = {
  files: BuiltFile[];
  /** Loaded before the login can be used: the page, its stylesheet, and the scripts that it imports at once. */
  first: string[];
  /** Loaded with the login in addition. Other tabs load their own files when they are opened. */
  login: string[];
};

const options: BuildOptions = {
  absWorkingDir: ROOT,
  bundle: true,
  minify: true,
  format: 'esm',
  platform: 'browser',
  target: ['chrome110', 'firefox115', 'safari16.4'],
  jsx: 'automatic',
  jsxImportSource: 'preact',
  legalComments: 'none',
  charset: 'utf8',
  plugins: [codecFile(ROOT)],
  // libopus-wasm loads it in Node alone.
  external: ['node:module'],
  entryNames: '[name]-[hash]',
  chunkNames: '[name]-[hash]',
  assetNames: '[name]-[hash]',
  metafile: true,
  write: false,
  logLevel: 'silent',
};

/** Writes the console to a folder, which is emptied first. The same sources give the same bytes. */
export async function buildConsole(folder: string): Promise<BuiltConsole & { inputs: string[] }> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const alone = [...ownScopes(), ...STYLESHEETS].filter((source) => existsSync(join(SOURCE, source)));
  const built = await Promise.all(
    // A worker may load a part of its own later.
    alone.map(async (source) => ({ source, ...(await bundle([source], folder, { splitting: true })) })),
  );
  const addresses = Object.fromEntries(built.map(({ source, entry }) => [source, `./${entry}`]));
  const page = await bundle([PAGE], folder, {
    splitting: true,
    plugins: [sharedShell(join(SOURCE, SHELL), await viewsOf(PAGE))],
    define: { BUILT_FILES: JSON.stringify(addresses) },
  });
  const stylesheet = built.find(({ source }) => source === STYLESHEETS[0])?.entry ?? '';
  const html = await readFile(join(SOURCE, 'index.html'), 'utf8');
  const index = html.replace('STYLESHEET', stylesheet).replace('SCRIPT', page.entry);
  await write(folder, 'index.html', Buffer.from(index));
  const install = readdirSync(join(SOURCE, INSTALL)).sort();
  for (const name of install) await write(folder, name, await readFile(join(SOURCE, INSTALL, name)));
  const bundled = [...built, page]
    .flatMap(({ metafile }) => Object.keys(metafile.inputs))
    .filter((path) => !path.startsWith(LEFT_OUT));
  await write(folder, LICENSES, Buffer.from(await licensesOf(ROOT, bundled)));
  const first = ['index.html', stylesheet, ...staticImports(page.metafile, page.entry)];
  const views = LOGIN.flatMap((source) => staticImports(page.metafile, fileOf(page.metafile, source)));
  const parts = built
    .filter(({ source }) => LOGIN_PARTS.includes(source))
    .flatMap(({ metafile, entry }) => staticImports(metafile, entry));
  return {
    files: await filesIn(folder),
    first,
    login: [...new Set([...parts, ...views])].filter((name) => !first.includes(name)),
    inputs: bundled
      .concat('src/console/index.html', ...KEPT)
      .concat(install.map((name) => `src/console/${INSTALL}/${name}`)),
  };
}

function ownScopes(): string[] {
  return readdirSync(SOURCE, { recursive: true, encoding: 'utf8' })
    .filter((name) => OWN_SCOPE.test(name))
    .map((name) => name.replaceAll('\\', '/'))
    .concat(WORKLETS)
    .sort();
}

/** The modules that an entry loads by `import()` (paths), without the shell. */
async function viewsOf(entry: string): Promise<string[]> {
  const draft = { entryPoints: [join(SOURCE, entry)], outdir: BUILT, splitting: true, minify: false };
  const { metafile } = await build({ ...options, ...draft });
  const entries = Object.values(metafile?.outputs ?? {}).map(({ entryPoint = '' }) => entryPoint);
  const others = ['', `src/console/${entry}`, `src/console/${SHELL}`];
  return entries.filter((path) => !others.includes(path)).map((path) => join(ROOT, path));
}

/** Bundles one entry, and returns the name of its file. */
async function bundle(sources: string[], folder: string, more: BuildOptions = {}) {
  const entryPoints = sources.map((source) => join(SOURCE, source));
  const { outputFiles = [], metafile } = await build({ ...options, outdir: folder, entryPoints, ...more });
  if (metafile === undefined) throw new Error('esbuild returned no metafile');
  for (const { path, contents } of outputFiles) await write(folder, basename(path), contents);
  return { entry: fileOf(metafile, sources[0] ?? ''), metafile };
}

/** The file that an entry, or a view that is loaded when it is shown, was bundled to. */
function fileOf({ outputs }: Metafile, source: string): string {
  const wanted = posix.join('src/console', source);
  const [path] = Object.entries(outputs).find(([, { entryPoint }]) => entryPoint === wanted) ?? [];
  if (path === undefined) throw new Error(`esbuild wrote no file for ${wanted}`);
  return basename(path);
}

/** The script and all that it imports before it runs. */
function staticImports({ outputs }: Metafile, entry: string): string[] {
  const byName = new Map(Object.entries(outputs).map(([path, output]) => [basename(path), output]));
  const names = new Set([entry]);
  for (const name of names) {
    for (const { path, kind } of byName.get(name)?.imports ?? []) {
      // Of kind `file-loader`: the file is loaded by its address, as the codec is.
      if (kind === 'import-statement' || kind === 'file-loader') names.add(basename(path)); // a Set goes on to what is added
    }
  }
  return [...names];
}

const packGzip = promisify(gzip);
const packBrotli = promisify(brotliCompress);

/** A small memory makes short blocks. The codec has 0.5 % fewer bytes with 6 than with the preset 8, a script more. */
const MEM_LEVELS = [5, 6, 7, 8];

async function shortest(contents: Uint8Array): Promise<Buffer> {
  const packed = await Promise.all(MEM_LEVELS.map((memLevel) => packGzip(contents, { level: 9, memLevel })));
  return packed.reduce((best, one) => (one.length < best.length ? one : best));
}

/** The server sends the packed file to browsers that read it. */
async function write(folder: string, name: string, contents: Uint8Array): Promise<void> {
  const path = join(folder, name);
  const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY } };
  await Promise.all([
    writeFile(path, contents),
    shortest(contents).then((packed) => writeFile(`${path}.gz`, packed)),
    packBrotli(contents, quality).then((packed) => writeFile(`${path}.br`, packed)),
  ]);
}

async function filesIn(folder: string): Promise<BuiltFile[]> {
  const names = readdirSync(folder).filter((name) => name.endsWith('.gz'));
  return Promise.all(
    names.sort().map(async (name) => ({
      name: name.replace(/\.gz$/, ''),
      gzipBytes: (await stat(join(folder, name))).size,
    })),
  );
}

/** Changes with every source, with the list of sources that are bundled by themselves, and with the builders. */
async function digestOf(inputs: readonly string[]): Promise<string> {
  const hash = createHash('sha256').update(ownScopes().join());
  for (const input of [...new Set(inputs)].sort()) {
    const contents = await readFile(join(ROOT, input)).catch(() => 'missing');
    hash.update(input).update(contents);
  }
  for (const builder of ['build.js', 'codec-file.js', 'licenses.js', 'shared-shell.js'])
    hash.update(await readFile(join(ROOT, 'dist/src/console', builder)));
  return hash.digest('hex');
}

type Recorded = BuiltConsole & { inputs: string[]; digest: string };

async function readRecord(): Promise<Recorded | null> {
  const text = await readFile(RECORD, 'utf8').catch(() => null);
  return text === null || !existsSync(join(BUILT, 'index.html')) ? null : JSON.parse(text);
}

async function buildIfChanged(): Promise<void> {
  const before = await readRecord();
  if (before !== null && before.digest === (await digestOf(before.inputs))) return;
  const built = await buildConsole(BUILT);
  await mkdir(dirname(RECORD), { recursive: true });
  await writeFile(RECORD, JSON.stringify({ ...built, digest: await digestOf(built.inputs) }));
}

const [, started] = process.argv;
if (started !== undefined && import.meta.url === pathToFileURL(started).href) await buildIfChanged();
