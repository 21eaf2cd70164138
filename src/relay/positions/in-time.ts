// Limits the time that a client waits for the devices that it asked to watch.
import { AppError } from '../../errors.js';
import type { Clock } from '../clock.js';

/** A WATCH that was not read by then (ms) is refused: the client waits for its answer. */
const READ_MS_MAX = 4000;

/** Rejects when it takes too long. */
export function inTime(done: Promise<unknown>, clock: Clock): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = clock.after(READ_MS_MAX, () => reject(new AppError('database_unavailable')));
    void done.then(() => resolve(), reject).then(() => clock.stop(timer));
  });
}
