// Lets a thread stand back for others where they want the same core.
import { getPriority, setPriority } from 'node:os';

const LOWEST = 19;

/** Of long commands. With the lowest priority a busy machine gives them no time to read the answers of the database. */
export const LONG_COMMAND = 5;

/**
 * Lowers the priority of the calling thread by so many steps of `nice`, also that of threads and processes which it starts
 * afterwards. It cannot be raised again. Linux keeps a priority for each thread, and 0 is the one that asks. Elsewhere it
 * would be that of the whole process, so nothing happens there.
 */
export function standBack(steps: number): void {
  if (process.platform !== 'linux') return;
  try {
    setPriority(0, Math.min(LOWEST, getPriority(0) + steps));
  } catch {
    // Expected where system calls are filtered: then it works like any other thread.
  }
}
