// Accounts for what one listener is given: every frame once and in order or told by LAG, and every event number.
import { nowMs } from '../machine/clock.js';
import type { Said } from './raw-radio.js';

/** Over all listeners of a process. All but `received`, `lags`, `missed` and `snapshots` should be 0. */
export interface Receipts {
  received: number;
  /** Frames that neither came nor were told as missed. */
  untold: number;
  /** Frames that LAG told as missed, and that came or never were. */
  overtold: number;
  repeated: number;
  outOfOrder: number;
  /** Frames that did not come between TALK_STARTED and TALK_ENDED of their burst. */
  misplaced: number;
  lags: number;
  /** Frames that LAG told as missed. */
  missed: number;
  /** LAG that came to a listener which had read every frame in time. */
  wrongLags: number;
  eventsMissing: number;
  eventsRepeated: number;
  /** SUBSCRIBED that no listener had asked for: a message may have been lost. */
  snapshots: number;
}

export const newReceipts = (): Receipts => ({
  ...{ received: 0, untold: 0, overtold: 0, repeated: 0, outOfOrder: 0, misplaced: 0 },
  ...{ lags: 0, missed: 0, wrongLags: 0, eventsMissing: 0, eventsRepeated: 0, snapshots: 0 },
});

/**
 * Half of BACKLOG_MS. The relay measures a round trip, and a frame shows one way of it. A receiver that reads each frame
 * sooner is not late by a second.
 */
const LATE_MS = 500;
/** A stall is judged within 3 s: 2 s to the next ping, and a second until it is late. The audio before LAG is read first. */
const JUDGED_MS = 3_000;

interface Missed {
  readonly talkgroup_id: string;
  readonly missed: number;
}

interface Snapshot {
  readonly talkgroup_id: string;
  readonly event: number;
}

/** Of one listener in one talkgroup with one talker, who numbers all its frames from 0. Thousands live at once, hence a class. */
export class Receipt {
  /** The last event, by its number. */
  event = 0;
  private readonly talkgroupId: string;
  private readonly all: Receipts;
  /** The frame that is due next, behind those that were told as missed. */
  private next = 0;
  private newest = -1;
  /** Frames that are `untold` so far. null: there never was one. */
  private missing: Set<number> | null = null;
  /** The burst that was announced and has not ended. 0: none. */
  private burst = 0;
  /** When it last read a frame late. */
  private lateAtMs = Number.NEGATIVE_INFINITY;

  constructor(talkgroupId: string, all: Receipts) {
    this.talkgroupId = talkgroupId;
    this.all = all;
  }

  /** Runs once for each delivery. */
  take(sequence: number, burst: number, dueMs: number, atMs: number): void {
    if (atMs - dueMs > LATE_MS) this.lateAtMs = atMs;
    if (sequence !== this.next && !this.takeOutOfTurn(sequence)) return;
    if (burst !== this.burst) this.all.misplaced++;
    this.all.received++;
    if (sequence < this.next) return;
    this.newest = sequence;
    this.next = sequence + 1;
  }

  /** false: it was heard before. */
  private takeOutOfTurn(sequence: number): boolean {
    const { all, next } = this;
    if (sequence <= this.newest) {
      if (this.missing?.delete(sequence) !== true) {
        all.repeated++;
        return false;
      }
      all.untold--;
      all.outOfOrder++;
    } else if (sequence < next) {
      all.overtold += next - sequence;
      this.next = sequence;
    } else {
      this.missing ??= new Set();
      for (let skipped = next; skipped < sequence; skipped++) this.missing.add(skipped);
      all.untold += sequence - next;
    }
    return true;
  }

  /** A text message of the relay. */
  told(said: Said): void {
    switch (said.type) {
      case 'TALK_STARTED':
        this.count(Number(said.event));
        this.burst = Number(said.burst);
        break;
      case 'TALK_ENDED':
        this.count(Number(said.event));
        this.burst = 0;
        break;
      case 'WELCOME':
        this.begin(said.talkgroups);
        break;
      case 'SUBSCRIBED':
        this.all.snapshots++;
        this.begin(said.talkgroups);
        break;
      case 'LAG':
        this.lag(said.talkgroups, Number(said.since_ms));
        break;
    }
  }

  private count(event: number): void {
    if (event <= this.event) this.all.eventsRepeated++;
    else this.all.eventsMissing += event - this.event - 1;
    this.event = Math.max(this.event, event);
  }

  private begin(talkgroups: unknown): void {
    const own = this.ownIn(talkgroups as readonly Snapshot[]); // as docs/protocol.md has it
    if (own !== undefined) this.event = own.event;
  }

  private ownIn<Of extends { readonly talkgroup_id: string }>(all: readonly Of[]): Of | undefined {
    return all.find(({ talkgroup_id }) => talkgroup_id === this.talkgroupId);
  }

  /** It comes before the first frame behind the gap. */
  private lag(talkgroups: unknown, sinceMs: number): void {
    const own = this.ownIn(talkgroups as readonly Missed[]); // as docs/protocol.md has it
    this.all.lags++;
    this.all.missed += own?.missed ?? 0;
    this.next += own?.missed ?? 0;
    if (nowMs() - this.lateAtMs > sinceMs + JUDGED_MS) this.all.wrongLags++;
  }

  /** Whether all is accounted for, of so many frames and with this last event. */
  isComplete(frames: number, event: number): boolean {
    return this.next >= frames && this.event >= event;
  }

  /** Nothing more comes. What is not accounted for is lost. */
  close(frames: number, event: number): void {
    this.all.untold += Math.max(0, frames - this.next);
    this.all.overtold += Math.max(0, this.next - frames);
    this.all.eventsMissing += Math.max(0, event - this.event);
    this.next = frames;
    this.event = Math.max(this.event, event);
  }
}
