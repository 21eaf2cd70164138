// What waits for another relay thread of this process, and the layout of the batches in which it is handed over.
//
// A batch has records one behind the other: kind (u8), number of the subscription (u32), length (u32), bytes. Numbers are
// those of the thread that subscribes, so that a frame needs no text to say what it is about.
import type { MessagePort } from 'node:worker_threads';
import type { Subject } from '../bus.js';
import { TURN_BYTES_MAX } from './outbox.js';

const kinds = { message: 1, subscribe: 2, unsubscribe: 3, ask: 4, answer: 5 } as const;
type Kind = (typeof kinds)[keyof typeof kinds];
const RECORD_BYTES = 9;
/** Of the buffer that is kept from turn to turn. */
const ARENA_BYTES = 64 * 1024;

/** A thread that has not read a batch for this time (ms) gets no more messages until it does, so none becomes older. */
export const UNREAD_MS_MAX = 500;
/** And none beyond this many bytes that it has not read. */
export const UNREAD_BYTES_MAX = 4 * 1024 * 1024;
/** It is asked whether it reads after this time (ms), or after so many bytes. */
const ASK_MS = 100;
const ASK_BYTES = 64 * 1024;
/**
 * Batches in a row that find the answer late. The first one comes from this thread when it itself stood still: the
 * answer is there, and read before the next batch.
 */
const LATE_BATCHES = 2;

/** The other thread, as this one talks to it. */
export class Sibling {
  private readonly port: MessagePort;
  private batch = Buffer.allocUnsafe(ARENA_BYTES);
  private used = 0;
  /** Of subscriptions here that it does not know yet, their subjects. null: it knows one that has ended. */
  private readonly untold = new Map<number, Subject | null>();
  private owesAnswer = false;
  private unreadBytes = 0;
  /** Bytes that it has read when it answers. */
  private askedBytes = 0;
  /** null: it was not asked, or has answered. */
  private askedAtMs: number | null = null;
  private answeredAtMs = Number.NEGATIVE_INFINITY;
  private lateBatches = 0;

  constructor(port: MessagePort) {
    this.port = port;
  }

  private get reads(): boolean {
    return this.lateBatches < LATE_BATCHES && this.unreadBytes < UNREAD_BYTES_MAX;
  }

  /** Copies a message for its subscription `id`. false: it does not read, or too many bytes wait already. */
  put(id: number, head: Uint8Array, body: Uint8Array): boolean {
    const bytes = head.byteLength + body.byteLength;
    if (!this.reads || this.used + bytes > TURN_BYTES_MAX) return false;
    this.reserve(RECORD_BYTES + bytes);
    const at = write(this.batch, this.used, kinds.message, id, bytes);
    this.batch.set(head, at);
    this.batch.set(body, at + head.byteLength);
    this.used = at + bytes;
    return true;
  }

  /** A subscription began here, or ended (null). */
  tell(id: number, subject: Subject | null): void {
    if (subject === null && typeof this.untold.get(id) === 'string') this.untold.delete(id);
    else this.untold.set(id, subject);
  }

  /** It asks whether this thread reads. */
  answer(): void {
    this.owesAnswer = true;
  }

  /** It has much to read, of which it must say that it has: nothing more is sent to it otherwise. */
  private get isBehind(): boolean {
    return this.askedAtMs === null && this.unreadBytes >= ASK_BYTES;
  }

  /** It has answered. true: there is something to tell it. */
  confirmed(nowMs: number): boolean {
    this.unreadBytes = Math.max(0, this.unreadBytes - this.askedBytes);
    this.askedAtMs = null;
    this.answeredAtMs = nowMs;
    this.lateBatches = 0;
    return this.untold.size > 0 || this.isBehind;
  }

  /**
   * Hands over what waits. Subscriptions come first: an answer to a message may be about them. true: messages were among
   * it.
   */
  flush(nowMs: number): boolean {
    const hasMessages = this.used > 0;
    const told = this.untold.size > 0 && this.reads ? [...this.untold] : [];
    if (told.length > 0) this.untold.clear();
    const asks = (hasMessages || told.length > 0 || this.isBehind) && this.mustAsk(nowMs);
    const ends = Number(asks) + Number(this.owesAnswer);
    if (!hasMessages && told.length === 0 && ends === 0) return false;
    const toldBytes = told.reduce((sum, [, subject]) => sum + RECORD_BYTES + (subject?.length ?? 0), 0);
    const batch = Buffer.from(new ArrayBuffer(toldBytes + this.used + ends * RECORD_BYTES));
    let at = 0;
    for (const [id, subject] of told) {
      at = write(batch, at, subject === null ? kinds.unsubscribe : kinds.subscribe, id, subject?.length ?? 0);
      if (subject !== null) at += batch.write(subject, at, 'latin1');
    }
    batch.set(this.batch.subarray(0, this.used), at);
    at += this.used;
    if (asks) at = write(batch, at, kinds.ask, 0, 0);
    if (this.owesAnswer) write(batch, at, kinds.answer, 0, 0);
    this.unreadBytes += this.used;
    if (asks) this.askedBytes = this.unreadBytes;
    this.used = 0;
    this.owesAnswer = false;
    if (this.batch.length > ARENA_BYTES) this.batch = Buffer.allocUnsafe(ARENA_BYTES);
    this.port.postMessage(batch.buffer, [batch.buffer]);
    return hasMessages;
  }

  /** Judges whether it reads, too. */
  private mustAsk(nowMs: number): boolean {
    if (this.askedAtMs !== null) {
      this.lateBatches = nowMs - this.askedAtMs > UNREAD_MS_MAX ? this.lateBatches + 1 : 0;
      return false;
    }
    if (this.unreadBytes + this.used < ASK_BYTES && nowMs - this.answeredAtMs < ASK_MS) return false;
    this.askedAtMs = nowMs;
    return true;
  }

  private reserve(bytes: number): void {
    if (this.used + bytes <= this.batch.length) return;
    const larger = Buffer.allocUnsafe(Math.max(2 * this.batch.length, this.used + bytes));
    larger.set(this.batch.subarray(0, this.used));
    this.batch = larger;
  }
}

/** Writes the beginning of a record. The answer is where its bytes begin. */
function write(batch: Buffer, at: number, kind: Kind, id: number, bytes: number): number {
  batch.writeUInt8(kind, at);
  batch.writeUInt32LE(id, at + 1);
  return batch.writeUInt32LE(bytes, at + 5);
}

/** What is done with each record of a batch. */
export interface BatchReader {
  /** A message for the subscription with this number. The bytes are part of the batch. */
  message(id: number, bytes: Uint8Array): void;
  subscribe(id: number, subject: Subject): void;
  unsubscribe(id: number): void;
  /** The other thread wants to know that this was read. */
  ask(): void;
  answer(): void;
}

/** Reads the records in their order. */
export function readBatch(buffer: ArrayBuffer, reader: BatchReader): void {
  const batch = Buffer.from(buffer);
  for (let at = 0; at < batch.length; ) {
    const kind = batch.readUInt8(at) as Kind; // written above, by another thread of this process
    const id = batch.readUInt32LE(at + 1);
    const end = at + RECORD_BYTES + batch.readUInt32LE(at + 5);
    const bytes = batch.subarray(at + RECORD_BYTES, end);
    at = end;
    if (kind === kinds.message) reader.message(id, bytes);
    else if (kind === kinds.subscribe) reader.subscribe(id, bytes.toString('latin1') as Subject);
    else if (kind === kinds.unsubscribe) reader.unsubscribe(id);
    else if (kind === kinds.ask) reader.ask();
    else reader.answer();
  }
}
