// Runs a load generator as a process of its own: set up once, it plays pieces one after another, or a single task.
import { once } from 'node:events';
import { nowMs } from '../machine/clock.js';
import { generatorCores, type Pins, startNode } from '../machine/processes.js';
import type { ConnectionLost } from '../radios/raw-radio.js';

export interface GeneratorOptions {
  readonly cores: string | null;
  readonly signal: AbortSignal;
}

/** A generator's process, as the scenario sees it. Rejects when that ended: a radio could not stay, or the run is over. */
export interface Player<Piece extends object, Played, Ended> {
  /** One piece at a time. */
  play(piece: Piece): Promise<Played>;
  /** The last thing it is asked. */
  end(): Promise<Ended>;
}

/** What a file of loads/ makes of its setup. All that crosses is plain data. */
export interface Performance<Piece, Played, Ended> {
  play(piece: Piece): Promise<Played>;
  end(): Promise<Ended>;
}

/** Pieces of several players begin together when they are told a moment that is still to come: so many ms ahead. */
const NOTICE_MS = 100;

/** A beginning for pieces that are asked for now, by nowMs(). */
export const soon = () => nowMs() + NOTICE_MS;

/** A share of one core. */
export interface Busy {
  readonly generatorShare: number;
}

type Ask<Setup, Piece> = { readonly setup: Setup } | { readonly piece: Piece } | { readonly end: true };

/** Runs a compiled file of loads/ for as long as `use` does. Calls it when the load is in place. */
export async function withPlayer<Setup extends object, Piece extends object, Played, Ended, T>(
  load: URL,
  setup: Setup,
  { cores, signal }: GeneratorOptions,
  use: (player: Player<Piece, Played, Ended>) => Promise<T>,
): Promise<T> {
  const child = startNode(load, {
    cores,
    signal,
    env: { PATH: process.env.PATH },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  child.on('error', () => {}); // an abort, which the waiting code hears of too
  const exited = once(child, 'exit');
  const ended = exited.then(() => Promise.reject(new Error('a generator ended before it should')));
  ended.catch(() => {});

  async function ask(question: Ask<Setup, Piece>): Promise<unknown> {
    const answered = once(child, 'message', { signal });
    answered.catch(() => {}); // the other side of the race may have told it
    if (child.connected) child.send(question);
    const [answer] = await Promise.race([answered, ended]);
    return answer;
  }

  try {
    await ask({ setup });
    return await use({
      play: (piece) => ask({ piece }) as Promise<Played>, // as the load's `perform` sent it
      end: () => ask({ end: true }) as Promise<Ended>,
    });
  } finally {
    child.kill('SIGKILL'); // it holds nothing but connections
    await exited;
  }
}

/** Runs a compiled file of loads/ that has a single piece. Rejects when a radio could not join or lost its connection. */
export function generate<Task extends object, Result>(
  load: URL,
  task: Task,
  options: GeneratorOptions,
): Promise<Result> {
  return withPlayer<object, Task, Result, null, Result>(load, {}, options, ({ play }) => play(task));
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

/** The same for a load that is set up once and plays pieces. */
export function withPlayerTogether<Setup extends object, Piece extends object, Played, Ended, T>(
  load: URL,
  setup: Omit<Setup, 'helperCores'>,
  { cores, signal }: { readonly cores: Pins; readonly signal: AbortSignal },
  use: (player: Player<Piece, Played, Ended>) => Promise<T>,
): Promise<T> {
  const [own = null, ...helperCores] = generatorCores(cores);
  return withPlayer(load, { ...setup, helperCores }, { cores: own, signal }, use);
}

/** The other side: what a file of loads/ does. A rejection ends the process. */
export function perform<Setup, Piece, Played, Ended>(
  prepare: (setup: Setup) => Promise<Performance<Piece, Played, Ended>>,
): void {
  let performance: Performance<Piece, Played, Ended> | null = null;
  // The bench is gone: it does not wait for us.
  process.once('disconnect', () => process.exit(1));
  process.on('message', async (question: Ask<Setup, Piece>) => {
    if ('setup' in question) {
      performance = await prepare(question.setup);
      process.send?.({});
    } else {
      process.send?.(await ('piece' in question ? performance?.play(question.piece) : performance?.end()));
    }
  });
}

/** The other side of `generate`: a file of loads/ plays the one task that it is given. */
export function answer<Task, Result>(play: (task: Task) => Promise<Result>): void {
  perform<object, Task, Result, null>(async () => ({ play, end: () => Promise.resolve(null) }));
}

/** For a radio that must stay: a run without it measures nothing. */
export function fail(loss: ConnectionLost): never {
  console.error(`a radio of the bench: ${loss.message}`);
  process.exit(1);
}
