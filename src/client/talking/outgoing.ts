// Sends the frames of one talk: numbers them by frame period, holds them while the network is slow, drops old ones.
import { END } from '../../protocol/frame.js';
import type { Clock } from '../clock.js';
import type { ClearFrame } from '../encryption/sealing.js';
import type { SendOptions } from './talk.js';
import type { Uplink } from './uplink.js';

/** What the queue needs of its talk. */
export type OutgoingOwner = {
  /** Sends what earlier talks in the talkgroup still hold. Their frames come first. */
  sendEarlier(): void;
  /** Whether frames may be sent now. If not, the queue drops them, because they would be too old later. */
  mayLeave(): boolean;
  /** Whether frames may be sent soon and not now. The queue keeps those of the last 500 ms. */
  mustWait(): boolean;
  /** Whether the next frame may leave in this step: its key is there. */
  isReady(): boolean;
  /** The next frame begins a burst. Returns the flags for it. */
  begins(): number;
  /** The bytes of a frame, sealed if the burst is encrypted. They count as sent. */
  encode(frame: ClearFrame): Uint8Array<ArrayBuffer>;
  /** The sequence begins at 0 again. The frames that follow must have another salt. */
  restarted(): void;
  /** The END was sent (`hasLeft`), or will not be sent. */
  closed(hasLeft: boolean): void;
  /** The radio is not subscribed to the talkgroup. */
  notMember(): void;
};

export type Outgoing = {
  /** A frame of the present burst was sent. */
  readonly hasBegun: boolean;
  /** Number of frames with speech that were dropped instead of sent. */
  readonly dropped: number;
  push(payload: Uint8Array, isEnd: boolean, options?: SendOptions): void;
  skip(periods: number): void;
  /** Drops the frames that are not sent yet. */
  clear(): void;
  /** The next frame begins another burst. */
  restart(): void;
  /** Sends the held frames that may be sent now. */
  flush(): void;
};

type Held = { payload: Uint8Array; period: number; capturedAtMs: number; isEnd: boolean };

const AGE_MS_MAX = 500;
// Frames in the socket's buffer cannot be dropped any more. With more than this in it (about 25 frames of 80 bytes, half a
// second), further frames wait in the queue, where they can be dropped.
// LIMIT: the kernel takes megabytes before the socket counts a byte. Only the answer to a PING would show that.
const BUFFERED_BYTES_MAX = 2_048;
const RETRY_MS = 20;
const NOTHING = new Uint8Array();

/** Creates an empty queue. */
export function createOutgoing(
  talkgroupId: string,
  uplink: Uplink,
  clock: Clock,
  owner: OutgoingOwner,
): Outgoing {
  let held: Held[] = [];
  let period = 0;
  /** The period of the burst's first frame, null until it is sent. */
  let startPeriod: number | null = null;
  let dropped = 0;
  let cancelRetry = () => {};

  return {
    get hasBegun() {
      return startPeriod !== null;
    },
    get dropped() {
      return dropped;
    },
    push(payload, isEnd, { capturedAtMs = clock.nowMs() } = {}) {
      held.push({ payload, period, capturedAtMs, isEnd });
      period += 1;
      flush();
    },
    skip(periods) {
      period += periods;
    },
    clear,
    restart() {
      startPeriod = null;
      owner.restarted();
    },
    flush,
  };

  function clear(): void {
    keep(() => false);
    cancelRetry();
  }

  function keep(isKept: (frame: Held) => boolean): void {
    const left = held.filter(isKept);
    dropped += speechIn(held) - speechIn(left);
    held = left;
  }

  function flush(): void {
    cancelRetry();
    if (held.length === 0) return;
    if (!owner.mayLeave()) return leaveOut();
    keep((frame) => frame.isEnd || !isOld(frame));
    if (!uplink.isAwaited(talkgroupId) && !owner.mustWait()) drain();
    // Only an END is held, and no frame was sent that it could end.
    else if (!held.some(isSpeech)) leaveOut();
    if (held.length > 0) cancelRetry = clock.after(RETRY_MS, flush);
  }

  function drain(): void {
    owner.sendEarlier();
    // Not before the socket takes the frame: a run that is drawn early could begin with an epoch that is over.
    while (uplink.bufferedBytes <= BUFFERED_BYTES_MAX && owner.isReady()) {
      const next = held.shift();
      if (!next) return;
      if (next.isEnd) transmitEnd(next);
      else transmit(next, next.payload, 0);
    }
  }

  function leaveOut(): void {
    const hadEnd = held.some(({ isEnd }) => isEnd);
    keep(() => false);
    if (hadEnd) owner.closed(false);
  }

  /** Too old for a listener, or recorded before this connection. */
  function isOld({ capturedAtMs }: Held): boolean {
    return clock.nowMs() - capturedAtMs > AGE_MS_MAX || capturedAtMs < uplink.openedAtMs;
  }

  function isSpeech(frame: Held): boolean {
    return frame.payload.length > 0 && !isOld(frame);
  }

  function transmitEnd(frame: Held): void {
    const payload = isOld(frame) ? NOTHING : frame.payload;
    if (payload !== frame.payload) dropped += speechIn([frame]);
    const isNeeded = payload.length > 0 || startPeriod !== null;
    if (isNeeded) transmit(frame, payload, END);
    owner.closed(isNeeded);
  }

  function transmit({ period }: Held, payload: Uint8Array, flags: number): void {
    const talkgroup = uplink.numberOf(talkgroupId);
    if (talkgroup === null) return owner.notMember();
    const start = startPeriod === null ? owner.begins() : 0;
    startPeriod ??= period;
    const sequence = period - startPeriod;
    uplink.send(owner.encode({ flags: flags | start, sequence, talkgroup, payload }));
  }
}

const speechIn = (frames: readonly Held[]) => frames.filter(({ payload }) => payload.length > 0).length;
