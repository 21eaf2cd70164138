// Counts what each of many keys holds of something scarce, so that none of them holds more than its share.

export type Shares<Key> = ReturnType<typeof createShares<Key>>;

/** Keys that hold nothing take no memory. */
export function createShares<Key>(max: number) {
  const held = new Map<Key, number>();
  const of = (key: Key) => held.get(key) ?? 0;
  return {
    of,
    admits: (key: Key) => of(key) < max,
    take(key: Key): void {
      held.set(key, of(key) + 1);
    },
    /** Once for each `take`. */
    giveBack(key: Key): void {
      const rest = of(key) - 1;
      if (rest > 0) held.set(key, rest);
      else held.delete(key);
    },
  };
}
