// The control messages of one session: how often it may ask, and who answers.

import type { Ref } from '../protocol/bodies.js';
import type { ClientMessage, ClientMessageType } from '../protocol/client-messages.js';
import { closes } from '../protocol/closes.js';
import type { TextRefusal } from '../protocol/codes.js';
import { answers } from './answers.js';
import { readMessage } from './asks.js';
import type { House } from './house.js';
import { Bucket } from './limits/bucket.js';
import { Flood } from './limits/flood.js';
import { Window } from './limits/window.js';
import type { Session } from './session.js';

/** Of the WebSocket itself; a client that wants to know its link is alive sends one every few seconds. */
export const ENGINE_PINGS_PER_SECOND = 5;
/** The 20th bad text within 10 s closes. */
const BAD_TEXTS_MAX = 20;
const BAD_TEXTS_WINDOW_MS = 10_000;
/** A second and at once, of the kinds that cost more than their bytes. */
const RATES: { readonly [type in ClientMessageType]?: readonly [perSecond: number, burst: number] } = {
  PING: [2, 5],
  GPS_UPDATE: [2, 5],
  MEMBERS: [1 / 2, 1],
};

/** A second and at once, of questions about what only the database may know, each of which costs a statement. */
const UNKNOWN_RATE = [1, 5] as const;

/** Answered also while the user's rights are in doubt: FLOOR_REQUEST with retry_later. */
const HARMLESS: ReadonlySet<ClientMessageType> = new Set(['PING', 'FLOOR_REQUEST', 'FLOOR_RELEASE']);

/** Monotonic milliseconds; what came before WELCOME arrived earlier than now. */
interface Times {
  readonly nowMs: number;
  readonly arrivedAtMs: number;
}

/** Made with the first text or the first refusal of a session: most radios only listen. */
export class Control {
  private readonly session: Session;
  private readonly house: House;
  private readonly texts: Flood;
  private readonly enginePings = new Flood(ENGINE_PINGS_PER_SECOND);
  private readonly all: Bucket;
  private readonly own = new Map<ClientMessageType, Bucket>();
  private unknown: Bucket | null = null;
  private readonly badTexts = new Window(BAD_TEXTS_MAX - 1, BAD_TEXTS_WINDOW_MS);

  constructor(session: Session, house: House, nowMs: number) {
    const { controlPerSecond } = house.limits;
    this.session = session;
    this.house = house;
    this.texts = new Flood(controlPerSecond);
    this.all = new Bucket(controlPerSecond, 3 * controlPerSecond, nowMs);
  }

  /** One text message, by its rate of `arrivedAtMs`. The engine has checked that it is UTF-8. */
  receive(message: ArrayBuffer, { nowMs, arrivedAtMs }: Times): void {
    this.house.counts.textsIn++;
    if (message.byteLength > this.house.limits.textBytes) return this.session.close(closes.too_big);
    if (this.texts.hit(arrivedAtMs)) return this.session.close(closes.rate_limited);
    const reading = readMessage(Buffer.from(message).toString('utf8'));
    if (reading.kind === 'bad') return this.receiveBad(reading.code, reading.ref, arrivedAtMs);
    const { message: asked } = reading;
    if (!this.take(arrivedAtMs) || !this.takeOwn(asked.type, arrivedAtMs)) return this.refuse(asked);
    // His rights are in doubt for the moment: he is shown nothing, and nothing is done for him.
    if (this.session.user.withdrawn && !HARMLESS.has(asked.type))
      return this.session.refuseText('unavailable', { ref: asked.ref });
    this.answer(asked, { nowMs, arrivedAtMs });
  }

  private answer(asked: ClientMessage, times: Times): void {
    const { session, house } = this;
    const answering = answers[asked.type]({ session, house, ...times }, asked as never); // of the same type, by the table
    answering?.catch((error) => house.fail(session, error)); // only a bug gets here
  }

  /** A ping of the WebSocket, answered by the engine. */
  pinged(nowMs: number): void {
    if (this.enginePings.hit(nowMs)) this.session.close(closes.rate_limited);
  }

  /** Whether one more message, in or out on its own account, is within this session's rate. */
  take(nowMs: number): boolean {
    return this.all.take(nowMs);
  }

  /** Whether one more question may go to the database for an id that nobody here knows. */
  takeUnknown(nowMs: number): boolean {
    this.unknown ??= new Bucket(...UNKNOWN_RATE, nowMs);
    return this.unknown.take(nowMs);
  }

  private takeOwn(type: ClientMessageType, nowMs: number): boolean {
    const rate = RATES[type];
    if (rate === undefined) return true;
    let bucket = this.own.get(type);
    if (bucket === undefined) {
      bucket = new Bucket(...rate, nowMs);
      this.own.set(type, bucket);
    }
    return bucket.take(nowMs);
  }

  private receiveBad(code: TextRefusal, ref: Ref | undefined, nowMs: number): void {
    if (!this.badTexts.take(nowMs)) return this.session.close(closes.rate_limited);
    this.session.refuseText(code, { ref });
  }

  /** What a bucket refuses is told only to who asked for an answer: the answers must not be a flood themselves. */
  private refuse({ ref }: ClientMessage): void {
    if (ref !== undefined) this.session.refuseText('rate_limited', { ref });
    else this.house.counts.textsRefused.rate_limited++;
  }
}
