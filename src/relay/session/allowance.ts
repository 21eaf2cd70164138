// Limits how often one session may ask: texts, WebSocket pings, and what costs more than its bytes.
import type { ClientMessageType } from '../../protocol/client-messages.js';
import { Bucket } from '../limits/bucket.js';
import { Flood } from '../limits/flood.js';
import { Window } from '../limits/window.js';

/** Pings of the WebSocket. A client that wants to know whether its connection is alive sends one every few seconds. */
export const ENGINE_PINGS_PER_SECOND = 5;
/** The 20th bad text within 10 s closes the connection. */
const BAD_TEXTS_MAX = 20;
const BAD_TEXTS_WINDOW_MS = 10_000;
/** Per second and at once, of the types that cost more than their bytes. */
const RATES: { readonly [type in ClientMessageType]?: readonly [perSecond: number, burst: number] } = {
  PING: [2, 5],
  GPS_UPDATE: [2, 5],
  WATCH: [2, 2],
  MEMBERS: [1 / 2, 1],
};
/** Per second and at once, of questions that only the database can answer. */
const UNKNOWN_RATE = [1, 5] as const;
/** Between two answers to SYNC in one talkgroup. */
const SYNC_MS_MIN = 1000;

/** Made at the first text or the first refusal of a session: most radios only listen. */
export class Allowance {
  private readonly texts: Flood;
  private readonly enginePings = new Flood(ENGINE_PINGS_PER_SECOND);
  private readonly all: Bucket;
  private readonly byType = new Map<ClientMessageType, Bucket>();
  private unknown: Bucket | null = null;
  private readonly badTexts = new Window(BAD_TEXTS_MAX - 1, BAD_TEXTS_WINDOW_MS);
  /** When SYNC was last answered, by talkgroup number. */
  private syncedAtMs: Map<number, number> | null = null;

  constructor(textsPerSecond: number, nowMs: number) {
    this.texts = new Flood(textsPerSecond);
    this.all = new Bucket(textsPerSecond, 3 * textsPerSecond, nowMs);
  }

  /** Counts a text. true: these are so many that the connection must close. */
  isFloodOfTexts(nowMs: number): boolean {
    return this.texts.hit(nowMs);
  }

  /** Counts a ping of the WebSocket. Answers as above. */
  isFloodOfPings(nowMs: number): boolean {
    return this.enginePings.hit(nowMs);
  }

  /** Counts a text that is no message. Answers as above. */
  isTooManyBad(nowMs: number): boolean {
    return !this.badTexts.take(nowMs);
  }

  /** Whether one more message is within the rate: one of the client, or one of the relay that the client caused. */
  take(nowMs: number): boolean {
    return this.all.take(nowMs);
  }

  /** Whether one more message of this type is within the rate of the type. */
  takeOf(type: ClientMessageType, nowMs: number): boolean {
    const rate = RATES[type];
    if (rate === undefined) return true;
    let bucket = this.byType.get(type);
    if (bucket === undefined) {
      bucket = new Bucket(...rate, nowMs);
      this.byType.set(type, bucket);
    }
    return bucket.take(nowMs);
  }

  /** Whether one more question may go to the database, about an id that is not in memory. */
  takeUnknown(nowMs: number): boolean {
    this.unknown ??= new Bucket(...UNKNOWN_RATE, nowMs);
    return this.unknown.take(nowMs);
  }

  /** Whether SYNC is answered: once per second in each talkgroup. */
  takeSync({ number }: { readonly number: number }, nowMs: number): boolean {
    this.syncedAtMs ??= new Map();
    if (nowMs - (this.syncedAtMs.get(number) ?? Number.NEGATIVE_INFINITY) < SYNC_MS_MIN) return false;
    this.syncedAtMs.set(number, nowMs);
    return true;
  }

  /** The session left the talkgroup. */
  forget({ number }: { readonly number: number }): void {
    this.syncedAtMs?.delete(number);
  }
}
