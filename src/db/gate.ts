// The gate before the database: a bounded number of callers inside, a bounded queue before it.
import { AppError } from '../errors.js';
import type { Deadline } from './deadline.js';

export interface GateOptions {
  readonly places: number;
  /** More places, for callers that must not wait behind the others. */
  readonly reserved?: number;
  readonly callsMax: number;
}

/**
 * At most `places` callers inside, first come, first served, each waiting no longer than his deadline; beyond
 * `callsMax` inside and waiting, refused at once.
 */
export function createGate({ places, reserved = 0, callsMax }: GateOptions) {
  const waiting = new Set<() => void>();
  let inside = 0;
  let insideReserved = 0;
  let refused = 0;

  return {
    async enter(deadline: Deadline): Promise<void> {
      if (inside < places) {
        inside++;
        return;
      }
      if (inside + waiting.size >= callsMax) {
        refused++;
        throw new AppError('database_unavailable');
      }
      await new Promise<void>((resolve, reject) => {
        const admit = () => {
          clearTimeout(timer);
          resolve();
        };
        const giveUp = () => {
          waiting.delete(admit);
          refused++;
          reject(new AppError('database_unavailable'));
        };
        const timer = setTimeout(giveUp, Math.max(0, deadline.at - performance.now()));
        waiting.add(admit);
      });
    },
    leave(): void {
      const [next] = waiting; // a Set keeps the order of arrival
      if (next === undefined) {
        inside--;
        return;
      }
      waiting.delete(next);
      next(); // our place is handed over, `inside` stays
    },
    /** true: the caller has a reserved place. false: none is free, and the caller enters like everybody. */
    takeReserved(): boolean {
      if (insideReserved >= reserved) return false;
      insideReserved++;
      return true;
    },
    leaveReserved(): void {
      insideReserved--;
    },
    /** Plain numbers; refused are those who came too many or waited too long. */
    figures: () => ({ inside: inside + insideReserved, waiting: waiting.size, refused }),
  };
}
