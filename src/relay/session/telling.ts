// Sends one session the snapshots of its talkgroups: in parts of bounded size, one part under way at a time.
import type { Ref, Refused, Snapshot } from '../../protocol/bodies.js';
import type { Draft } from '../../protocol/server-messages.js';
import { hasPart, type Talk } from '../floor/talk.js';
import type { Membership, Talkgroup, User } from '../members/members.js';
import type { FairClock } from '../reception/fair-clock.js';
import { type Part, subscribedText } from './messages.js';

/** Of snapshots in one message. With what stands around them it stays below 32 KiB. */
const PART_BYTES_MAX = 30 * 1024;
/** In all snapshots of one message. */
const EMERGENCIES_MAX = 32;

/** A session as it is told of its talkgroups. */
export interface Told {
  readonly user: User;
  readonly reception: { ping(text: string): void };
  hears(talkgroup: Talkgroup): boolean;
  talkAt(talkgroup: number): Talk | undefined;
  send(text: string): void;
}

export interface TellingServices {
  readonly fair: FairClock;
  readonly nowMs: () => number;
  /** The talkgroup as it is now, for this member. */
  readonly snapshot: (membership: Membership) => Draft<Snapshot>;
}

/**
 * The first part leaves at once, each other one when the client has answered a ping behind the part before. An empty
 * buffer of the engine would not do: the kernel takes megabytes for a narrow link, and audio would wait behind them.
 */
export class Telling {
  private readonly session: Told;
  private readonly services: TellingServices;
  /** Of these it is still to be told, each once: never more than the user's memberships. null: nothing is. */
  private owed: Set<Membership> | null = null;
  /** The clock in the ping behind the last part. null: none is under way. */
  private askedAtMs: number | null = null;
  /** Bytes of snapshots sent since a ping was answered. */
  private underWay = 0;
  /** What is done when the client has answered a ping of this clock. */
  private afterRead: { readonly askedAtMs: number; readonly act: () => void } | null = null;

  constructor(session: Told, services: TellingServices) {
    this.session = session;
    this.services = services;
  }

  /** For WELCOME: the first part of all that the session hears. `ask` must follow it. */
  begin(): Part & { readonly total: number } {
    this.stop();
    const heard = this.heard();
    const snapshots = this.take(heard);
    return { total: snapshots.length + heard.size, snapshots, more: this.owe(heard) };
  }

  /** Answers SUBSCRIBE: as many of these as fit beside what is under way. The others follow. */
  subscribed(memberships: readonly Membership[], refused: readonly Refused[], ref: Ref | undefined): void {
    const asked = new Set(memberships);
    const snapshots = this.take(asked);
    this.session.send(subscribedText({ snapshots, more: this.owe(asked, true) }, refused, ref));
    if (this.owed !== null || this.underWay > PART_BYTES_MAX / 2) this.ask();
  }

  /** Fresh snapshots of all that it hears, or of these, for a client that may have missed events there. */
  resync(missed?: ReadonlySet<Membership>): void {
    const heard = this.heard();
    this.owe(missed === undefined ? heard : new Set([...heard].filter((each) => missed.has(each))));
    if (this.askedAtMs === null) this.next(); // else behind the part under way
  }

  /** Calls `act` when the client has read what was sent before, unless its socket is gone first. One waits at most. */
  whenRead(act: () => void): void {
    const askedAtMs = this.services.fair.at(this.services.nowMs());
    this.afterRead = { askedAtMs, act };
    this.session.reception.ping(String(askedAtMs));
  }

  /** The client has read everything that was sent before this clock's ping. */
  answered(sentAtMs: number): void {
    const { afterRead } = this;
    if (afterRead !== null && sentAtMs >= afterRead.askedAtMs) {
      this.afterRead = null;
      afterRead.act();
    }
    if (this.askedAtMs === null || sentAtMs < this.askedAtMs) return;
    this.askedAtMs = null;
    this.underWay = 0;
    if (this.owed !== null) this.next();
  }

  /** Its socket is gone. The next WELCOME begins anew. */
  stop(): void {
    this.owed = null;
    this.askedAtMs = null;
    this.underWay = 0;
    this.afterRead = null;
  }

  /** A ping behind what was sent. */
  ask(): void {
    const fairMs = this.services.fair.at(this.services.nowMs());
    this.askedAtMs ??= fairMs;
    this.session.reception.ping(String(fairMs));
  }

  /** Also when all that was owed is heard no longer: the part before said that there is more. */
  private next(): void {
    const owed = this.owed ?? new Set();
    this.owed = null;
    const snapshots = this.take(owed);
    this.session.send(subscribedText({ snapshots, more: this.owe(owed) }, [], undefined));
    if (this.owed !== null) this.ask();
  }

  /** These follow behind what was owed before, or before it. Answers whether anything is still to be told. */
  private owe(memberships: ReadonlySet<Membership>, isFirst = false): boolean {
    const before = this.owed ?? [];
    if (memberships.size > 0)
      this.owed = new Set(isFirst ? [...memberships, ...before] : [...before, ...memberships]);
    return this.owed !== null;
  }

  /**
   * As many of them as there is room for beside what is under way, and at least one where nothing is. They are taken as
   * the message is sent, so none is stale.
   */
  private take(memberships: Set<Membership>): string[] {
    const snapshots: string[] = [];
    let bytes = this.underWay;
    let emergencies = 0;
    for (const membership of memberships) {
      const snapshot = this.show(membership);
      if (snapshot !== null) {
        const text = JSON.stringify(snapshot);
        bytes += Buffer.byteLength(text) + 1;
        emergencies += snapshot.emergencies.length;
        const isFull = bytes > PART_BYTES_MAX || emergencies > EMERGENCIES_MAX;
        if (isFull && (snapshots.length > 0 || this.underWay > 0)) break;
        snapshots.push(text);
        this.underWay = bytes;
      }
      memberships.delete(membership);
    }
    return snapshots;
  }

  /** null: left, in doubt or unsubscribed. */
  private show(membership: Membership): Draft<Snapshot> | null {
    const { user, talkgroup, granted } = membership;
    const isHeard = granted && this.session.hears(talkgroup);
    return isHeard && user.memberships.has(talkgroup.number) ? this.services.snapshot(membership) : null;
  }

  /** First those where it talks or waits: a client that resumes goes on there. */
  private heard(): Set<Membership> {
    const { session } = this;
    const heard = [...session.user.memberships.values()].filter(
      ({ granted, talkgroup }) => granted && session.hears(talkgroup),
    );
    const isFirst = ({ talkgroup }: Membership) => {
      const talk = session.talkAt(talkgroup.number);
      return talk !== undefined && hasPart(talk);
    };
    return new Set([...heard.filter(isFirst), ...heard]);
  }
}
