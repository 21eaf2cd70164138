// Asks other relays for their members of a talkgroup, and waits for the answers for a short time.
import { bodyOf, type MembersAsked, type MembersTold } from './bodies.js';

/** A relay that has not answered after this time (ms) is left out. */
const ANSWER_MS_MAX = 300;

interface Waiting {
  readonly relays: Set<number>;
  readonly told: MembersTold[];
  readonly done: () => void;
}

export class MemberAsks {
  private readonly send: (relay: number, body: Uint8Array) => void;
  private readonly waiting = new Map<number, Waiting>();
  private last = 0;

  /** `send` asks one relay. */
  constructor(send: (relay: number, body: Uint8Array) => void) {
    this.send = send;
  }

  /** Resolves when all of them have answered, or in time without the others. */
  ask(relays: readonly number[], about: Omit<MembersAsked, 'ask'>): Promise<readonly MembersTold[]> {
    this.last = (this.last + 1) % 2 ** 32;
    const ask = this.last;
    const told: MembersTold[] = [];
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        this.waiting.delete(ask);
        resolve(told);
      };
      const timer = setTimeout(done, ANSWER_MS_MAX);
      this.waiting.set(ask, { relays: new Set(relays), told, done });
      const body = bodyOf({ ask, ...about });
      for (const relay of relays) this.send(relay, body);
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
