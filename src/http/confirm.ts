// Waits between a stored change and its 200 until the sockets of this node follow the change.
import { type Deadline, within } from '../db/deadline.js';
import type { Notice, Tell } from '../db/notice.js';
import { AppError } from '../errors.js';

/** Longest wait (ms). The relay normally answers within milliseconds. */
const CONFIRM_MS_MAX = 1000;

/** The same for several changes of one statement. */
export async function confirmAll(tell: Tell, notices: readonly Notice[], deadline: Deadline): Promise<void> {
  await Promise.all(notices.map((notice) => confirm(tell, notice, deadline)));
}

/** Resolves when the relay has acknowledged. Throws `relay_unconfirmed` otherwise: the change is stored all the same. */
export async function confirm(tell: Tell, notice: Notice, deadline: Deadline): Promise<void> {
  try {
    await within(Math.min(deadline.at, performance.now() + CONFIRM_MS_MAX), tell(notice));
  } catch {
    // Expected when the time is up, or when the relay has stopped or cannot read the database.
    throw new AppError('relay_unconfirmed');
  }
}
