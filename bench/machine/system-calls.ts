// Counts the system calls of a running process with strace, where it is installed and permitted.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { around, nowMs } from './clock.js';
import { findProgram } from './processes.js';

/** How often each was called within `ms` by any thread, or why that cannot be told. strace makes every call slow. */
export async function countSystemCalls(
  pid: number,
  ms: number,
): Promise<ReadonlyMap<string, number> | string> {
  const program = findProgram('strace');
  if (program === null) return 'strace is not installed';
  const strace = spawn(program, ['-c', '-f', '-p', `${pid}`], { stdio: ['ignore', 'ignore', 'pipe'] });
  const closed = once(strace, 'close');
  let told = '';
  const isAttached = await new Promise<boolean>((resolve) => {
    strace.stderr.setEncoding('utf8').on('data', (text: string) => {
      told += text;
      if (told.includes(' attached')) resolve(true);
    });
    closed.then(() => resolve(false));
  });
  if (!isAttached) return `strace: ${told.trim()}`;
  await around(nowMs() + ms);
  strace.kill('SIGINT'); // upon which it lets go of the process and prints its table
  await closed;
  return callsIn(told);
}

/** Of lines `% time  seconds  usecs/call  calls  [errors]  name`, the last one being their sum. */
export function callsIn(table: string): ReadonlyMap<string, number> {
  const lines = table.matchAll(/^ *[\d.]+ +[\d.]+ +\d+ +(\d+)(?: +\d+)? +(\w+)$/gm);
  const calls = [...lines].map(([, count, name = '']) => [name, Number(count)] as const);
  return new Map(calls.filter(([name]) => name !== 'total').toSorted(([, a], [, b]) => b - a));
}
