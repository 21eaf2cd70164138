// The control messages of one session: what it may ask, how often, and the answers.
import { AppError } from '../errors.js';
import { type DeviceId, readId } from '../ids.js';
import { Bucket } from './bucket.js';
import { closes } from './closes.js';
import { type ClientMessage, type ErrorCode, type Ref, readMessage, say } from './messages.js';
import type { House, Session } from './session.js';

type GpsUpdate = Extract<ClientMessage, { type: 'GPS_UPDATE' }>;

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
  private readonly all: Bucket;
  private readonly pings: Bucket;
  private readonly fixes: Bucket;
  private badTexts = 0;
  private badTextsSinceMs = 0;

  constructor(session: Session, house: House) {
    const { controlPerSecond } = house.limits;
    const nowMs = house.nowMs();
    this.session = session;
    this.house = house;
    this.all = new Bucket(controlPerSecond, 3 * controlPerSecond, nowMs);
    this.pings = new Bucket(...PINGS, nowMs);
    this.fixes = new Bucket(...FIXES, nowMs);
  }

  /** One text message. The engine has checked that it is UTF-8. */
  receive(message: ArrayBuffer, nowMs: number): void {
    if (message.byteLength > this.house.limits.textBytes) return this.session.close(closes.too_big);
    const reading = readMessage(Buffer.from(message).toString('utf8'));
    if (reading.kind === 'bad') return this.receiveBad(reading.code, reading.ref, nowMs);
    const { message: asked } = reading;
    const own = asked.type === 'PING' ? this.pings : this.fixes;
    if (!this.take(nowMs) || !own.take(nowMs)) return this.answer('rate_limited', asked.ref);
    if (asked.type === 'PING') this.session.send(say.pong(asked.t, asked.ref));
    else void this.receiveFix(asked);
  }

  /** Whether one more message, in or out on its own account, is within this session's rate. */
  take(nowMs: number): boolean {
    return this.all.take(nowMs);
  }

  private receiveBad(code: ErrorCode, ref: Ref | undefined, nowMs: number): void {
    if (nowMs - this.badTextsSinceMs > BAD_TEXTS_WINDOW_MS) {
      this.badTexts = 0;
      this.badTextsSinceMs = nowMs;
    }
    this.badTexts++;
    if (this.badTexts >= BAD_TEXTS_MAX) return this.session.close(closes.rate_limited);
    this.session.send(say.error(code, { ref }));
  }

  /** What a bucket refuses is told only to who asked for an answer: the answers must not be a flood themselves. */
  private answer(code: 'rate_limited', ref: Ref | undefined): void {
    if (ref !== undefined) this.session.send(say.error(code, { ref }));
  }

  /** At most five at a time: what the bucket lets in, each ended by the database's deadline. */
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
