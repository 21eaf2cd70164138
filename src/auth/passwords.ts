// bcrypt behind a queue: one at a time, bounded by the time a caller would have to wait.
import assert from 'node:assert/strict';
import * as nativeBcrypt from '@node-rs/bcrypt';
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
  /** Refuses with `login_queue_full` whom `hash` and `verify` would refuse now: before the database is asked for him. */
  refuseWhenFull(): void;
  /** bcrypt at cost 10 of at most 72 bytes. Refuses with `login_queue_full` when the wait would be too long. */
  hash(password: string): Promise<string>;
  /** `stored` null or malformed: false, after the same work. Refuses with `login_queue_full`. */
  verify(password: string, stored: string | null): Promise<boolean>;
}

/** What the queue is for, and what it measures the wait with (ms, monotonic). */
export interface PasswordsOptions {
  readonly bcrypt: Pick<typeof nativeBcrypt, 'hash' | 'verify'>;
  readonly nowMs: () => number;
}

export function createPasswords({
  bcrypt = nativeBcrypt,
  nowMs = () => performance.now(),
}: Partial<PasswordsOptions> = {}): Passwords {
  const waiting: (() => void)[] = [];
  let busy = false;
  let hashMs = HASH_MS_GUESS;

  /** A job that would wait longer than WAIT_MS_MAX, its own work included, is refused at once. */
  function refuseWhenFull(): void {
    const ahead = waiting.length + (busy ? 1 : 0);
    const tooMany = ahead >= WAITING_MAX || (ahead + 1) * hashMs > WAIT_MS_MAX;
    // With nobody ahead the job runs whatever the last one took: else one long stall would shut the door for ever.
    if (tooMany && ahead > 0) throw new AppError('login_queue_full');
  }

  /** One job at a time. */
  async function inTurn<T>(job: () => Promise<T>): Promise<T> {
    refuseWhenFull();
    if (busy) await new Promise<void>((admit) => waiting.push(admit));
    busy = true;
    const startedMs = nowMs();
    try {
      return await job();
    } finally {
      // Slow average: a single stall must not turn everybody away.
      hashMs += 0.1 * (nowMs() - startedMs - hashMs);
      const next = waiting.shift();
      if (next === undefined) busy = false;
      else next();
    }
  }

  return {
    refuseWhenFull,
    async hash(password) {
      assert(Buffer.byteLength(password) <= PASSWORD_BYTES_MAX, 'what bcrypt would cut off');
      return inTurn(() => bcrypt.hash(password, COST));
    },
    verify(password, stored) {
      const tooLong = Buffer.byteLength(password) > PASSWORD_BYTES_MAX;
      const usable = stored !== null && WELL_FORMED.test(stored);
      return inTurn(async () => {
        const equal = await bcrypt.verify(tooLong ? '' : password, usable ? stored : NOBODY);
        return equal && usable && !tooLong;
      });
    },
  };
}

// Our cost, and a salt of 128 bits, whose last character carries two of them: bcrypt turns down all else at once.
const WELL_FORMED = /^\$2[abxy]\$10\$[./A-Za-z0-9]{21}[.Oeu][./A-Za-z0-9]{31}$/;
