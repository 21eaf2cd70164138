// What a fault is, and what the catalogue's parts have in common.
import { setTimeout as pause } from 'node:timers/promises';
import type { Random } from '../helpers/random.js';
import { CREW, type Scene } from './scene.js';

/** A fault in its particulars: `begin` breaks, and resolves with what mends. */
export interface Plan {
  readonly detail: string;
  begin(scene: Scene): Promise<Mend> | Mend;
}

export type Mend = () => Promise<void> | void;

export interface Fault {
  readonly name: string;
  plan(random: Random): Plan;
}

/** Of the crew: any of its radios. */
export const anyRadio = (random: Random) => random.whole(0, CREW - 1);

/** What the catalogue knows to be there. */
export function existing<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('the scene has fewer of them than the catalogue counts on');
  return value;
}

/** Acts now and every so often; what an act throws is expected, for other faults go on beside it. */
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
