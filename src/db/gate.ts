// Limits concurrent calls to the database: a bounded number runs, a bounded number waits, and callers take turns.
import { AppError } from '../errors.js';
import { createShares } from '../shares.js';
import type { Deadline } from './deadline.js';

export interface GateOptions {
  /** Calls inside at once. */
  readonly places: number;
  /** More places, for callers that must not wait behind the others. */
  readonly reserved?: number;
  /** Calls inside and waiting. One more is rejected at once. */
  readonly callsMax: number;
  /** What one caller may have of both. The service's own calls may have all. */
  readonly share?: Share;
}

/** The parts of `callsMax` are above 0 and at most 1. */
interface Share {
  /** How many, also while others are free: the rest is there for others, however slow this caller's calls are. */
  readonly placesOfCaller: number;
  readonly callsOfCaller: number;
  /** Large, because a fleet behind a carrier has one address. */
  readonly callsOfAddress: number;
}

const WHOLE: Share = { placesOfCaller: Number.POSITIVE_INFINITY, callsOfCaller: 1, callsOfAddress: 1 };

/**
 * Callers take turns: one with forty waiting calls is served once in each round, like one with a single call. The calls
 * of one caller keep their order. A call waits until its deadline at the latest.
 */
export function createGate({ places, reserved = 0, callsMax, share = WHOLE }: GateOptions) {
  /** By caller: what admits each waiting call, oldest first. The first caller is the next to be served. */
  const waiting = new Map<Caller, Set<() => void>>();
  const insideOf = createShares<Caller>(share.placesOfCaller);
  const callsOf = createShares<Caller>(Math.ceil(share.callsOfCaller * callsMax));
  const callsFrom = createShares<string | undefined>(Math.ceil(share.callsOfAddress * callsMax));
  let inside = 0;
  let insideReserved = 0;
  let queued = 0;
  let refused = 0;

  const mayEnter = (caller: Caller) => caller === OWN || insideOf.admits(caller);

  function refuseTooMany(caller: Caller, address: string | undefined): void {
    const isFull = inside + queued >= callsMax;
    if (!isFull && (caller === OWN || (callsOf.admits(caller) && callsFrom.admits(address)))) return;
    refused++;
    throw new AppError(isFull ? 'database_unavailable' : 'too_many_requests');
  }

  /** Rejects at the deadline. */
  function turnOf(caller: Caller, at: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const admit = () => {
        clearTimeout(timer);
        resolve();
      };
      const giveUp = () => {
        remove(caller, admit);
        refused++;
        reject(new AppError('database_unavailable'));
      };
      const timer = setTimeout(giveUp, Math.max(0, at - performance.now()));
      waiting.set(caller, (waiting.get(caller) ?? new Set()).add(admit));
      queued++;
    });
  }

  function remove(caller: Caller, admit: () => void): void {
    const calls = waiting.get(caller);
    calls?.delete(admit);
    queued--;
    if (calls?.size === 0) waiting.delete(caller);
  }

  /** The oldest call of the first caller that may enter. That caller goes behind the others. */
  function admitNext(): void {
    for (const [caller, calls] of waiting) {
      const [admit] = calls;
      if (admit === undefined || !mayEnter(caller)) continue;
      remove(caller, admit);
      if (waiting.delete(caller)) waiting.set(caller, calls);
      inside++;
      insideOf.take(caller);
      return admit();
    }
  }

  return {
    async enter(deadline: Deadline): Promise<void> {
      const caller = callerOf(deadline);
      const { address } = deadline;
      refuseTooMany(caller, address);
      callsOf.take(caller);
      callsFrom.take(address);
      // Where calls wait although a place is free, their callers hold as many places as they may.
      if (inside < places && mayEnter(caller)) {
        inside++;
        insideOf.take(caller);
        return;
      }
      try {
        await turnOf(caller, deadline.at);
      } catch (error) {
        callsOf.giveBack(caller);
        callsFrom.giveBack(address);
        throw error;
      }
    },
    /** For each call that entered, with the deadline it entered with. */
    leave(deadline: Deadline): void {
      const caller = callerOf(deadline);
      inside--;
      insideOf.giveBack(caller);
      callsOf.giveBack(caller);
      callsFrom.giveBack(deadline.address);
      admitNext();
    },
    /** true: the caller has a reserved place. false: none is free, and the caller enters like all others. */
    takeReserved(): boolean {
      if (insideReserved >= reserved) return false;
      insideReserved++;
      return true;
    },
    leaveReserved(): void {
      insideReserved--;
    },
    /** Plain numbers. Refused are calls beyond a bound and calls that waited until their deadline. */
    figures: () => ({ inside: inside + insideReserved, waiting: queued, refused }),
  };
}

type Caller = string | null;
const OWN = null;
const callerOf = ({ user, address }: Deadline): Caller => user ?? address ?? OWN;
