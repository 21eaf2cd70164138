// `make release`: what the archives hold, that an install of them gets the tested versions, and that the same sources give
// the same archives.
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import t from 'tap';
import ts from 'typescript';
import { installedPackages, readLock } from './helpers/code/installed-packages.js';

const run = promisify(execFile);
const PROGRAM = fileURLToPath(new URL('../src/release.js', import.meta.url));
const { version } = JSON.parse(await readFile('package.json', 'utf8'));
const SERVICE = `talkgroup-radio-service-${version}.tgz`;
const CLIENT = `talkgroup-radio-client-${version}.tgz`;

const folder = join(t.testdir({}), 'release');
const sumsOf = async () => readFile(join(folder, 'SHA256SUMS'), 'utf8');
const { stdout: printed } = await run(process.execPath, [PROGRAM, folder]);

/** Extracts an archive, and lists its files. */
async function extract(archive: string, to: string): Promise<string[]> {
  await mkdir(to, { recursive: true });
  await run('tar', ['-xzf', join(folder, archive), '-C', to, '--strip-components=1']);
  const entries = await readdir(to, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(to.length + 1))
    .sort();
}

t.test('the check sums name every file, and a second release of the same sources has the same', async (t) => {
  const files = (await readdir(folder)).filter((name) => name !== 'SHA256SUMS').sort();
  t.strictSame(files, ['CHANGES.md', CLIENT, SERVICE]);
  const sums = await sumsOf();
  const own = await Promise.all(
    files.map(async (name) => {
      const hash = createHash('sha256').update(await readFile(join(folder, name)));
      return `${hash.digest('hex')}  ${name}\n`;
    }),
  );
  t.equal(sums, own.join(''));
  t.ok(printed.endsWith(sums), 'and they are printed');
  t.match(
    printed,
    new RegExp(`^version ${version}, commit [0-9a-f]{40}( with changes that are not committed)?\n`),
  );
  t.match(await readFile(join(folder, 'CHANGES.md'), 'utf8'), new RegExp(`^## ${version}\\b`));
  await run(process.execPath, [PROGRAM, folder]);
  t.equal(await sumsOf(), sums);
});

t.test('a folder that holds something else is not emptied', async (t) => {
  const other = t.testdir({ 'thesis.txt': 'years of work' });
  await t.rejects(run(process.execPath, [PROGRAM, other]), {
    message: /holds no release: it is not emptied/,
  });
  t.strictSame(await readdir(other), ['thesis.txt']);
});

t.test(
  'the archive of the service names the locked version of each package, and none for development',
  async (t) => {
    const service = join(t.testdir({}), 'service');
    const files = await extract(SERVICE, service);
    for (const path of [
      'dist/src/main.js',
      'dist/src/cli.js',
      'dist/console/index.html',
      'sql/README.md',
      'bench/speech.ogg',
      'docs/deploy/talkgroup-radio.service',
      'docs/operations.md',
    ])
      t.ok(files.includes(path), path);
    const known =
      /^(package\.json|npm-shrinkwrap\.json|README\.md|CHANGELOG\.md|CONTRIBUTING\.md|docs\/.*|bench\/speech\.ogg|(dist\/src|dist\/console|sql)\/.*(?<!\.map))$/;
    t.strictSame(
      files.filter((path) => !known.test(path)),
      [],
    );
    const sources = (path: string) =>
      ['.ts', '.tsx'].map((ending) => path.replace(/^dist\//, '').replace(/(\.d\.ts|\.js)$/, ending));
    t.strictSame(
      files.filter(
        (path) => /^dist\/src\//.test(path) && !sources(path).some((source) => existsSync(source)),
      ),
      files.filter((path) => /^dist\/src\/typebox-\w+\.js$/.test(path)),
      'each file has a source, but the parts of a bundle',
    );
    const { packages } = JSON.parse(await readFile(join(service, 'npm-shrinkwrap.json'), 'utf8'));
    const locked = Object.entries(readLock('.')).filter(([path, { dev }]) => path !== '' && dev !== true);
    const { '': own, ...others } = packages;
    t.strictSame(others, Object.fromEntries(locked));
    t.equal(own.devDependencies, undefined);
    const manifest = JSON.parse(await readFile(join(service, 'package.json'), 'utf8'));
    t.strictSame([manifest.devDependencies, manifest.scripts], [undefined, undefined]);
    t.strictSame(manifest.dependencies, own.dependencies, 'npm ci compares them');
  },
);

t.test(
  'the archive of the client has the client alone, and runs with the packages that it names',
  async (t) => {
    const app = join(t.testdir({}), 'app');
    const client = join(app, 'node_modules/talkgroup-radio-client');
    const files = await extract(CLIENT, client);
    t.strictSame(
      files.filter(
        (path) => !/^(package\.json|README\.md|dist\/src\/(client|protocol)\/.*\.(js|d\.ts))$/.test(path),
      ),
      [],
    );
    t.notOk(files.some((path) => path.includes('/terminal/') || path.includes('messages')));
    const { dependencies } = JSON.parse(await readFile(join(client, 'package.json'), 'utf8'));
    const installed = installedPackages('.');
    for (const [name, wanted] of Object.entries(dependencies)) {
      t.equal(installed.get(`node_modules/${name}`), wanted, name);
      await mkdir(join(app, 'node_modules', name, '..'), { recursive: true });
      await symlink(resolve('node_modules', name), join(app, 'node_modules', name));
    }
    await writeFile(
      join(app, 'app.mjs'),
      `import { createRadio } from 'talkgroup-radio-client';
     import { readOpus } from 'talkgroup-radio-client/ogg';
     const { packets } = await readOpus(process.argv[2]);
     const radio = createRadio({ url: 'ws://127.0.0.1:1', token: 'x' });
     radio.on('waiting', () => { console.log(packets.length, radio.state); radio.close(); });`,
    );
    const { stdout } = await run(process.execPath, ['app.mjs', resolve('bench/speech.ogg')], { cwd: app });
    t.equal(stdout, '387 waiting\n');

    await symlink(resolve('node_modules/libopus-wasm'), join(app, 'node_modules/libopus-wasm')); // as the app installs it
    const page = join(app, 'page.ts');
    await writeFile(
      page,
      `import { createRadio, type Radio } from 'talkgroup-radio-client';
     import { createSound, playRadio, type Sound } from 'talkgroup-radio-client/sound';
     const radio: Radio = createRadio({ url: 'ws://127.0.0.1:1', token: 'x' });
     const sound: Sound = createSound({ workletsUrl: 'worklets.js' });
     playRadio({ radio, sound }).then(({ stop }) => stop());`,
    );
    const { outputFiles } = await build({
      ...{ entryPoints: [page, 'talkgroup-radio-client/sound/worklets.js'], absWorkingDir: app },
      ...{ bundle: true, platform: 'browser', format: 'esm', external: ['node:module'] },
      ...{ outdir: 'out', write: false, logLevel: 'silent' }, // a failure is thrown
    });
    t.equal(outputFiles.length, 2);
    const faults = ts.getPreEmitDiagnostics(
      ts.createProgram([page], {
        ...{ module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler },
        ...{
          customConditions: ['browser'],
          target: ts.ScriptTarget.ES2023,
          strict: true,
          noEmit: true,
          types: [],
        },
        lib: ['lib.es2023.d.ts', 'lib.dom.d.ts'],
      }),
    );
    t.strictSame(
      faults.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n')),
      [],
    );
  },
);
