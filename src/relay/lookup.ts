// Which talkgroups exist, asked for by many at once and from the database by one query at a time.
import type { TalkgroupId } from '../ids.js';

export type Lookup = (ids: readonly TalkgroupId[]) => Promise<ReadonlySet<TalkgroupId>>;

/** Ids in one query; whoever asks while one is under way waits for the next. */
const BATCH = 2000;
/** Ids that wait; whoever asks for more is refused, as if the database were away. */
const WAITING_MAX = 20_000;

/** Answers those of the ids that talkgroups have. Rejects when the database does not answer, or too many wait. */
export function createLookup(read: Lookup): Lookup {
  let waiting = new Set<TalkgroupId>();
  let next: Promise<ReadonlySet<TalkgroupId>> | null = null;
  let current: Promise<unknown> = Promise.resolve();
  /** Asked for and not yet in a query. */
  let pending = 0;
  /** Of these, those that go with the next one; an id may be asked for twice. */
  let count = 0;

  function readNext(): Promise<ReadonlySet<TalkgroupId>> {
    const ids = [...waiting];
    pending -= count;
    count = 0;
    waiting = new Set();
    next = null;
    const reading = read(ids);
    current = reading.catch(() => {}); // whoever asked hears of it
    return reading;
  }

  return async (ids) => {
    if (pending + ids.length > WAITING_MAX) throw new Error('too many look-ups wait');
    pending += ids.length;
    // A full batch goes with the one after it.
    while (next !== null && waiting.size + ids.length > BATCH) await current;
    for (const id of ids) waiting.add(id);
    count += ids.length;
    next ??= current.then(readNext);
    return next;
  };
}
