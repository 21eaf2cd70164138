// Reads the garbage collections of a Node process from the output of --trace-gc.
import { nowMs } from './clock.js';

export interface Collection {
  /** When it was heard of, by nowMs(): V8 prints at once. */
  readonly atMs: number;
  /** Each thread has a heap of its own. In the order in which they first collect: main, relay, the one that hashes. */
  readonly thread: number;
  /** `major` goes through the whole heap, `minor` through what is young. */
  readonly kind: 'minor' | 'major';
  /** Asked for by no allocation: V8 gives memory back some seconds after it was last busy, in up to three goes. */
  readonly isReducing: boolean;
  readonly beforeMib: number;
  readonly afterMib: number;
  readonly pauseMs: number;
}

/** Takes the output in pieces. Other lines are left alone. */
export function createCollectionLog() {
  const collections: Collection[] = [];
  const threads: string[] = [];
  let rest = '';
  return {
    collections: collections as readonly Collection[],
    take(text: string): void {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        const [, heap = '', kind, mode, before, after, pause] = COLLECTION.exec(line) ?? [];
        if (kind === undefined) continue;
        if (!threads.includes(heap)) threads.push(heap);
        collections.push({
          atMs: nowMs(),
          thread: threads.indexOf(heap),
          kind: kind === 'Scavenge' ? 'minor' : 'major',
          isReducing: mode === ' (reduce)',
          beforeMib: Number(before),
          afterMib: Number(after),
          pauseMs: Number(pause),
        });
      }
    },
  };
}

/** `[pid:heap]  104 ms: Scavenge 3.8 (4.0) -> 3.4 (5.0) MB, 9.04 / 0.00 ms ...`. Mark-Compact may have a word in brackets. */
const COLLECTION =
  /^\[\d+:(\w+)\] +\d+ ms: (Scavenge|Mark-\w+)( \(\w+\))? ([\d.]+) \([\d.]+\) -> ([\d.]+) \([\d.]+\) MB, ([\d.]+)/;

/** What was allocated from the first of these collections of one thread to the last, in bytes. */
export function allocatedBytes(collections: readonly Collection[]): number {
  const mib = collections.slice(1).reduce((sum, { beforeMib }, i) => {
    return sum + Math.max(0, beforeMib - (collections[i]?.afterMib ?? 0));
  }, 0);
  return mib * 2 ** 20;
}
