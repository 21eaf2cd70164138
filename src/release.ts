// `make release`: writes the archives of a release, with their check sums and what changed, and publishes nothing.
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** Of the package for apps: the client without the service and its dependencies. */
const CLIENT_NAME = 'talkgroup-radio-client';
const README = `# Client of the Talkgroup Radio Service

A radio for Node.js and browsers: \`${CLIENT_NAME}\`. Sound in a browser: \`${CLIENT_NAME}/sound\`, which needs the package
\`libopus-wasm\` and the file \`${CLIENT_NAME}/sound/worklets.js\`. Ogg Opus files: \`${CLIENT_NAME}/ogg\`. The WebSocket guide of
the service (docs/websocket-guide.md) shows how to use them.
`;
/** What a compiled file imports, or takes types from. */
const IMPORTED = /(?:\bfrom|\bimport)\s*\(?\s*['"]([^'"]+)['"]/g;

const [folder = join(ROOT, 'dist/release')] = process.argv.slice(2);

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly files: readonly string[];
  readonly [field: string]: unknown;
}

interface Locked {
  readonly dev?: boolean;
  readonly devDependencies?: unknown;
}

const manifest = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as Manifest;
if (existsSync(folder) && !existsSync(join(folder, 'SHA256SUMS')) && (await readdir(folder)).length > 0)
  throw new Error(`${folder} holds no release: it is not emptied`);
await rm(folder, { recursive: true, force: true });
await mkdir(folder, { recursive: true });
const work = await mkdtemp(join(folder, 'work-'));
try {
  await writeService();
  await writeClient();
} finally {
  await rm(work, { recursive: true });
}
await writeFile(join(folder, 'CHANGES.md'), await changes());
await writeSums();
const commit = (await run('git', ['rev-parse', 'HEAD'])).trim();
const isChanged = (await run('git', ['status', '--porcelain'])) !== '';
console.log(
  `version ${manifest.version}, commit ${commit}${isChanged ? ' with changes that are not committed' : ''}`,
);
console.log((await readFile(join(folder, 'SHA256SUMS'), 'utf8')).trimEnd());

/** The package as npm packs it, and the versions of all packages that it loads: an install resolves nothing anew. */
async function writeService(): Promise<void> {
  const [packed = ''] = JSON.parse(await pack(ROOT, work)).map(
    ({ filename }: { filename: string }) => filename,
  );
  await run('tar', ['-xzf', join(work, packed), '-C', work]);
  const service = join(work, 'package');
  await removeStale(service);
  const lock = JSON.parse(await readFile(join(ROOT, 'package-lock.json'), 'utf8'));
  const packages = Object.entries(lock.packages as Record<string, Locked>)
    .filter(([, { dev }]) => dev !== true)
    .map(([path, { devDependencies, ...locked }]) => [path, locked]);
  await writeJson(join(service, 'npm-shrinkwrap.json'), { ...lock, packages: Object.fromEntries(packages) });
  const pages = (await run('git', ['ls-files', '*.md', 'docs'])).trimEnd().split('\n');
  const own = pages.filter((path) => /^(CHANGELOG|CONTRIBUTING)\.md$|^docs\//.test(path));
  for (const path of own) await cp(join(ROOT, path), join(service, path));
  const { devDependencies, scripts, files, ...rest } = manifest;
  await writeJson(join(service, 'package.json'), {
    ...rest,
    files: [...files, ...own, 'npm-shrinkwrap.json'],
  });
  await pack(service, folder);
}

/** Files that an earlier build has left: they have no source any more. */
async function removeStale(service: string): Promise<void> {
  const code = join(service, 'dist/src');
  const bundles = ['typebox.js', 'http/validator.js'].map((name) => readFile(join(code, name), 'utf8'));
  const chunks = (await Promise.all(bundles)).join('');
  for (const entry of await readdir(code, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    const source = join(ROOT, 'src', path.slice(code.length).replace(/(\.d)?\.(js|ts)$/, ''));
    const isOurs = ['.ts', '.tsx'].some((ending) => existsSync(source + ending));
    if (entry.isFile() && !isOurs && !chunks.includes(entry.name)) await rm(path);
  }
}

/** The entries of the client and the files that they reach, with the packages that those import. */
async function writeClient(): Promise<void> {
  const client = join(work, CLIENT_NAME);
  const exported = Object.entries(manifest.exports).filter(([name]) => name.startsWith('./client'));
  const entries = exported.flatMap(([, target]) =>
    typeof target === 'string' ? target : Object.values(target),
  );
  const { files, packages } = await reached(entries.map((path) => join(ROOT, path)));
  for (const file of files) await cp(file, join(client, file.slice(ROOT.length)));
  const { version, type, license, engines, dependencies, peerDependencies, peerDependenciesMeta } = manifest;
  await writeJson(join(client, 'package.json'), {
    ...{ name: CLIENT_NAME, version, type, license, private: true, engines },
    description: 'Client of the Talkgroup Radio Service, for Node.js and browsers',
    exports: Object.fromEntries(exported.map(([name, target]) => [name.replace('./client', '.'), target])),
    dependencies: Object.fromEntries(Object.entries(dependencies).filter(([name]) => packages.has(name))),
    ...{ peerDependencies, peerDependenciesMeta },
  });
  await writeFile(join(client, 'README.md'), README);
  await pack(client, folder);
}

async function reached(entries: readonly string[]) {
  const files = new Set<string>();
  const packages = new Set<string>();
  const waiting = [...entries];
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (files.has(file)) continue;
    files.add(file);
    const types = file.replace(/\.js$/, '.d.ts');
    if (existsSync(types)) waiting.push(types); // none of a bundle
    for (const [, from = ''] of (await readFile(file, 'utf8')).matchAll(IMPORTED)) {
      const [scopeOrName = '', name = ''] = from.split('/');
      if (from.startsWith('.')) waiting.push(resolve(dirname(file), typesOf(file, from)));
      else packages.add(scopeOrName.startsWith('@') ? `${scopeOrName}/${name}` : scopeOrName);
    }
  }
  return { files, packages };
}

/** Types import types, also of files whose code is not needed. */
function typesOf(file: string, from: string): string {
  return file.endsWith('.d.ts') ? from.replace(/\.js$/, '.d.ts') : from;
}

/** The part of this version. */
async function changes(): Promise<string> {
  const text = await readFile(join(ROOT, 'CHANGELOG.md'), 'utf8');
  const part = text.split(/^(?=## )/m).find((one) => one.startsWith(`## ${manifest.version}`));
  if (part === undefined) throw new Error(`CHANGELOG.md has no part for version ${manifest.version}`);
  return part;
}

/** As `sha256sum --check` reads it. */
async function writeSums(): Promise<void> {
  const lines: string[] = [];
  for (const name of (await readdir(folder)).sort()) {
    const hash = createHash('sha256').update(await readFile(join(folder, name)));
    lines.push(`${hash.digest('hex')}  ${name}\n`);
  }
  await writeFile(join(folder, 'SHA256SUMS'), lines.join(''));
}

function writeJson(file: string, value: unknown): Promise<void> {
  return writeFile(file, `${JSON.stringify(value, null, 2)}\n`);
}

function pack(from: string, to: string): Promise<string> {
  return run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', to], from);
}

async function run(program: string, args: readonly string[], cwd = ROOT): Promise<string> {
  const { stdout } = await promisify(execFile)(program, args, { cwd, maxBuffer: 10 << 20 });
  return stdout;
}
