// The runner of the tests: nothing that it started outlives it.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { comesTrue } from '../helpers/eventually.js';
import { descendants, isAlive, type Process } from '../helpers/processes.js';

const RUN = fileURLToPath(new URL('../helpers/run.js', import.meta.url));
const linuxOnly = { skip: process.platform === 'linux' ? false : 'reads /proc' };

/** A runner whose command has started a process that nobody ends. */
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
