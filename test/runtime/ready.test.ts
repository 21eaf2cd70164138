// `make` on machines whose own Node cannot run the service: a pinned Node from npm, or one sentence. The machines are
// faked, and npm is a script that packs a Node of ours, so nothing is downloaded.
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import t, { type Test } from 'tap';

// From dist/test/runtime.
const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const run = promisify(execFile);

/** It says what it is, and runs scripts by the Node beside it, where a test puts one. */
const PINNED =
  '#!/bin/sh\nif [ "$1" = --version ]; then echo v24.99.0; else exec "$(dirname "$0")/real-node" "$@"; fi\n';

/** A folder with the Makefile and what it starts first, and the npm of its machine. */
async function project(t: Test, { integrity }: { integrity?: string } = {}) {
  const folder = t.testdir({
    npm: {},
    package: { bin: { node: PINNED }, LICENSE: '' },
    // A plain command, which make starts without a shell.
    'probe.mk': 'include Makefile\nprobe: node\n\tenv node --version\n',
  });
  cpSync(join(ROOT, 'Makefile'), join(folder, 'Makefile'));
  cpSync(join(ROOT, 'src/runtime'), join(folder, 'src/runtime'), { recursive: true });
  chmodSync(join(folder, 'package/bin/node'), 0o755);
  await run('tar', ['-czf', 'made.tgz', 'package'], { cwd: folder });

  const made = readFileSync(join(folder, 'made.tgz'));
  const hash = `sha512-${createHash('sha512').update(made).digest('base64')}`;
  const pins = JSON.parse(readFileSync(join(folder, 'src/runtime/pins.json'), 'utf8'));
  for (const name of Object.keys(pins))
    pins[name] = { package: 'a-node', version: '24.99.0', integrity: integrity ?? hash };
  writeFileSync(join(folder, 'src/runtime/pins.json'), JSON.stringify(pins));

  const npm = [
    '#!/bin/sh',
    'echo "$@" >>npm.calls',
    'for word; do case $word in --pack-destination=*) folder=$(echo "$word" | cut -d= -f2) ;; esac; done',
    'cp made.tgz "$folder/a-node-24.99.0.tgz"',
  ];
  writeFileSync(join(folder, 'npm/npm'), npm.join('\n'), { mode: 0o755 });
  return folder;
}

/** `make` where the machine's own Node has this version. */
async function make(folder: string, version: string, { PATH = '' } = {}) {
  const machine = { ...process.versions, node: version };
  const fake = join(folder, 'machine.cjs');
  writeFileSync(
    fake,
    `Object.defineProperty(process, 'versions', { value: ${JSON.stringify(machine)} });
     process.report.getReport = () => ({ header: { glibcVersionRuntime: '2.41' } });`,
  );
  const path = PATH || [join(folder, 'npm'), dirname(process.execPath), process.env.PATH].join(delimiter);
  const env = { PATH: path, NODE_OPTIONS: `--require "${fake}"` };
  try {
    const { stdout } = await run('make', ['-s', '-f', 'probe.mk', 'probe'], { cwd: folder, env });
    return { code: 0, lines: stdout.trim().split('\n'), calls: calls(folder) };
  } catch (error) {
    const { code, stderr } = error as { code: number; stderr: string };
    return { code, lines: stderr.trim().split('\n'), calls: calls(folder) };
  }
}

const calls = (folder: string) =>
  readdirSync(folder).includes('npm.calls')
    ? readFileSync(join(folder, 'npm.calls'), 'utf8').trim().split('\n').length
    : 0;

t.test(
  'a Node that cannot run the service is replaced by the pinned one, which is downloaded once',
  async (t) => {
    const folder = await project(t);
    t.match(await make(folder, '26.10.0'), {
      code: 0,
      lines: [/^Node 26\.10\.0 is not supported: taking Node 24\.99\.0 from npm into \.node/, 'v24.99.0'],
      calls: 1,
    });
    t.strictSame(readdirSync(join(folder, '.node')).sort(), ['a-node-24.99.0', 'bin']);
    const again = await make(folder, '26.11.0');
    t.strictSame(again, { code: 0, lines: ['v24.99.0'], calls: 1 }, 'no second download, and no second line');
  },
);

t.test('a Node that can run the service is used, and nothing is downloaded', async (t) => {
  const folder = await project(t);
  t.strictSame(await make(folder, '24.21.0'), { code: 0, lines: [process.version], calls: 0 });
  t.notOk(readdirSync(folder).includes('.node'));
  await make(folder, '26.10.0');
  const updated = await make(folder, '24.21.0');
  t.strictSame(updated, { code: 0, lines: [process.version], calls: 1 }, 'also after a pinned one was used');
});

t.test('a make inside a make keeps the Node that was chosen', async (t) => {
  const folder = await project(t);
  await make(folder, '26.10.0');
  // Where it lies shows that it was chosen: by its version it would be the machine's own.
  cpSync(process.execPath, join(folder, '.node/bin/real-node'));
  const PATH = [join(folder, '.node/bin'), process.env.PATH].join(delimiter);
  const inner = await make(folder, '24.99.0', { PATH });
  t.strictSame(inner, { code: 0, lines: ['v24.99.0'], calls: 1 });
  t.equal(readlinkSync(join(folder, '.node/bin')), 'a-node-24.99.0/bin');
});

t.test('a download removes the files of killed downloads, and not those of running ones', async (t) => {
  const folder = await project(t);
  const killed = join(folder, '.node/incoming-killed');
  const underWay = join(folder, '.node/incoming-under-way');
  for (const path of [killed, underWay]) mkdirSync(path, { recursive: true });
  const twoHoursAgo = Date.now() / 1000 - 7200;
  utimesSync(killed, twoHoursAgo, twoHoursAgo);
  t.equal((await make(folder, '26.10.0')).code, 0);
  t.strictSame(readdirSync(join(folder, '.node')).sort(), ['a-node-24.99.0', 'bin', 'incoming-under-way']);
});

t.test('a tarball with another hash is rejected and not unpacked', async (t) => {
  const folder = await project(t, { integrity: `sha512-${'A'.repeat(86)}==` });
  const { code, lines } = await make(folder, '26.10.0');
  t.equal(code, 2);
  t.match(
    lines[0],
    /^make: cannot use a-node@24\.99\.0: its hash is sha512-\S+, the pinned one is sha512-AAAA/,
  );
  t.strictSame(readdirSync(join(folder, '.node')), []);
});

t.test('make prints one sentence when Node is too old or missing', async (t) => {
  const folder = await project(t);
  const old = await make(folder, '18.20.8');
  t.match(old, { code: 2, lines: [/^make: Node 18\.20\.8 is too old/, /\*\*\*/], calls: 0 });
  const bare = join(folder, 'bare');
  mkdirSync(bare);
  const { stdout } = await run('sh', ['-c', 'command -v make sh']);
  for (const command of stdout.trim().split('\n'))
    cpSync(command, join(bare, command.split('/').at(-1) ?? ''));
  const none = await make(folder, '24.21.0', { PATH: bare });
  t.match(none, { code: 2, lines: [/^make: node or npm is missing: install Node 24/, /\*\*\*/] });
});
