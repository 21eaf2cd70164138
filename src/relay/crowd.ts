// Sockets that come and go by the thousand within a second, as when a network is lost and back, and those who talk on.
//
// The engine sends what was published at the end of a turn of the loop, behind all who came and went in it. While they
// crowd, that end is half a second away, and audio is sent to each receiver as it comes; and what they need from us is
// done for a few of them in each turn.

/** Sockets that come or go, each some 50 µs of the engine's time. */
export interface Crowd {
  /** One of them. */
  passes(): void;
  /** They crowd, or did a moment ago: the turn may be long. */
  isThick(nowMs: number): boolean;
}

/** So many within so long take a tenth of the time. */
const CROWD = 100;
const WITHIN_MS = 50;
/** A turn that begins with a frame may go on with the crowd's next push. */
const LASTS_MS = 1000;

export function createCrowd(nowMs: () => number): Crowd {
  let passed = 0;
  let sinceMs = Number.NEGATIVE_INFINITY;
  let untilMs = Number.NEGATIVE_INFINITY;
  return {
    passes() {
      const now = nowMs();
      if (now - sinceMs > WITHIN_MS) {
        sinceMs = now;
        passed = 0;
      }
      if (++passed >= CROWD) untilMs = now + LASTS_MS;
    },
    isThick: (now) => now < untilMs,
  };
}

/** At 10 µs each they delay a frame by no more than a millisecond. */
const EACH_TURN = 100;
/** When more wait than that is good for: so that the last of ten thousand waits a dozen turns, however long they are. */
const SHARE = 1 / 4;

/**
 * Does `act` for each item in the order they came, from the next turn on, a hundred in each, or a quarter of those who
 * wait. How many may wait is not bounded here: they are open sockets, of which SOCKETS_MAX bounds the number.
 */
export function byTurns<T>(act: (item: T) => void): (item: T) => void {
  const waiting = new Set<T>();
  let isDue = false;

  function turn(): void {
    isDue = false;
    let left = Math.max(EACH_TURN, Math.ceil(SHARE * waiting.size));
    for (const item of waiting) {
      if (left-- === 0) break;
      waiting.delete(item);
      act(item);
    }
    if (waiting.size > 0) plan();
  }

  function plan(): void {
    if (isDue) return;
    isDue = true;
    setImmediate(turn);
  }

  return (item) => {
    waiting.add(item);
    plan();
  };
}
