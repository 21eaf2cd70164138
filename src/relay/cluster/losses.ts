// Drops relays that are down from the talkgroups, some talkgroups in each turn of the loop.
//
// When the bus is away, all other relays are down in the same turn. With 49 of them in 5,000 talkgroups the audio of the
// radios here would wait 0.8 s.

/** Talkgroups in one turn. With 49 relays they take a few ms. */
const TALKGROUPS_PER_TURN = 125;

export interface Droppable {
  drop(...relays: readonly number[]): void;
}

/** Through all talkgroups, once for these relays. */
interface Pass<One extends Droppable> {
  readonly relays: Set<number>;
  readonly left: Iterator<One>;
}

/** Bounded by the relays that can be reached. */
export class Losses<One extends Droppable> {
  private readonly all: () => Iterator<One>;
  private readonly later: (act: () => void) => void;
  /** Lost since the pass began. */
  private readonly lost = new Set<number>();
  private pass: Pass<One> | null = null;
  private isArmed = false;

  /** `all` are the talkgroups now. An iterator may show those that come later, too. `later` calls `act` in the next turn. */
  constructor(all: () => Iterator<One>, later: (act: () => void) => void) {
    this.all = all;
    this.later = later;
  }

  /** The relay is down. */
  add(relay: number): void {
    this.lost.add(relay);
    this.arm();
  }

  /** The relay is up again. What it had before must be dropped before anything of it is heard. */
  finish(relay: number): void {
    const isUnfinished = this.lost.delete(relay) || this.pass?.relays.delete(relay) === true;
    if (!isUnfinished) return;
    const all = this.all();
    for (let next = all.next(); !next.done; next = all.next()) next.value.drop(relay);
  }

  private arm(): void {
    if (!this.isArmed) this.later(() => this.drop());
    this.isArmed = true;
  }

  private drop(): void {
    this.isArmed = false;
    if (this.pass === null && this.lost.size === 0) return;
    this.arm(); // first: a throw ends this turn, and not the rest
    this.pass ??= this.begin();
    for (let room = TALKGROUPS_PER_TURN; room > 0; room--) {
      const next = this.pass.left.next();
      if (next.done) {
        this.pass = null;
        return;
      }
      next.value.drop(...this.pass.relays);
    }
  }

  private begin(): Pass<One> {
    const relays = new Set(this.lost);
    this.lost.clear();
    return { relays, left: this.all() };
  }
}
