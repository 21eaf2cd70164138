// Asks other relays for their members of a talkgroup, and waits for the answers for a short time.
import type { Clock } from '../clock.js';
import { bodyOf, type MembersAsked, type MembersTold } from './bodies.js';

/** A relay that has not answered after this time (ms) is asked again: a message may be lost. */
const AGAIN_MS = 75;
/** A relay that has not answered after so many times that is left out: after 300 ms. */
const TIMES_MAX = 4;

/** What came in time. */
export interface MembersAnswers {
  readonly told: readonly MembersTold[];
  /** All of them answered. */
  readonly isWhole: boolean;
}

interface Waiting {
  readonly relays: Set<number>;
  readonly told: MembersTold[];
  readonly done: () => void;
}

export class MemberAsks {
  private readonly send: (relay: number, body: Uint8Array) => void;
  private readonly clock: Clock;
  private readonly waiting = new Map<number, Waiting>();
  private last = 0;

  /** `send` asks one relay. */
  constructor(send: (relay: number, body: Uint8Array) => void, clock: Clock) {
    this.send = send;
    this.clock = clock;
  }

  /** Resolves when all of them have answered, or in time without the others. */
  ask(relays: readonly number[], about: Omit<MembersAsked, 'ask'>): Promise<MembersAnswers> {
    this.last = (this.last + 1) % 2 ** 32;
    const ask = this.last;
    const told: MembersTold[] = [];
    const unanswered = new Set(relays);
    return new Promise((resolve) => {
      const done = () => {
        this.clock.stop(timer);
        this.waiting.delete(ask);
        resolve({ told, isWhole: unanswered.size === 0 });
      };
      const waiting = { relays: unanswered, told, done };
      this.waiting.set(ask, waiting);
      const body = bodyOf({ ask, ...about });
      const send = () => {
        for (const relay of unanswered) this.send(relay, body);
      };
      let times = 0;
      const timer = this.clock.every(AGAIN_MS, () => {
        times++;
        if (times < TIMES_MAX) send();
        else done();
      });
      send();
    });
  }

  answered(relay: number, told: MembersTold): void {
    const one = this.waiting.get(told.ask);
    if (one === undefined || !one.relays.delete(relay)) return;
    one.told.push(told);
    if (one.relays.size === 0) one.done();
  }

  /** Ends all waiting, with the answers that have come. */
  close(): void {
    for (const { done } of [...this.waiting.values()]) done();
  }
}
