// Asks other relays something, again and again, until each of them has answered or the time is over.
import type { Clock, Timer } from '../clock.js';

/** What came in time. */
export interface Answers<Answer> {
  readonly told: readonly Answer[];
  /** All of them answered. */
  readonly isWhole: boolean;
}

class Open<Answer> {
  readonly answers: Promise<Answers<Answer>>;
  private resolve: (answers: Answers<Answer>) => void = () => {};
  /** Relays that have not answered. */
  private readonly left: Set<number>;
  private readonly told: Answer[] = [];
  private isWhole = true;
  private isOver = false;
  private readonly over: () => void;
  private readonly clock: Clock;
  private readonly timers: Timer[] = [];

  constructor(relays: readonly number[], clock: Clock, over: () => void) {
    this.left = new Set(relays);
    this.over = over;
    this.clock = clock;
    this.answers = new Promise((resolve) => {
      this.resolve = resolve;
    });
  }

  begin(say: (relay: number) => void, againMs: number, msMax: number): void {
    const { clock } = this;
    const ask = () => {
      for (const relay of this.left) say(relay);
    };
    this.timers.push(clock.every(againMs, ask));
    // Timers run before sockets are read: after a stall of our own the answer may be there.
    this.timers.push(clock.after(msMax, () => clock.soon(() => this.end())));
    ask();
    if (this.left.size === 0) this.end();
  }

  answered(relay: number, answer: Answer): void {
    if (!this.left.delete(relay)) return;
    this.told.push(answer);
    if (this.left.size === 0) this.end();
  }

  forget(relay: number): void {
    if (!this.left.delete(relay)) return;
    this.isWhole = false;
    if (this.left.size === 0) this.end();
  }

  end(): void {
    if (this.isOver) return;
    this.isOver = true;
    for (const timer of this.timers) this.clock.stop(timer);
    this.over();
    this.resolve({ told: this.told, isWhole: this.isWhole && this.left.size === 0 });
  }
}

/** Questions of one kind, by number. Each takes one answer of each relay. */
export class NumberedQuestions<Answer = null> {
  private readonly clock: Clock;
  private readonly againMs: number;
  private readonly open = new Map<number, Open<Answer>>();
  private last = 0;

  /** An unanswered question is asked again after this time (ms), because a message may be lost. */
  constructor(clock: Clock, againMs: number) {
    this.clock = clock;
    this.againMs = againMs;
  }

  /** Those that wait for an answer. */
  get size(): number {
    return this.open.size;
  }

  /** A number (u32) for the next question. It comes again after all others. */
  next(): number {
    this.last = (this.last + 1) % 2 ** 32;
    return this.last;
  }

  /**
   * Asks these relays. Resolves with their answers when all are there, or after `msMax` (ms) with those that are. A question
   * with the same number must be over.
   */
  ask(
    number: number,
    relays: readonly number[],
    msMax: number,
    say: (relay: number) => void,
  ): Promise<Answers<Answer>> {
    const one = new Open<Answer>(relays, this.clock, () => this.open.delete(number));
    this.open.set(number, one);
    one.begin(say, this.againMs, msMax);
    return one.answers;
  }

  /** What `ask` promised. undefined: there is no such question, or it is over. */
  answersTo(number: number): Promise<Answers<Answer>> | undefined {
    return this.open.get(number)?.answers;
  }

  /** Ignored when the relay was not asked, or has answered, or the question is over. */
  answered(relay: number, number: number, answer: Answer): void {
    this.open.get(number)?.answered(relay, answer);
  }

  /** The relay is down: its answers are not waited for. */
  forget(relay: number): void {
    for (const one of [...this.open.values()]) one.forget(relay);
  }

  /** The answers to this question are not waited for any longer. */
  end(number: number): void {
    this.open.get(number)?.end();
  }

  close(): void {
    for (const one of [...this.open.values()]) one.end();
  }
}
