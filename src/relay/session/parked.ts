// Parked sessions in the order in which they are evicted: of the user with the most, the one parked longest.

/** What is parked: anything of a user. */
interface Owned {
  readonly user: object;
}

/** One user's parked sessions. */
interface Entry<One> {
  readonly user: object;
  /** The longest parked first. */
  readonly sessions: Set<One>;
  /** When the first of them was parked, counted in sessions parked ever. */
  first: number;
  /** Its place in the heap. */
  at: number;
}

/** Nothing is parked. Each change costs the logarithm of the number of users, a look nothing. */
export function createParked<One extends Owned>() {
  const orders = new Map<One, number>();
  const entries = new Map<object, Entry<One>>();
  /** A binary heap: each entry goes before the two at twice its index plus 1 and plus 2. */
  const heap: Entry<One>[] = [];
  let parkedEver = 0;

  function add(one: One): void {
    const entry = entries.get(one.user) ?? newEntry(one.user);
    orders.set(one, parkedEver++);
    entry.sessions.add(one);
    follow(entry);
  }

  function remove(one: One): void {
    const entry = entries.get(one.user);
    if (entry === undefined || !orders.delete(one)) return;
    entry.sessions.delete(one);
    if (entry.sessions.size > 0) follow(entry);
    else drop(entry);
  }

  function newEntry(user: object): Entry<One> {
    const entry = { user, sessions: new Set<One>(), first: 0, at: heap.length };
    entries.set(user, entry);
    heap.push(entry);
    return entry;
  }

  function drop(entry: Entry<One>): void {
    entries.delete(entry.user);
    const last = heap.pop();
    if (last === undefined || last === entry) return;
    put(last, entry.at);
    settle(last);
  }

  /** Its sessions are others now. */
  function follow(entry: Entry<One>): void {
    entry.first = orders.get(firstOf(entry.sessions) as One) ?? 0; // it has one
    settle(entry);
  }

  function settle(entry: Entry<One>): void {
    rise(entry);
    sink(entry);
  }

  function rise(entry: Entry<One>): void {
    for (let above = heap[(entry.at - 1) >> 1]; above !== undefined && goesBefore(entry, above); ) {
      swap(entry, above);
      above = heap[(entry.at - 1) >> 1];
    }
  }

  function sink(entry: Entry<One>): void {
    for (let below = belowOf(entry); below !== undefined && goesBefore(below, entry); ) {
      swap(entry, below);
      below = belowOf(entry);
    }
  }

  function belowOf({ at }: Entry<One>): Entry<One> | undefined {
    const [left, right] = [heap[2 * at + 1], heap[2 * at + 2]];
    return left !== undefined && right !== undefined && goesBefore(right, left) ? right : left;
  }

  function swap(one: Entry<One>, other: Entry<One>): void {
    const { at } = one;
    put(one, other.at);
    put(other, at);
  }

  function put(entry: Entry<One>, at: number): void {
    entry.at = at;
    heap[at] = entry;
  }

  return {
    add,
    remove,
    get size() {
      return orders.size;
    },
    countOf: (user: object) => entries.get(user)?.sessions.size ?? 0,
    /** The user's longest parked. */
    firstOf: (user: object) => firstOf(entries.get(user)?.sessions ?? []),
    /** The longest parked of the user with the most. Of several such users, the longest parked of all theirs. */
    next: () => firstOf(heap[0]?.sessions ?? []),
  };
}

function goesBefore<One>(one: Entry<One>, other: Entry<One>): boolean {
  const more = one.sessions.size - other.sessions.size;
  return more > 0 || (more === 0 && one.first < other.first);
}

const firstOf = <One>([first]: Iterable<One>): One | undefined => first;
