// Limits the time that a client waits for the devices that it asked to watch.
import { AppError } from '../../errors.js';

/** A WATCH that was not read by then (ms) is refused: the client waits for its answer. */
const READ_MS_MAX = 4000;

/** Rejects when it takes too long. */
export async function inTime(done: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new AppError('database_unavailable')), READ_MS_MAX);
  });
  try {
    await Promise.race([done, late]);
  } finally {
    clearTimeout(timer);
  }
}
