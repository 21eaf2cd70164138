// Session numbers: u32, unique in the cluster, never issued again. Taken from the database a block at a time.

import { AppError } from '../../errors.js';
import { type Clock, pause } from '../clock.js';

/** Asked for anew when fewer are left: two blocks ahead of a storm of handshakes. */
const RESERVE = 2048;
const RETRY_MS = 250;

export interface SessionNumbers {
  /** The next number, or null when the database has not given any yet: the handshake is refused as overloaded. */
  take(): number | null;
  close(): void;
}

/** `nextBlock` answers the first number of a new block of `size`. */
export function createSessionNumbers(
  nextBlock: () => Promise<number>,
  options: { size: number; clock: Clock; log: { error(fields: object, message: string): void } },
): SessionNumbers {
  const { size, clock, log } = options;
  const blocks: { next: number; end: number }[] = [];
  let left = 0;
  let fetching = false;
  let closed = false;

  async function fill(): Promise<void> {
    if (fetching) return;
    fetching = true;
    while (left < RESERVE && !closed) {
      try {
        const first = await nextBlock();
        blocks.push({ next: first, end: first + size });
        left += size;
      } catch (error) {
        // Expected while the database is away. Anything else, such as a sequence at its end, the operator must hear of.
        if (!(error instanceof AppError)) log.error({ err: error }, 'session number allocation failed');
        await pause(clock, RETRY_MS);
      }
    }
    fetching = false;
  }

  void fill();
  return {
    take() {
      const [block] = blocks;
      if (block === undefined) return null;
      const number = block.next++;
      if (block.next === block.end) blocks.shift();
      left--;
      if (left < RESERVE) void fill();
      return number;
    },
    close() {
      closed = true;
    },
  };
}
