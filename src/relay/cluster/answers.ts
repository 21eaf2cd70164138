// Waits for what the other relays have of talkgroups that have their first receiver here.

import type { Clock, Timer } from '../clock.js';

/** An unanswered question is asked again after this time (ms). */
const AGAIN_MS = 25;
/** After this number of times, an answer is not waited for any longer: 100 ms, fifty round trips. */
const TIMES_MAX = 4;

interface Waiting {
  /** Talkgroups without all of their answers. */
  left: number;
  readonly done: () => void;
}

interface Open {
  /** Relays that have not answered. */
  readonly relays: Set<number>;
  readonly waiting: Set<Waiting>;
  times: number;
}

/** Bounded by the talkgroups and handshakes of this relay. */
export class Answers {
  /** By the number of the talkgroup. */
  private readonly open = new Map<number, Open>();
  private readonly again: (relay: number, number: number) => void;
  private readonly clock: Clock;
  private timer: Timer | null = null;

  /** `again` repeats a question. */
  constructor(again: (relay: number, number: number) => void, clock: Clock) {
    this.again = again;
    this.clock = clock;
  }

  /** These relays were asked about the talkgroup. */
  asked(relays: readonly number[], number: number): void {
    if (relays.length === 0) return;
    this.open.set(number, { relays: new Set(relays), waiting: new Set(), times: 0 });
    this.timer ??= this.clock.every(AGAIN_MS, () => this.tick());
  }

  answered(relay: number, number: number): void {
    const one = this.open.get(number);
    if (one?.relays.delete(relay) && one.relays.size === 0) this.settle(number, one);
  }

  /** The relay is down. */
  forget(relay: number): void {
    for (const number of [...this.open.keys()]) this.answered(relay, number);
  }

  /** The talkgroup has no receiver here any more. */
  drop(number: number): void {
    const one = this.open.get(number);
    if (one !== undefined) this.settle(number, one);
  }

  /** Resolves when the answers about these talkgroups are there, at the latest after 100 ms. null: they are. */
  ready(numbers: Iterable<number>): Promise<void> | null {
    const open = [...numbers].flatMap((number) => this.open.get(number) ?? []);
    if (open.length === 0) return null;
    return new Promise((done) => {
      const waiting = { left: open.length, done };
      for (const one of open) one.waiting.add(waiting);
    });
  }

  /** No answer is waited for any longer. */
  close(): void {
    for (const [number, one] of [...this.open]) this.settle(number, one);
  }

  private tick(): void {
    for (const [number, one] of [...this.open]) {
      one.times++;
      if (one.times >= TIMES_MAX) this.settle(number, one);
      else for (const relay of one.relays) this.again(relay, number);
    }
  }

  private settle(number: number, { waiting }: Open): void {
    this.open.delete(number);
    if (this.open.size === 0 && this.timer !== null) {
      this.clock.stop(this.timer);
      this.timer = null;
    }
    for (const one of waiting) {
      one.left--;
      if (one.left === 0) one.done();
    }
  }
}
