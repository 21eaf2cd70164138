// One burst as its talker makes it: numbers the frames, holds them for a moment when the network does, never sends old speech.
import { END, encodeFrame, START } from '../relay/frame.js';
import type { Clock } from './clock.js';
import type { ServerMessage, TalkEnded } from './messages.js';

/**
 * How a burst ended: the server's code with its counts (`released`, `too_long`, ...), an ERROR code that refused it,
 * `left` or `deleted` for the membership, `lost` with the connection, `unsent` when no frame ever left.
 */
export type TalkOutcome = { code: string } & Partial<Pick<TalkEnded, 'frames' | 'duration_ms'>>;

/** `capturedAtMs`: when the sound was recorded, by the radio's clock; now, when left out. */
export type SendOptions = { capturedAtMs?: number };

/** A burst being spoken. Calls never throw and never wait; what cannot be sent in time is left out. */
export type Talk = {
  readonly talkgroupId: string;
  /** One packet, one frame period. */
  send(payload: Uint8Array, options?: SendOptions): void;
  /** A pause of so many frame periods (DTX): nothing is sent, the sequence runs on. */
  skip(periods: number): void;
  /** The last packet, or none. */
  end(payload?: Uint8Array, options?: SendOptions): void;
  /** Resolves when the burst is over for the server too; never rejects. */
  readonly ended: Promise<TalkOutcome>;
};

/** What the radio tells a burst. */
export type TalkHandle = Talk & {
  readonly isOver: boolean;
  /** True when the message was for this burst and no other. */
  message(message: ServerMessage): boolean;
  connectionLost(): void;
  /** Over, with this code; nothing more is sent. */
  stop(code: string): void;
};

/** The way out: whether it is open, what still sits in the socket, and the talkgroup's number on the wire. */
export type Uplink = {
  readonly isOpen: boolean;
  readonly session: number | null;
  readonly bufferedBytes: number;
  numberOf(talkgroupId: string): number | null;
  send(bytes: Uint8Array<ArrayBuffer>): boolean;
};

type Held = { payload: Uint8Array; period: number; capturedAtMs: number; isEnd: boolean };

const AGE_MS_MAX = 500;
// What the socket holds cannot be taken back, so more than this waits here, where it can still be dropped: about 25
// frames of 80 bytes, half a second.
// LIMIT: the kernel takes megabytes before the socket counts a byte; only a PING behind the audio would show that.
const BUFFERED_BYTES_MAX = 2_048;
const RETRY_MS = 20;
// The server ends a silent burst after 2 s by itself; one it never accepted gets no TALK_ENDED at all.
const ANSWER_MS_MAX = 5_000;
const NOTHING = new Uint8Array();
// ERROR codes that refuse the whole burst; after others (`rate_limited`) the server takes frames again by itself.
const REFUSALS = new Set([
  'not_member',
  'unknown_talkgroup',
  'listen_only',
  'too_many_talkgroups',
  'forbidden',
]);

/** A burst of which nothing was sent yet; its first frame that can be sent starts it. */
export function createTalk(talkgroupId: string, uplink: Uplink, clock: Clock): TalkHandle {
  let held: Held[] = [];
  let period = 0;
  /** The period of the frame that carried START, null until one did in this session. */
  let startPeriod: number | null = null;
  let burst: number | null = null;
  /** What is told when nothing follows; other than `unsent` after a burst that silence ended. */
  let otherwise: TalkOutcome = { code: 'unsent' };
  let isEnding = false;
  let isOver = false;
  let cancelRetry = () => {};
  let resolve: (outcome: TalkOutcome) => void = () => {};
  const ended = new Promise<TalkOutcome>((settle) => {
    resolve = settle;
  });

  return {
    talkgroupId,
    ended,
    get isOver() {
      return isOver;
    },
    send: (payload, options) => take(payload, false, options),
    skip(periods) {
      period += periods;
    },
    end(payload = NOTHING, options) {
      take(payload, true, options);
    },
    message,
    connectionLost,
    stop,
  };

  function take(payload: Uint8Array, isEnd: boolean, options: SendOptions = {}): void {
    if (isOver || isEnding) return;
    isEnding = isEnd;
    held.push({ payload, period, capturedAtMs: options.capturedAtMs ?? clock.nowMs(), isEnd });
    period += 1;
    flush();
  }

  function flush(): void {
    cancelRetry();
    // Speech from before a connection is never sent on it.
    if (uplink.isOpen) drain();
    else discard();
  }

  function drain(): void {
    held = held.filter((frame) => frame.isEnd || !isStale(frame));
    while (uplink.bufferedBytes <= BUFFERED_BYTES_MAX) {
      const next = held.shift();
      if (!next) return;
      if (next.isEnd) transmitEnd(next);
      else transmit(next, next.payload, 0);
    }
    if (held.length > 0) cancelRetry = clock.after(RETRY_MS, flush);
  }

  function discard(): void {
    held = [];
    if (isEnding) finish(startPeriod === null ? otherwise : { code: 'lost' });
  }

  function isStale({ capturedAtMs }: Held): boolean {
    return clock.nowMs() - capturedAtMs > AGE_MS_MAX;
  }

  function transmitEnd(frame: Held): void {
    const payload = isStale(frame) ? NOTHING : frame.payload;
    if (payload.length === 0 && startPeriod === null) {
      finish(otherwise);
    } else {
      cancelRetry = clock.after(ANSWER_MS_MAX, () => stop('lost'));
      transmit(frame, payload, END);
    }
  }

  function transmit({ period }: Held, payload: Uint8Array, flags: number): void {
    const talkgroup = uplink.numberOf(talkgroupId);
    if (talkgroup === null) {
      stop('not_member');
    } else {
      const start = startPeriod === null ? START : 0;
      startPeriod ??= period;
      uplink.send(encodeFrame({ flags: flags | start, sequence: period - startPeriod, talkgroup, payload }));
    }
  }

  function message(message: ServerMessage): boolean {
    switch (message.type) {
      case 'TALK_STARTED':
        if (burst !== null || message.session !== uplink.session) return false;
        burst = message.burst;
        return true;
      case 'TALK_ENDED':
        if (message.burst !== burst || message.session !== uplink.session) return false;
        endedByServer(message);
        return true;
      case 'ERROR':
        if (burst !== null || message.ref !== undefined || !REFUSALS.has(message.code)) return false;
        stop(message.code);
        return true;
      case 'TALKGROUP_LEFT':
        stop(message.reason);
        return false;
      default:
        return false;
    }
  }

  function endedByServer({ code, frames, duration_ms }: TalkEnded): void {
    const outcome = { code, frames, duration_ms };
    if (code === 'silence' && !isEnding) {
      // A pause longer than the server's patience: the next frame begins another burst of the same talk.
      otherwise = outcome;
      restart();
    } else if (code === 'released' && !isEnding) {
      // That next frame had crossed the news of the silence, and our START then ended the burst it had begun.
      burst = null;
    } else {
      finish(outcome);
    }
  }

  function connectionLost(): void {
    discard();
    restart();
  }

  function restart(): void {
    startPeriod = null;
    burst = null;
  }

  function stop(code: string): void {
    finish({ code });
  }

  function finish(outcome: TalkOutcome): void {
    isOver = true;
    held = [];
    cancelRetry();
    resolve(outcome);
  }
}
