// The runner of the tests: nothing that it started outlives it, and no failure goes unseen.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { comesTrue } from '../helpers/eventually.js';
import { descendants, isAlive, type Process } from '../helpers/processes.js';

const RUN = fileURLToPath(new URL('../helpers/run.js', import.meta.url));
const EVERY_FILE = fileURLToPath(new URL('../helpers/every-file.js', import.meta.url));
const linuxOnly = { skip: process.platform === 'linux' ? false : 'reads /proc' };

/** A runner whose command has started a process that is not ended. */
async function startRunner(t: Test, command: string): Promise<{ runner: ChildProcess; below: Process[] }> {
  const runner = spawn(process.execPath, [RUN, 'sh', '-c', command], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.teardown(() => runner.kill('SIGKILL'));
  let below: Process[] = [];
  await comesTrue('PostgreSQL and the command run', () => {
    below = descendants(runner.pid ?? 0).slice(1);
    return ['postgres', 'sleep'].every((name) => below.some((one) => one.name === name));
  });
  return { runner, below };
}

for (const signal of ['SIGKILL', 'SIGTERM', 'SIGINT'] as const) {
  t.test(`a runner that gets ${signal} leaves no process`, linuxOnly, async (t) => {
    // A command that ignores the signal is killed as well, which takes 10 s.
    const { runner, below } = await startRunner(t, 'sleep 1000 & wait');
    runner.kill(signal);
    await comesTrue('all of it has ended', () => !below.some(isAlive));
  });
}

t.test('a command that ends and leaves a process has it killed', linuxOnly, async (t) => {
  const { runner, below } = await startRunner(t, 'sleep 1000 & wait');
  const command = below.find(({ pid }) => descendants(pid)[1]?.name === 'sleep');
  process.kill(command?.pid ?? 0, 'SIGKILL');
  const [code] = await once(runner, 'exit');
  t.equal(code, 128 + 9);
  await comesTrue('all of it has ended', () => !below.some(isAlive));
});

/** By the name of a file: its program, and what is said of it. null: it passes. */
const FILES: Record<string, readonly [program: string, failure: string | null]> = {
  passes: [`t.test('one', async (t) => t.ok(true));`, null],
  fails: [`t.test('one', (t) => t.test('inner', async (t) => t.equal(1, 2)));`, 'one'],
  'fails-outside': ['t.equal(1, 2);', 'it failed outside of its tests'],
  empty: ['', 'it has no test'],
  'throws-at-load': [`throw new Error('on purpose');`, 'it failed outside of its tests'],
  'throws-later': [
    `t.test('one', async (t) => {
      setTimeout(() => { throw new Error('on purpose'); }, 1);
      t.ok(true);
    });
    t.test('two', (t) => t.test('never ends', () => new Promise((resolve) => setTimeout(resolve, 1000))));`,
    'it failed outside of its tests',
  ],
  'throws-at-the-end': [
    `t.teardown(async () => { throw new Error('on purpose'); });
    t.test('one', async (t) => t.ok(true));`,
    'its end',
  ],
  dies: [
    `t.test('one', () => { process.kill(process.pid, 'SIGKILL'); return new Promise(() => {}); });`,
    'its process ended: SIGKILL',
  ],
  hangs: [
    `t.setTimeout(1000);
    t.test('one', () => new Promise((resolve) => setTimeout(resolve, 1e6)));`,
    'one',
  ],
};

t.test('each file that fails is named, however it fails, and the next one runs', async (t) => {
  const programs = Object.entries(FILES).map(([name, [program]]) => [
    `${name}.test.mjs`,
    `import t from 'tap'; ${program}`,
  ]);
  const folder = t.testdir(Object.fromEntries(programs));
  const nameOf = (name: string) => join(folder, `${name}.test.mjs`);
  const TEST_FILES = Object.keys(FILES).map(nameOf).join(' ');
  const child = spawn(process.execPath, [EVERY_FILE], {
    env: { ...process.env, TEST_FILES, TEST_JOBS: '1' },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  t.equal(code, 1);
  const said = [...output.matchAll(/^failed: (\S+) > (.*)$/gm)].map(([, file, failure]) => [
    file,
    failure?.replace('its process ended: 1', 'it failed outside of its tests'), // as Node 24 ends it, and Node 20 does not
  ]);
  const expected = Object.entries(FILES).flatMap(([name, [, failure]]) =>
    failure === null ? [] : [[nameOf(name), failure]],
  );
  t.strictSame(said.sort(), expected.sort());
});
