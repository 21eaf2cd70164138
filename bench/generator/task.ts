// A load generator is a process of its own: it is given a task, sends back what it saw, and ends.
import { once } from 'node:events';
import { generatorCores, type Pins, startNode } from '../machine/processes.js';
import type { ConnectionLost } from '../radios/raw-radio.js';

export interface GeneratorOptions {
  readonly cores: string | null;
  readonly signal: AbortSignal;
}

/** Runs a compiled file of loads/, ended by `signal`; rejects when a radio could not join or lost its connection. */
export async function generate<Task extends object, Result>(
  load: URL,
  task: Task,
  { cores, signal }: GeneratorOptions,
): Promise<Result> {
  const child = startNode(load, {
    cores,
    signal,
    env: { PATH: process.env.PATH },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  child.on('error', () => {}); // an abort; the wait below hears of it too
  child.send(task);
  const answered = once(child, 'message', { signal });
  const ended = once(child, 'exit').then(() =>
    Promise.reject(new Error('the generator ended without a result')),
  );
  const [result] = await Promise.race([answered, ended]);
  return result as Result; // what the load's `answer` sent: task and result are plain data
}

/** The same for a load that shares its listeners among as many processes as the generator has cores. */
export function generateTogether<Task extends { readonly helperCores: readonly (string | null)[] }, Result>(
  load: URL,
  task: Omit<Task, 'helperCores'>,
  { cores, signal }: { readonly cores: Pins; readonly signal: AbortSignal },
): Promise<Result> {
  const [own = null, ...helperCores] = generatorCores(cores);
  return generate(load, { ...task, helperCores }, { cores: own, signal });
}

/** The other side: a file of loads/ plays the one task it is given. */
export async function answer<Task, Result>(play: (task: Task) => Promise<Result>): Promise<void> {
  const [task] = (await once(process, 'message')) as [Task];
  // The bench is gone: nobody waits for us.
  process.once('disconnect', () => process.exit(1));
  const result = await play(task);
  process.send?.(result, () => process.exit(0));
}

/** For a radio that must stay: a run without it measures nothing. */
export function fail(loss: ConnectionLost): never {
  console.error(`a radio of the bench: ${loss.message}`);
  process.exit(1);
}
