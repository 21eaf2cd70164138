// Limits wrong passwords and registrations, by token buckets for names and addresses, in bounded memory.
import { createBuckets, putLast, type Rate } from '../buckets.js';
import { AppError, type RefusalCode } from '../errors.js';
import type { Guess } from './passwords.js';

/** Pairs of name and address remembered for a login, and as many for a registration. */
const REMEMBERED = 100_000;

export interface LimitsOptions {
  /** Wrong passwords for one name from one address. */
  readonly pair: Rate;
  /** Wrong passwords for one name from wherever it has not logged in lately. */
  readonly name: Rate;
  /** Wrong passwords from one address, whatever the names. Wide, for whole fleets share one. */
  readonly address: Rate;
  /** From one address, whatever becomes of them. */
  readonly registrations: Rate;
  /** How many (name, address) are remembered for having logged in. Beyond it the oldest are forgotten. */
  readonly remembered: number;
  /** Monotonic. */
  readonly nowMs?: () => number;
}

/** The settings of the limits. */
export interface LimitSettings {
  readonly LOGIN_FAILURES_PAIR: Rate;
  readonly LOGIN_FAILURES_NAME: Rate;
  readonly LOGIN_FAILURES_ADDRESS: Rate;
  readonly REGISTRATIONS_PER_MINUTE: number;
}

/** The limits as the settings have them. */
export function limitsIn(config: LimitSettings): LimitsOptions {
  return {
    pair: config.LOGIN_FAILURES_PAIR,
    name: config.LOGIN_FAILURES_NAME,
    address: config.LOGIN_FAILURES_ADDRESS,
    registrations: { atOnce: config.REGISTRATIONS_PER_MINUTE, perMinute: config.REGISTRATIONS_PER_MINUTE },
    remembered: REMEMBERED,
  };
}

/** Whom an attempt is for, and where it comes from: a key of `addressKey` (http/address.ts). */
export interface Attempt {
  /** In NFC. `NOBODY` for what cannot be a name. */
  readonly name: string;
  readonly address: string;
}

/** What is no username shares one bucket: it opens nothing, and any text is remembered that way. */
export const NOBODY = '';

export interface Limits {
  /** One try at a password, to be judged when its turn comes. Known and unknown names are alike. */
  login(attempt: Attempt): Guess;
  /** The same for the old password of a user who changes it, from any address: the user has a token. */
  oldPassword(user: string): Guess;
  /** One try at a setup code. The address alone counts. */
  setup(address: string): Guess;
  /** The user registered that name at that address, which is as good as a login. */
  remember(attempt: Attempt): void;
  /** Throws `too_many_registrations`. */
  register(address: string): void;
  /** What was refused, by the limit that refused it. */
  readonly counts: Record<LimitName, number>;
  /** What still mattered and was forgotten for want of room: tries, and places where a name had logged in or registered. */
  readonly forgotten: { tries: number; owners: number };
}

export type LimitName = 'pair' | 'name' | 'address' | 'old_password' | 'registrations';

/** So long an address at which a name logged in counts as its owner's. */
const REMEMBERED_MS = 30 * 24 * 3600 * 1000;

export function createLimits({
  remembered,
  nowMs = () => performance.now(),
  ...rates
}: LimitsOptions): Limits {
  const forgotten = { tries: 0, owners: 0 };
  const forgotTry = () => {
    forgotten.tries++;
  };
  const pairs = createBuckets(rates.pair, forgotTry);
  const names = createBuckets(rates.name, forgotTry);
  const addresses = createBuckets(rates.address, forgotTry);
  /** Apart: a wrong code costs no hash, so many addresses could soon push out what others did. */
  const setups = createBuckets(rates.address, forgotTry);
  const oldPasswords = createBuckets(rates.pair, forgotTry);
  const registrations = createBuckets(rates.registrations, forgotTry);
  const loggedInAtMs = new Map<string, number>();
  /** Apart, because thousands of registered names must not push out users who logged in. */
  const registeredAtMs = new Map<string, number>();
  const counts = { pair: 0, name: 0, address: 0, old_password: 0, registrations: 0 };

  function refuse(limit: LimitName, code: RefusalCode, waitMs: number): void {
    if (waitMs === 0) return;
    counts[limit]++;
    throw new AppError(code, undefined, Math.ceil(waitMs / 1000));
  }

  function rememberOwner(provedAtMs: Map<string, number>, pair: string): void {
    const forgot = putLast(provedAtMs, pair, nowMs(), remembered);
    if (forgot !== null && nowMs() - forgot < REMEMBERED_MS) forgotten.owners++;
  }

  const refuseGuess = (limit: LimitName, waitMs: number) => refuse(limit, 'too_many_wrong_passwords', waitMs);

  /** An owner is not limited by what others do with the name elsewhere, or with other names behind the address. */
  function isOwner(pair: string): boolean {
    const provedAtMs = loggedInAtMs.get(pair) ?? registeredAtMs.get(pair) ?? Number.NEGATIVE_INFINITY;
    return nowMs() - provedAtMs < REMEMBERED_MS;
  }

  return {
    counts,
    forgotten,
    login({ name, address }) {
      const pair = pairOf({ name, address });
      return {
        admit() {
          refuseGuess('pair', pairs.waitMs(pair, nowMs()));
          if (isOwner(pair)) return;
          refuseGuess('name', names.waitMs(name, nowMs()));
          refuseGuess('address', addresses.waitMs(address, nowMs()));
        },
        settle(right) {
          if (right) return rememberOwner(loggedInAtMs, pair);
          pairs.take(pair, nowMs());
          names.take(name, nowMs());
          addresses.take(address, nowMs());
        },
      };
    },
    oldPassword(user) {
      return {
        admit: () => refuseGuess('old_password', oldPasswords.waitMs(user, nowMs())),
        settle(right) {
          if (!right) oldPasswords.take(user, nowMs());
        },
      };
    },
    setup(address) {
      return {
        admit: () => refuseGuess('address', setups.waitMs(address, nowMs())),
        settle(right) {
          if (!right) setups.take(address, nowMs());
        },
      };
    },
    remember: (attempt) => rememberOwner(registeredAtMs, pairOf(attempt)),
    register(address) {
      refuse('registrations', 'too_many_registrations', registrations.waitMs(address, nowMs()));
      registrations.take(address, nowMs());
    },
  };
}

/** No address holds a space. */
const pairOf = ({ name, address }: Attempt) => `${address} ${name}`;
