// bcrypt behind a queue: one at a time, bounded by the time a caller would have to wait.
import { hash as bcryptHash, verify as bcryptVerify } from '@node-rs/bcrypt';
import { AppError } from '../errors.js';

/** Seed, Authentication 9. */
const COST = 10;
/** bcrypt reads no further (72 bytes of UTF-8); a longer password would match its own prefix. */
export const PASSWORD_BYTES_MAX = 72;
/** Nobody waits longer for a hash; 30 logins a second on two cores make this about 70 callers. */
const WAIT_MS_MAX = 2500;
const WAITING_MAX = 64;
/** First guess at one hash, until the first was measured. */
const HASH_MS_GUESS = 60;
/** Hash of a random value nobody knows: an unknown name costs what a wrong password costs. */
const NOBODY = '$2y$10$g59EauHKIigWGv91.WVRou3SovWfMQslxrBOPsYbgL5mmxhDUM746';

export interface Passwords {
  /** bcrypt at cost 10. Refuses with `login_queue_full` when the wait would be too long. */
  hash(password: string): Promise<string>;
  /** `stored` null or malformed: false, after the same work. Refuses with `login_queue_full`. */
  verify(password: string, stored: string | null): Promise<boolean>;
}

export function createPasswords(): Passwords {
  const waiting: (() => void)[] = [];
  let busy = false;
  let hashMs = HASH_MS_GUESS;

  /** One job at a time; a job that would wait longer than WAIT_MS_MAX, its own work included, is refused at once. */
  async function inTurn<T>(job: () => Promise<T>): Promise<T> {
    const ahead = waiting.length + (busy ? 1 : 0);
    if (ahead >= WAITING_MAX || (ahead + 1) * hashMs > WAIT_MS_MAX) throw new AppError('login_queue_full');
    if (busy) await new Promise<void>((admit) => waiting.push(admit));
    busy = true;
    const startedAt = performance.now();
    try {
      return await job();
    } finally {
      // Slow average: a single stall must not turn everybody away.
      hashMs += 0.1 * (performance.now() - startedAt - hashMs);
      const next = waiting.shift();
      if (next === undefined) busy = false;
      else next();
    }
  }

  return {
    hash: (password) => inTurn(() => bcryptHash(password, COST)),
    verify: (password, stored) => inTurn(() => verifyAgainst(password, stored)),
  };
}

async function verifyAgainst(password: string, stored: string | null): Promise<boolean> {
  const tooLong = Buffer.byteLength(password) > PASSWORD_BYTES_MAX;
  const usable = stored !== null && WELL_FORMED.test(stored);
  const equal = await bcryptVerify(tooLong ? '' : password, usable ? stored : NOBODY);
  return equal && usable && !tooLong;
}

const WELL_FORMED = /^\$2[aby]\$\d\d\$[./A-Za-z0-9]{53}$/;
