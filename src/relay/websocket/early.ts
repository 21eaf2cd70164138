// Keeps what a client sends between the 101 and WELCOME, within bounds, and carries it out behind WELCOME in order.
import type { UserId } from '../../ids.js';
import type { Ref } from '../../protocol/bodies.js';
import type { Counts } from '../figures/counts.js';
import { Flood } from '../limits/flood.js';

/** Of one socket: a client that begins with a position, a subscription and the first frames of a burst has room. */
const MESSAGES_MAX = 8;
const SOCKET_BYTES = 16 * 1024;
/** Of one user, over all sockets that wait. */
const USER_BYTES = 64 * 1024;
/** Of all users together. */
const ALL_BYTES = 4 * 1024 * 1024;
/** Of messages beyond these bounds, at most 64 characters each: the answers are bounded as the messages are. */
const REFS_MAX = 8;
/** Listeners hear nothing older. The client library sends nothing older either. */
const AUDIO_MS_MAX = 500;

export interface EarlyOptions {
  readonly counts: Pick<Counts, 'dropped' | 'textsDropped' | 'textsIn'>;
  readonly limits: {
    readonly framesPerSecond: number;
    readonly controlPerSecond: number;
    /** WebSocket pings. */
    readonly pingsPerSecond: number;
  };
  /** The ref of a client's text, undefined when it has none that is valid. */
  readonly refOf: (text: string) => Ref | undefined;
  /** Monotonic milliseconds. */
  readonly nowMs: () => number;
}

/** The part of a session that carries messages out. A message from before WELCOME comes with the time of its arrival. */
export interface Carrier {
  readonly isLive: boolean;
  receiveAudio(message: ArrayBuffer, arrivedAtMs?: number): unknown;
  receiveText(message: ArrayBuffer, arrivedAtMs?: number): void;
  /** Answers a text with an ERROR, and counts it. */
  refuseText(code: 'unavailable', about: { readonly ref: Ref | undefined }): void;
}

interface Kept {
  readonly message: ArrayBuffer;
  readonly isBinary: boolean;
  readonly arrivedAtMs: number;
}

/** What is kept of all sockets of one relay. */
export class EarlyMessages {
  readonly options: EarlyOptions;
  private readonly ofUsers = new Map<UserId, number>();
  private all = 0;

  constructor(options: EarlyOptions) {
    this.options = options;
  }

  /** What the user's next socket sends. */
  of(user: UserId): Early {
    return new Early(this, user);
  }

  /** Bytes that are kept. */
  get bytes(): number {
    return this.all;
  }

  fits(user: UserId, bytes: number): boolean {
    return this.all + bytes <= ALL_BYTES && (this.ofUsers.get(user) ?? 0) + bytes <= USER_BYTES;
  }

  /** So many bytes more, or less. */
  add(user: UserId, bytes: number): void {
    this.all += bytes;
    const ofUser = (this.ofUsers.get(user) ?? 0) + bytes;
    if (ofUser === 0) this.ofUsers.delete(user);
    else this.ofUsers.set(user, ofUser);
  }
}

/** What one socket sent before its WELCOME. Made with the first message. */
export class Early {
  private readonly store: EarlyMessages;
  private readonly user: UserId;
  private readonly kept: Kept[] = [];
  private bytes = 0;
  private readonly refs: Ref[] = [];
  /** From the first message without room on: a client's messages are carried out up to one of them, with no gap. */
  private isFull = false;
  private readonly texts: Flood;
  private readonly frames: Flood;
  private readonly pings: Flood;

  constructor(store: EarlyMessages, user: UserId) {
    const { framesPerSecond, controlPerSecond, pingsPerSecond } = store.options.limits;
    this.store = store;
    this.user = user;
    this.texts = new Flood(controlPerSecond);
    this.frames = new Flood(framesPerSecond);
    this.pings = new Flood(pingsPerSecond);
  }

  /** Keeps a copy of the message, or its ref, or drops it. false: the client floods, and its socket must be closed. */
  receive(message: ArrayBuffer, isBinary: boolean): boolean {
    const arrivedAtMs = this.store.options.nowMs();
    this.isFull ||= !this.fits(message.byteLength);
    if (this.isFull) this.receiveBeyond(message, isBinary);
    else {
      this.kept.push({ message: message.slice(0), isBinary, arrivedAtMs }); // the engine takes its buffer back
      this.book(message.byteLength);
    }
    return !(isBinary ? this.frames : this.texts).hit(arrivedAtMs);
  }

  private fits(bytes: number): boolean {
    return (
      this.kept.length < MESSAGES_MAX &&
      this.bytes + bytes <= SOCKET_BYTES &&
      this.store.fits(this.user, bytes)
    );
  }

  private receiveBeyond(message: ArrayBuffer, isBinary: boolean): void {
    const ref = isBinary || this.refs.length === REFS_MAX ? undefined : this.refOf(message);
    if (ref === undefined) this.countDrop(isBinary);
    else this.refs.push(ref);
  }

  private refOf(message: ArrayBuffer): Ref | undefined {
    return this.store.options.refOf(Buffer.from(message).toString('utf8'));
  }

  /** A WebSocket ping, or a pong, which answers no ping of ours yet. false: as above. */
  pinged(): boolean {
    return !this.pings.hit(this.store.options.nowMs());
  }

  /** The session has said WELCOME in this very step: it is given the messages until one of them closes it. */
  carryOut(session: Carrier): void {
    const { counts, nowMs } = this.store.options;
    const oldestMs = nowMs() - AUDIO_MS_MAX;
    try {
      for (let next = this.kept.shift(); next !== undefined; next = this.kept.shift()) {
        const { message, isBinary, arrivedAtMs } = next;
        if (!session.isLive) this.countDrop(isBinary);
        else if (!isBinary) session.receiveText(message, arrivedAtMs);
        else if (arrivedAtMs >= oldestMs) session.receiveAudio(message, arrivedAtMs);
        else counts.dropped.too_old++;
      }
      while (session.isLive && this.refs.length > 0) {
        counts.textsIn++;
        session.refuseText('unavailable', { ref: this.refs.shift() });
      }
    } finally {
      this.drop();
    }
  }

  /** Drops and counts what is left. The bytes are free again. Safe to repeat. */
  drop(): void {
    for (const { isBinary } of this.kept.splice(0)) this.countDrop(isBinary);
    for (const _ref of this.refs.splice(0)) this.countDrop(false);
    this.book(-this.bytes);
  }

  private book(bytes: number): void {
    this.bytes += bytes;
    this.store.add(this.user, bytes);
  }

  private countDrop(isBinary: boolean): void {
    const { dropped, textsDropped } = this.store.options.counts;
    if (isBinary) dropped.before_welcome++;
    else textsDropped.before_welcome++;
  }
}
