// Which talkgroups exist, asked for by many at once and from the database by one query at a time.

/** By ids or by numbers. */
export type Lookup<Key> = (keys: readonly Key[]) => Promise<ReadonlySet<Key>>;

/** Keys in one query; whoever asks while one is under way waits for the next. */
const BATCH = 2000;
/** Keys that wait; whoever asks for more is refused, as if the database were away. */
const WAITING_MAX = 20_000;

/** Answers those of the keys that talkgroups have. Rejects when the database does not answer, or too many wait. */
export function createLookup<Key>(read: Lookup<Key>): Lookup<Key> {
  let waiting = new Set<Key>();
  let next: Promise<ReadonlySet<Key>> | null = null;
  let current: Promise<unknown> = Promise.resolve();
  /** Asked for and not yet in a query. */
  let pending = 0;
  /** Of these, those that go with the next one; a key may be asked for twice. */
  let count = 0;

  function readNext(): Promise<ReadonlySet<Key>> {
    const keys = [...waiting];
    pending -= count;
    count = 0;
    waiting = new Set();
    next = null;
    const reading = read(keys);
    current = reading.catch(() => {}); // whoever asked hears of it
    return reading;
  }

  return async (keys) => {
    if (pending + keys.length > WAITING_MAX) throw new Error('too many look-ups wait');
    pending += keys.length;
    // A full batch goes with the one after it.
    while (next !== null && waiting.size + keys.length > BATCH) await current;
    for (const key of keys) waiting.add(key);
    count += keys.length;
    next ??= current.then(readNext);
    return next;
  };
}
