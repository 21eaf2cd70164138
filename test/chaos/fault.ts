// What a fault is, the schedule of a seed, and what the catalogue's parts have in common.
import { setTimeout as pause } from 'node:timers/promises';
import type { Random } from '../helpers/random.js';
import type { Scene } from './scene.js';
import { CREW } from './staff.js';

/** A fault in its particulars: `begin` breaks, and resolves with what mends. `S`: what it breaks something of. */
export interface Plan<S = Scene> {
  readonly detail: string;
  begin(scene: S): Promise<Mend> | Mend;
}

export type Mend = () => Promise<void> | void;

export interface Fault<S = Scene> {
  readonly name: string;
  plan(random: Random): Plan<S>;
}

/** By kind. */
export type Catalogue<S> = Readonly<Record<string, readonly Fault<S>[]>>;

/** One fault of a schedule. Times are ms from the episode's start. */
export interface ScheduledFault<S = Scene> {
  readonly name: string;
  /** Its particulars, for people. */
  readonly detail: string;
  readonly atMs: number;
  readonly untilMs: number;
  /** Takes `scene` through it, from now to its end. */
  run(scene: S): Promise<void>;
}

const FAULT_MS_MAX = 8000;

/** So many faults, each of another kind, for an episode of so long. The same for the same numbers. */
export function scheduleOf<S>(
  catalogue: Catalogue<S>,
  { random, episodeMs, count }: { random: Random; episodeMs: number; count: number },
): ScheduledFault<S>[] {
  const kinds = random.some(Object.values(catalogue), count);
  return kinds.map((faults) => {
    const { name, plan } = existing(random.some(faults, 1)[0]);
    const atMs = Math.round(episodeMs * (0.1 + 0.4 * random.next()));
    const forMs = Math.min(FAULT_MS_MAX, Math.round(episodeMs * (0.15 + 0.3 * random.next())));
    const { detail, begin } = plan(random);
    return {
      ...{ name, detail, atMs, untilMs: atMs + forMs },
      async run(scene) {
        const fromMs = performance.now();
        const mend = await begin(scene);
        await pause(Math.max(0, fromMs + forMs - performance.now()));
        await mend();
      },
    };
  });
}

/** Of the crew: any of its radios. */
export const anyRadio = (random: Random) => random.whole(0, CREW - 1);

/** What the catalogue knows to be there. */
export function existing<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('the scene has fewer of them than the catalogue counts on');
  return value;
}

/** Acts now and every so often. What an act throws is expected, for other faults go on beside it. */
export function repeat(everyMs: number, act: () => unknown): Mend {
  const isOver = new AbortController();
  const acting = (async () => {
    while (!isOver.signal.aborted) {
      await (async () => act())().catch(() => {});
      await pause(everyMs, undefined, { signal: isOver.signal }).catch(() => {});
    }
  })();
  return () => {
    isOver.abort();
    return acting;
  };
}
