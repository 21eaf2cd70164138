// Which relays are to be asked about which talkgroups, and which of them have not answered yet. It has no clock.

/** Questions in one part: 60 KiB. With a part every 10 ms, 45,000 in a second. */
export const PART_MAX = 500;
/**
 * Questions that one relay has not answered, at first, but for those that sessions wait for. Each answer admits one more, up
 * to PART_MAX. When a relay comes back, all others ask it at the same time: 49 with 500 questions each stopped its audio for
 * 0.1 s again and again.
 */
export const OPEN_MIN = 32;
/** A question without an answer is asked again after this time (ms). */
export const AGAIN_MS = 2000;
/**
 * The same for one of `soon`, while at most OPEN_MIN questions are open: with each beacon. In a cut of less than 1.5 s both
 * relays stay up. When the first member came meanwhile, neither knew of the other, and for up to 2 s each gave the floor.
 */
export const SOON_AGAIN_MS = 200;

interface Question {
  /** When it was asked (monotonic ms). */
  readonly atMs: number;
  readonly isSoon: boolean;
}

interface Asked {
  /** Asked first: sessions wait. */
  readonly soon: Set<number>;
  readonly later: Set<number>;
  /** Talkgroups asked about. */
  readonly open: Map<number, Question>;
  /** Of `later`, none is asked beyond this number of open ones. */
  openMax: number;
}

/** Bounded by the talkgroups of this relay, for each relay that can be reached. */
export class Asking {
  private readonly relays = new Map<number, Asked>();

  private of(relay: number): Asked {
    const known = this.relays.get(relay);
    if (known !== undefined) return known;
    const asked: Asked = { soon: new Set(), later: new Set(), open: new Map(), openMax: OPEN_MIN };
    this.relays.set(relay, asked);
    return asked;
  }

  add(relay: number, number: number): void {
    this.of(relay).soon.add(number);
  }

  /** What it was asked before about one of them does not count: question or answer may be lost. */
  addLater(relay: number, numbers: Iterable<number>): void {
    const asked = this.of(relay);
    asked.openMax = OPEN_MIN;
    for (const number of numbers) {
      asked.open.delete(number);
      asked.later.add(number);
    }
  }

  /** Whether there is something to take. */
  get isWaiting(): boolean {
    for (const { soon, later } of this.relays.values()) if (soon.size + later.size > 0) return true;
    return false;
  }

  /** What to ask now, at most PART_MAX questions: first what waits, then the relays in turn. */
  take(nowMs: number): [relay: number, numbers: number[]][] {
    const taken = new Map<number, number[]>();
    let room = PART_MAX;
    for (const which of ['soon', 'later'] as const)
      for (const [relay, asked] of this.relays) {
        for (const number of asked[which]) {
          if (room === 0 || (which === 'later' && asked.open.size >= asked.openMax)) break;
          room--;
          asked.soon.delete(number);
          asked.later.delete(number);
          asked.open.set(number, { atMs: nowMs, isSoon: which === 'soon' });
          const numbers = taken.get(relay) ?? [];
          numbers.push(number);
          taken.set(relay, numbers);
        }
      }
    for (const relay of taken.keys()) this.putBehind(relay);
    return [...taken];
  }

  private putBehind(relay: number): void {
    const asked = this.relays.get(relay);
    this.relays.delete(relay);
    if (asked !== undefined) this.relays.set(relay, asked);
  }

  /** The relay has answered, or the question is void. One that waits behind the answer is asked. */
  answered(relay: number, number: number): void {
    const asked = this.relays.get(relay);
    if (asked === undefined) return;
    if (asked.open.delete(number)) asked.openMax = Math.min(PART_MAX, asked.openMax + 1);
    asked.later.delete(number);
  }

  /** What was not answered is to be asked again. */
  repeat(nowMs: number): void {
    for (const asked of this.relays.values()) {
      const areFew = asked.open.size <= OPEN_MIN;
      for (const [number, { atMs, isSoon }] of asked.open) {
        const waitedMs = nowMs - atMs;
        if (isSoon && areFew && waitedMs >= SOON_AGAIN_MS) asked.soon.add(number);
        if (waitedMs < AGAIN_MS) continue;
        asked.open.delete(number);
        asked.later.add(number);
        asked.openMax = OPEN_MIN;
      }
    }
  }

  /** The relay is down. */
  forget(relay: number): void {
    this.relays.delete(relay);
  }
}
