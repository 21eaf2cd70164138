// `node dist/src/main.js` under a Node that cannot run the service. The Node is faked, the sentences are real.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';

const MAIN = fileURLToPath(new URL('../../src/main.js', import.meta.url));

function start(t: Test, fake: string, ...words: string[]) {
  const preload = join(t.testdir({ 'fake.cjs': fake }), 'fake.cjs');
  const args = ['--require', preload, '--enable-source-maps', MAIN, ...words];
  const env = { PORT: 'none' }; // here ends a start that should have ended before
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', env });
  return { status, stdout, stderr };
}

const versions = (faked: Record<string, string>) =>
  `Object.defineProperty(process, 'versions', { value: { ...process.versions, ...${JSON.stringify(faked)} } });`;

t.test('without an engine binary for this Node the start ends with one sentence', async (t) => {
  const { status, stdout, stderr } = start(t, versions({ modules: '999' }));
  t.strictSame({ status, stdout }, { status: 1, stdout: '' });
  t.match(stderr, /^cannot start: uWebSockets\.js has no binary for Node \S+ on [^\n]*make run[^\n]*\n$/);
});

t.test('where glibc is too old for the binary the start ends with one sentence', async (t) => {
  const { status, stderr } = start(
    t,
    `process.dlopen = (module, file) => {
      throw new Error("/lib/libc.so.6: version \`GLIBC_2.38' not found (required by " + file + ")");
    };`,
  );
  t.equal(status, 1);
  t.match(stderr, /^cannot start: uWebSockets\.js needs glibc 2\.38 on Node [^\n]*Node 20[^\n]*\n$/);
});

t.test('under a Node older than the engines field the start ends with one sentence', async (t) => {
  const { status, stderr } = start(t, versions({ node: '18.20.8' }));
  t.strictSame(
    { status, stderr },
    { status: 1, stderr: 'cannot start: Node 18.20.8 is too old, use Node 24 or 22\n' },
  );
});

t.test('a command given to the service ends it with one sentence instead of starting it', async (t) => {
  const { status, stdout, stderr } = start(t, '', 'health');
  t.strictSame({ status, stdout }, { status: 1, stdout: '' });
  t.match(stderr, /^cannot start: unknown argument "health", [^\n]*"talkgroup-radio"\n$/);
});
