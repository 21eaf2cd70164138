// Spreads work over the turns of the event loop: what thousands of sockets need that open at once.

/** Items in one turn. At 10 µs each they delay a frame by at most a millisecond. */
const EACH_TURN = 100;
/** Share of the waiting items, when that is more: the last of ten thousand waits a dozen turns, however long they are. */
const SHARE = 1 / 4;

/**
 * Calls `act` for each item in the order they came, from the next turn on: a hundred in each turn, or a quarter of the
 * waiting ones. The number of waiting items is not bounded here: they are open sockets, which SOCKETS_MAX bounds.
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
