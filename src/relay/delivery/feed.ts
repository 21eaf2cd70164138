// Holds what one talkgroup sends: its topics, its live receivers, its buffered audio, and how much it has relayed.
import type { Elsewhere, OwnTurns } from './elsewhere.js';
import type { Hearer } from './hearer.js';
import type { Held, Hold } from './held.js';

/** One for each talkgroup, as long as the talkgroup is in memory. */
export class Feed {
  /** Number of the talkgroup. */
  readonly number: number;
  readonly audioTopic: string;
  readonly eventTopic: string;
  readonly presenceTopic: string;
  /** Number of the last event published here. A client that sees a gap missed one. */
  event = 0;
  /** Texts published here that uWebSockets.js may not have written to the sockets yet. */
  textsUnwritten = 0;
  /** Frames relayed ever. The difference of two readings is what a receiver missed. */
  relayed = 0;
  /** The same at the last tick of the housekeeping timer, when every published frame was in the sockets' buffers. */
  relayedAtMark = 0;
  /** When a tick last found new frames (monotonic ms). */
  heardAtMs = Number.NEGATIVE_INFINITY;
  /** The only live receiver. null: there are several, or none. */
  onlyHearer: Hearer | null = null;
  private readonly hearers = new Set<Hearer>();
  /** When the next of its live receivers is due to be pinged behind a frame (monotonic ms). */
  askAtMs = 0;
  /** Audio buffered for receivers that are not live. null while there are none: the hot path reads nothing else. */
  held: readonly Held[] | null = null;
  /** Audio buffered for live receivers while the relay is under load. null: none was lately. */
  waiting: Held | null = null;
  /** The relays elsewhere with receivers of it. null while there are none: the hot path reads nothing else. */
  elsewhere: Elsewhere | null = null;
  /** The order of bursts here. null: there is no other relay. */
  turns: OwnTurns | null = null;
  /** Sessions of those relays that get its events. */
  onlineElsewhere = 0;
  /** One of those sessions watches: its relay is told who comes and leaves here. */
  isWatchedElsewhere = false;

  constructor(number: number) {
    this.number = number;
    this.audioTopic = `a${number}`;
    this.eventTopic = `e${number}`;
    this.presenceTopic = `p${number}`;
  }

  /** Live receivers, in the order in which they are pinged behind its frames. */
  get live(): ReadonlySet<Hearer> {
    return this.hearers;
  }

  /** Moves a live receiver to the end of that order. */
  toTheEnd(hearer: Hearer): void {
    this.hearers.delete(hearer);
    this.hearers.add(hearer);
  }

  /** The receiver is live from now on. */
  enter(hearer: Hearer): void {
    this.hearers.add(hearer);
    this.count();
  }

  /** The receiver is not live any more, if it was. */
  exit(hearer: Hearer): void {
    this.hearers.delete(hearer);
    this.count();
  }

  private count(): void {
    const [first = null] = this.hearers.size === 1 ? this.hearers : [];
    this.onlyHearer = first;
  }
}

/** The topic of the receivers with this hold. null: of live receivers. */
export const topicOf = (feed: Feed, hold: Hold | null): string =>
  hold === null ? feed.audioTopic : `${hold.name}.${feed.number}`;

/** Sends all buffered audio of the talkgroup now. */
export function flushHeld({ held, waiting }: Feed): void {
  waiting?.flush();
  if (held !== null) for (const one of held) one.flush();
}

/** Called with every mark of the talkgroup. true: these marks will not change without new frames. */
export function markHeld(feed: Feed): boolean {
  const { held, waiting, relayed } = feed;
  let isSettled = waiting?.mark(relayed) ?? true;
  // From now on what is published is written at once, see `passedAtMark`.
  if (waiting?.isUnused) feed.waiting = null;
  for (const one of held ?? []) isSettled = one.mark(relayed) && isSettled;
  return isSettled;
}

/** The audio buffered under this hold, with null for live receivers. undefined: none is. */
export const heldBy = ({ held, waiting }: Feed, hold: Hold | null): Held | undefined =>
  hold === null ? (waiting ?? undefined) : held?.find((one) => one.hold === hold);

/** Frames relayed ever, without those that are buffered for this hearer. */
export const passedTo = (feed: Feed, hold: Hold | null, hearer: Hearer): number =>
  feed.relayed - (heldBy(feed, hold)?.waitingFor(hearer) ?? 0);

/** The frames that had certainly been written to every socket by the last mark. */
export const passedAtMark = (feed: Feed, hold: Hold | null): number =>
  heldBy(feed, hold)?.passedAtMark ?? feed.relayedAtMark;
