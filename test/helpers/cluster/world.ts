// A network in virtual time: relays that send to each other, with delays, losses, cuts in one direction, and stops.
import { promiseHooks } from 'node:v8';
import { randomFrom } from '../random.js';

/** Numbers that a seed repeats. */
export function createRandom(seed: number) {
  const { next } = randomFrom(seed);
  return {
    next,
    /** From 0 to `below` - 1. */
    below: (below: number) => Math.floor(next() * below),
    between: (low: number, high: number) => low + next() * (high - low),
    chance: (probability: number) => next() < probability,
    pick<T>(of: readonly T[]): T {
      const one = of[Math.floor(next() * of.length)];
      if (one === undefined) throw new Error('nothing to pick from');
      return one;
    },
  };
}
export type Random = ReturnType<typeof createRandom>;

interface Due {
  readonly atMs: number;
  readonly order: number;
  readonly act: () => void;
}

/** Calls what is due, in the order of time. */
export function createSchedule() {
  const heap: Due[] = [];
  let nowMs = 0;
  let order = 0;
  let failure: Error | null = null;
  const isBefore = (a: Due, b: Due) => a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);

  function push(due: Due): void {
    let at = heap.push(due) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = heap[parent] as Due;
      if (!isBefore(due, above)) break;
      heap[at] = above;
      at = parent;
    }
    heap[at] = due;
  }

  function pop(): Due | undefined {
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined || heap.length === 0) return first;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      const left = heap[child];
      if (left === undefined) break;
      const right = heap[child + 1];
      const least = right !== undefined && isBefore(right, left) ? right : left;
      if (least === right) child++;
      if (!isBefore(least, last)) break;
      heap[at] = least;
      at = child;
    }
    heap[at] = last;
    return first;
  }

  /** What is due next, at its time. null: nothing is up to this time. */
  function next(untilMs: number): Due | null {
    if (heap[0] === undefined || heap[0].atMs > untilMs) return null;
    const due = pop() as Due;
    nowMs = due.atMs;
    return due;
  }

  return {
    now: () => nowMs,
    /** `pass` rejects with this. The first one counts. */
    fail(error: Error): void {
      failure ??= error;
    },
    at(atMs: number, act: () => void): void {
      push({ atMs: Math.max(atMs, nowMs), order: order++, act });
    },
    in(ms: number, act: () => void): void {
      push({ atMs: nowMs + ms, order: order++, act });
    },
    /** Up to this time. */
    run(untilMs: number): void {
      for (let due = next(untilMs); due !== null; due = next(untilMs)) due.act();
      nowMs = untilMs;
    },
    /** The same. What follows from a promise comes before what is due next. */
    async pass(untilMs: number): Promise<void> {
      let isPromised = false;
      const promised = () => {
        isPromised = true;
      };
      const unhook = promiseHooks.createHook({ init: promised, settled: promised });
      try {
        for (let due = next(untilMs); due !== null; due = next(untilMs)) {
          try {
            due.act();
          } catch (error) {
            throw failure ?? error;
          }
          if (failure !== null) throw failure;
          if (!isPromised) continue;
          await new Promise((resolve) => setImmediate(resolve));
          isPromised = false;
        }
      } finally {
        unhook();
      }
      nowMs = untilMs;
    },
  };
}
export type Schedule = ReturnType<typeof createSchedule>;

/** More than these in one history are a storm: an answer that asks again. */
const MESSAGES_MAX = 100_000;

/** A relay on the network. */
export interface Station {
  readonly id: number;
  receive(message: unknown): void;
  hears(topic: string): boolean;
  /** Before and after the messages that waited while it was stopped. */
  wake(): void;
  woke(): void;
}

export function createNetwork(schedule: Schedule, random: Random) {
  const stations = new Map<number, Station>();
  const lastAtMs = new Map<string, number>();
  /** What waits for a relay that is stopped. */
  const stopped = new Map<number, unknown[]>();
  const cuts = new Set<string>();
  /** When a message from one relay to another was last lost by chance. */
  const lostAtMs = new Map<string, number>();
  let loss = 0;
  let sent = 0;
  /** When what can be reached last changed. */
  let changedAtMs = 0;
  let delayMax = 4;
  const changed = () => {
    changedAtMs = schedule.now();
  };

  function deliver(to: number, message: unknown): void {
    const waiting = stopped.get(to);
    if (waiting !== undefined) waiting.push(message);
    else stations.get(to)?.receive(message);
  }

  /** What one relay says to another on one topic arrives in its order, or not at all. */
  function send(from: number, to: number, topic: string, message: unknown): void {
    if (++sent > MESSAGES_MAX) throw new Error(`${sent} messages`);
    if (cuts.has(`${from} ${to}`)) return;
    if (random.chance(loss)) {
      lostAtMs.set(`${from} ${to}`, schedule.now());
      return;
    }
    const way = `${from} ${to} ${topic}`;
    const atMs = Math.max(schedule.now() + random.between(0.3, delayMax), lastAtMs.get(way) ?? 0);
    lastAtMs.set(way, atMs);
    schedule.at(atMs, () => deliver(to, message));
  }

  const hears = (one: number, other: number) => !cuts.has(`${one} ${other}`);

  return {
    /** To all others that hear the topic. */
    publish(from: number, topic: string, message: unknown): void {
      for (const [to, station] of stations)
        if (to !== from && station.hears(topic)) send(from, to, topic, message);
    },
    join(station: Station): void {
      stations.set(station.id, station);
      changed();
    },
    leave(id: number): void {
      stations.delete(id);
      stopped.delete(id);
      changed();
    },
    /** In this direction alone. */
    cut(from: number, to: number): void {
      cuts.add(`${from} ${to}`);
      changed();
    },
    mend(): void {
      cuts.clear();
      changed();
    },
    stop(id: number): void {
      if (!stopped.has(id)) stopped.set(id, []);
      changed();
    },
    isStopped: (id: number) => stopped.has(id),
    go(id: number): void {
      const waiting = stopped.get(id);
      if (waiting === undefined) return;
      stopped.delete(id);
      changed();
      const station = stations.get(id);
      station?.wake();
      for (const message of waiting) station?.receive(message);
      station?.woke();
    },
    lose(probability: number): void {
      loss = probability;
    },
    /** Messages take this long (ms) at most. */
    slow(ms: number): void {
      delayMax = ms;
    },
    /** Both run, and hear each other. */
    reach: (one: number, other: number) =>
      stations.has(one) &&
      stations.has(other) &&
      !stopped.has(one) &&
      !stopped.has(other) &&
      hears(one, other) &&
      hears(other, one),
    isLossy: () => loss > 0,
    changedAtMs: () => changedAtMs,
    lostAtMs: (from: number, to: number) => lostAtMs.get(`${from} ${to}`) ?? Number.NEGATIVE_INFINITY,
    stoppedCount: () => stopped.size,
  };
}
export type Network = ReturnType<typeof createNetwork>;
