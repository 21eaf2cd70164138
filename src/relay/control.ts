// The control messages of one session: what it may ask, how often, and the answers.
import { AppError } from '../errors.js';
import { type DeviceId, readId } from '../ids.js';
import { Bucket } from './bucket.js';
import { closes } from './closes.js';
import { Flood } from './flood.js';
import { type ClientMessage, type ErrorCode, type Ref, readMessage, say } from './messages.js';
import type { House, Session } from './session.js';
import { Window } from './window.js';

type GpsUpdate = Extract<ClientMessage, { type: 'GPS_UPDATE' }>;

/** Of the WebSocket itself; a client that wants to know its link is alive sends one every few seconds. */
const ENGINE_PINGS_PER_SECOND = 5;
/** The 20th bad text within 10 s closes. */
const BAD_TEXTS_MAX = 20;
const BAD_TEXTS_WINDOW_MS = 10_000;
/** A second and at once, of each kind that costs more than its bytes. */
const PINGS = [2, 5] as const;
const FIXES = [2, 5] as const;

/** Made with the first text or the first refusal of a session: most radios only listen. */
export class Control {
  private readonly session: Session;
  private readonly house: House;
  private readonly texts: Flood;
  private readonly enginePings = new Flood(ENGINE_PINGS_PER_SECOND);
  private readonly all: Bucket;
  private readonly pings: Bucket;
  private readonly fixes: Bucket;
  private readonly badTexts = new Window(BAD_TEXTS_MAX - 1, BAD_TEXTS_WINDOW_MS);

  constructor(session: Session, house: House) {
    const { controlPerSecond } = house.limits;
    const nowMs = house.nowMs();
    this.session = session;
    this.house = house;
    this.texts = new Flood(controlPerSecond);
    this.all = new Bucket(controlPerSecond, 3 * controlPerSecond, nowMs);
    this.pings = new Bucket(...PINGS, nowMs);
    this.fixes = new Bucket(...FIXES, nowMs);
  }

  /** One text message. The engine has checked that it is UTF-8. */
  receive(message: ArrayBuffer, nowMs: number): void {
    if (message.byteLength > this.house.limits.textBytes) return this.session.close(closes.too_big);
    if (this.texts.hit(nowMs)) return this.session.close(closes.rate_limited);
    const reading = readMessage(Buffer.from(message).toString('utf8'));
    if (reading.kind === 'bad') return this.receiveBad(reading.code, reading.ref, nowMs);
    const { message: asked } = reading;
    const own = asked.type === 'PING' ? this.pings : this.fixes;
    if (!this.take(nowMs) || !own.take(nowMs)) return this.answer('rate_limited', asked.ref);
    if (asked.type === 'PING') this.session.send(say.pong(asked.t, asked.ref));
    else void this.receiveFix(asked);
  }

  /** A ping of the WebSocket, answered by the engine. */
  pinged(nowMs: number): void {
    if (this.enginePings.hit(nowMs)) this.session.close(closes.rate_limited);
  }

  /** Whether one more message, in or out on its own account, is within this session's rate. */
  take(nowMs: number): boolean {
    return this.all.take(nowMs);
  }

  private receiveBad(code: ErrorCode, ref: Ref | undefined, nowMs: number): void {
    if (!this.badTexts.take(nowMs)) return this.session.close(closes.rate_limited);
    this.session.send(say.error(code, { ref }));
  }

  /** What a bucket refuses is told only to who asked for an answer: the answers must not be a flood themselves. */
  private answer(code: 'rate_limited', ref: Ref | undefined): void {
    if (ref !== undefined) this.session.send(say.error(code, { ref }));
  }

  /** About ten at a time at most: what the bucket lets in until the database's deadline. */
  private async receiveFix({ device_id, lat, lng, alt, ref }: GpsUpdate): Promise<void> {
    const { session, house } = this;
    const deviceId = device_id === undefined ? session.user.deviceId : readId<DeviceId>(device_id);
    if (session.user.withdrawn) return session.send(say.error('unavailable', { ref }));
    if (deviceId === null) return session.send(say.error('unknown_device', { ref }));
    try {
      const stored = await house.storeFix({ deviceId, lat, lng, alt });
      if (!stored) session.send(say.error('unknown_device', { ref }));
      else if (ref !== undefined) session.send(say.ok(ref));
    } catch (error) {
      // Expected: the database is away or late. Anything else is a bug, and is logged as one.
      if (!(error instanceof AppError))
        house.log.error({ session: session.number, err: error }, 'GPS fix failed');
      session.send(say.error('unavailable', { ref }));
    }
  }
}
