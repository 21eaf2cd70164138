// The wait between a stored change and its 200: until this node's live sockets follow it.
import { type Deadline, within } from '../db/deadline.js';
import type { Notice, Tell } from '../db/notices.js';
import { AppError } from '../errors.js';

/** The relay answers within milliseconds; after a second it does not look as if it would. */
const CONFIRM_MS_MAX = 1000;

/** Resolves when the relay has acknowledged. Throws `relay_unconfirmed`: the change stands, its effect is unknown. */
export async function confirm(tell: Tell, notice: Notice, deadline: Deadline): Promise<void> {
  try {
    await within(Math.min(deadline.at, performance.now() + CONFIRM_MS_MAX), tell(notice));
  } catch {
    // Expected: the time is up, or the relay is gone or could not read the database.
    throw new AppError('relay_unconfirmed');
  }
}
