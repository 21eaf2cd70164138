// Connects radios one after the other from ports that the system picks, and counts on which relay thread each one is.
import type { Member } from '../../radios/member.js';
import type { Target } from '../../radios/raw-radio.js';
import { arrive } from '../../radios/scouts.js';
import { answer } from '../player.js';

export interface DealingTask {
  readonly target: Target;
  /** One radio each. Fewer than 1,024, else a thread has two blocks of session numbers. */
  readonly users: readonly Member[];
}

/** Radios on each thread, the fullest first. */
export type Dealt = readonly number[];

answer(play);

async function play({ target, users }: DealingTask): Promise<Dealt> {
  const counts = new Map<number, number>();
  for (const { token } of users) {
    const { relay } = await arrive(target, token);
    counts.set(relay, (counts.get(relay) ?? 0) + 1);
  }
  return [...counts.values()].sort((a, b) => b - a);
}
