// Plays a radio that loses its connection and returns with its resume token, after the waits of the client library.
import { nextStep } from '../../src/client/connection/backoff.js';
import { nowMs } from '../machine/clock.js';
import { type ConnectionLost, type RadioOptions, RawRadio, type Said } from './raw-radio.js';

export interface ReturningOptions
  extends Pick<RadioOptions, 'target' | 'token' | 'receive'>,
    Required<Pick<RadioOptions, 'localAddress'>> {
  readonly welcomed: (welcome: Said) => void;
  /** Its wait is over: calls `act`, with which it sets out once more, at once or when its process comes to it. */
  readonly depart: (act: () => void) => void;
  /** It set out, so many milliseconds later than it should have. */
  readonly setOut: (lateMs: number) => void;
  /** A connection ended, or did not come about, without our doing. null: no answer in time. */
  readonly refused: (loss: ConnectionLost | null) => void;
}

/** As in the client library: an attempt without WELCOME is given up, and only a stable connection resets the waits. */
const ANSWER_MS_MAX = 10_000;
const STABLE_MS = 5_000;

/** Thousands live at once, hence a class. */
export class ReturningRadio {
  private readonly options: ReturningOptions;
  private resumeToken: string | null = null;
  private attempt = 0;
  private openedAtMs = Number.POSITIVE_INFINITY;
  /** By nowMs(): GOAWAY asked not to come back before. */
  private awayUntilMs = 0;
  private timer: NodeJS.Timeout | undefined;
  private radio: RawRadio;

  /** Sets out at once. */
  constructor(options: ReturningOptions) {
    this.options = options;
    this.radio = this.connect();
  }

  /** Resolves with the first WELCOME. Rejects when the first connection ends before. */
  get joined(): Promise<void> {
    return this.radio.joined;
  }

  /** An audio frame. While it is away it is lost. */
  send(frame: Uint8Array): void {
    if (Number.isFinite(this.openedAtMs)) this.radio.send(frame);
  }

  /** Loses the network, which is back at once. Its waits count from `dueMs`, when it should have been lost. */
  cut(dueMs: number): void {
    this.radio.drop();
    this.wait(null, dueMs);
  }

  private connect(): RawRadio {
    const { target, token, localAddress, receive } = this.options;
    this.timer = setTimeout(() => {
      this.radio.drop();
      this.options.refused(null);
      this.wait(null, nowMs());
    }, ANSWER_MS_MAX);
    return new RawRadio({
      target,
      // What is written behind the token stands behind it in the query.
      token: this.resumeToken === null ? token : `${token}&resume=${this.resumeToken}`,
      localAddress,
      receive,
      told: (said) => {
        if (said.type === 'WELCOME') this.open(said);
        if (said.type === 'GOAWAY') this.awayUntilMs = nowMs() + Number(said.reconnect_after_ms);
      },
      lost: (loss) => {
        this.options.refused(loss);
        this.wait(loss.code, nowMs());
      },
    });
  }

  private open(welcome: Said): void {
    clearTimeout(this.timer);
    this.openedAtMs = nowMs();
    this.resumeToken = String(welcome.resume_token);
    this.options.welcomed(welcome);
  }

  private wait(code: number | null, fromMs: number): void {
    clearTimeout(this.timer);
    if (fromMs - this.openedAtMs >= STABLE_MS) this.attempt = 0;
    this.openedAtMs = Number.POSITIVE_INFINITY;
    const next = nextStep({
      close: { code: code ?? 1006, reason: '' },
      attempt: this.attempt,
      reconnectAfterMs: Math.max(0, this.awayUntilMs - fromMs),
      wasSlow: false,
      random: Math.random,
    });
    if (next.kind === 'stop') return;
    this.attempt++;
    const dueMs = fromMs + next.delayMs;
    const setOut = () => {
      this.options.setOut(nowMs() - dueMs);
      this.radio = this.connect();
    };
    this.timer = setTimeout(() => this.options.depart(setOut), dueMs - nowMs());
  }
}
