// Decides when a talk asks again for a floor that the server could not decide, and when it gives up.
import type { Clock } from '../clock.js';

/** Requests of a talk, the first one included. When no node answers, each takes 1 s and is followed by a wait of 0.5 s. */
const REQUESTS_MAX = 10;
/** Talkers who were denied together must not ask together: a wait is longer by up to this share. */
const JITTER = 0.5;

export type Retry = {
  /** Time until the talk may ask (ms). 0: now. The server drops what comes earlier. */
  readonly leftMs: number;
  /** The server could not decide, and drops frames for `retryMs`. Returns whether the talk asks again after the wait. */
  undecided(retryMs: number): boolean;
  /** The server decided. The requests are counted anew. */
  decided(): void;
};

/** `leftMs`: what is left of the wait of an earlier talk in the talkgroup. `random`: in [0, 1). */
export function createRetry(clock: Clock, random: () => number, leftMs: number): Retry {
  let mayAskAtMs = clock.nowMs() + leftMs;
  let requests = 0;
  return {
    get leftMs() {
      return Math.max(0, Math.ceil(mayAskAtMs - clock.nowMs()));
    },
    undecided(retryMs) {
      mayAskAtMs = clock.nowMs() + retryMs * (1 + JITTER * random());
      requests += 1;
      return requests < REQUESTS_MAX;
    },
    decided() {
      requests = 0;
    },
  };
}
