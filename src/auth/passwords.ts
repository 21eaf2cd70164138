// Queues passwords for bcrypt: hashes one at a time, and rejects a caller who would wait too long.
import assert from 'node:assert/strict';
import * as nativeBcrypt from '@node-rs/bcrypt';
import { PASSWORD_BYTES_MAX } from '../credentials/passwords.js';
import { AppError } from '../errors.js';
import { createShares } from '../shares.js';

/** Seed, Authentication 9. */
const COST = 10;
/** A login waits no longer for its hash. Of 50 ms each, hashed one at a time, 50 fit. LOGIN_QUEUE bounds them, too. */
const WAIT_MS_MAX = 2500;
/** First guess at one hash, until the first was measured. */
const HASH_MS_GUESS = 60;
/** An address may hold this many also where they are more than half: a script registers its users side by side. */
const OF_ADDRESS_MIN = 20;
/** Places that this leaves to others. */
const FOR_OTHERS = 5;
/** Hash of a random value that no user knows: an unknown name costs what a wrong password costs. */
const NOBODY = '$2y$10$g59EauHKIigWGv91.WVRou3SovWfMQslxrBOPsYbgL5mmxhDUM746';

export interface Passwords {
  /**
   * True when an attempt from this address would be refused now. An address may hold as many places as are free, which
   * is at most half of them. Of what it leaves free, the next address may take half again. On a slow machine, where half
   * are few, it may hold 20 as long as 5 stay free. Without an address: true when no place is free.
   */
  isFull(address?: string): boolean;
  /**
   * Does the work of one attempt, the database's part included, with a place in the queue: what comes in while the
   * database is slow would else all wait for a hash at once. Refuses with `login_queue_full` when there is none.
   */
  withPlace<T>(address: string | undefined, work: () => Promise<T>): Promise<T>;
  /**
   * bcrypt at cost 10 of at most 72 bytes. Refuses with `login_queue_full` when the wait would be too long, or as `admit`
   * does when the turn has come.
   */
  hash(password: string, admit?: () => void): Promise<string>;
  /** `stored` null or malformed: false, after the same work. Refuses with `login_queue_full`, or as the guess does. */
  verify(password: string, stored: string | null, guess?: Guess): Promise<boolean>;
  /** Plain numbers: attempts that have a place, and how long one more would wait and work (ms). */
  figures(): { readonly jobs: number; readonly waitMs: number };
}

/** Judged in its turn, one after the other, so that guesses sent together gain nothing. */
export interface Guess {
  /** Throws the refusal: there were too many wrong ones before, or its turn came too late. */
  admit(): void;
  /** Called before the next one is admitted. */
  settle(right: boolean): void;
}

/** What works behind the queue. */
export interface Bcrypt {
  hash(password: string, cost: number): Promise<string>;
  verify(password: string, stored: string): Promise<boolean>;
}

/** What the queue is for, its length, and what it measures the wait with (ms, monotonic). */
export interface PasswordsOptions {
  readonly bcrypt: Bcrypt;
  readonly waitingMax: number;
  readonly nowMs: () => number;
}

export function createPasswords({
  bcrypt = nativeBcrypt,
  waitingMax = 64,
  nowMs = () => performance.now(),
}: Partial<PasswordsOptions> = {}): Passwords {
  const waiting: (() => void)[] = [];
  let busy = false;
  let places = 0;
  const placesOf = createShares<string | undefined>(Number.POSITIVE_INFINITY);
  let hashMs = HASH_MS_GUESS;

  const inQueue = () => waiting.length + (busy ? 1 : 0);

  /**
   * Jobs that end within WAIT_MS_MAX when they come at once. One job always runs, whatever the last one took: after one
   * long stall no job would be admitted again otherwise.
   */
  const capacity = () => Math.max(1, Math.min(waitingMax, Math.floor(WAIT_MS_MAX / hashMs)));

  /** One job at a time. */
  async function inTurn<T>(job: () => Promise<T>, admit?: () => void): Promise<T> {
    if (inQueue() >= capacity()) throw new AppError('login_queue_full');
    if (busy) await new Promise<void>((go) => waiting.push(go));
    busy = true;
    try {
      admit?.();
      return await timed(job);
    } finally {
      const next = waiting.shift();
      if (next === undefined) busy = false;
      else next();
    }
  }

  async function timed<T>(job: () => Promise<T>): Promise<T> {
    const startedMs = nowMs();
    try {
      return await job();
    } finally {
      // Slow average: a single stall must not reject all requests.
      hashMs += 0.1 * (nowMs() - startedMs - hashMs);
    }
  }

  const ahead = () => Math.max(places, inQueue());
  function isFull(address?: string): boolean {
    const held = placesOf.of(address);
    const free = capacity() - ahead();
    return held >= free && (held >= OF_ADDRESS_MIN || free <= FOR_OTHERS);
  }

  return {
    isFull,
    async withPlace(address, work) {
      if (isFull(address)) throw new AppError('login_queue_full');
      places++;
      if (address !== undefined) placesOf.take(address);
      try {
        return await work();
      } finally {
        places--;
        if (address !== undefined) placesOf.giveBack(address);
      }
    },
    async hash(password, admit) {
      assert(Buffer.byteLength(password) <= PASSWORD_BYTES_MAX, 'what bcrypt would cut off');
      return inTurn(() => bcrypt.hash(password, COST), admit);
    },
    verify(password, stored, guess) {
      const tooLong = Buffer.byteLength(password) > PASSWORD_BYTES_MAX;
      const usable = stored !== null && WELL_FORMED.test(stored);
      return inTurn(async () => {
        const equal = await bcrypt.verify(tooLong ? '' : password, usable ? stored : NOBODY);
        const right = equal && usable && !tooLong;
        guess?.settle(right);
        return right;
      }, guess?.admit);
    },
    figures: () => ({ jobs: ahead(), waitMs: (ahead() + 1) * hashMs }),
  };
}

// Our cost, and a salt of 128 bits, whose last character carries two of them: bcrypt turns down all else at once.
const WELL_FORMED = /^\$2[abxy]\$10\$[./A-Za-z0-9]{21}[.Oeu][./A-Za-z0-9]{31}$/;

/** Throws `bad_request`. */
export function refuseShort(password: string, lengthMin: number): void {
  if ([...password].length >= lengthMin) return;
  throw new AppError('bad_request', `the password must have at least ${lengthMin} characters`);
}
