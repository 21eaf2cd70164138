// Orders the packets of one burst and decides what is played in each period: a packet, its concealment, or silence.
import { createLateness } from './lateness.js';

/** Durations in ms. The player asks for one piece in each period of its own clock. */
export const JITTER = {
  targetMsMin: 60,
  targetMsMax: 300,
  targetStepMs: 20,
  /** When the second packet is late the first one waits so much longer for it: a window of the relay takes 100 ms. */
  aloneMsMax: 80,
  /** Without an underrun for this time the target goes down by a step. */
  calmMs: 10_000,
  /** What was queued above the target all this time is worked off in pauses. */
  surplusMs: 2_000,
  /** So much above the target is worked off. */
  excessMsMax: 200,
  /** A longer gap is silence. Concealment of more sounds like a machine. */
  concealedMsMax: 60,
  /** After a longer gap play begins anew. The relay ends a burst after 2 s without a frame, so it is no pause. */
  holeMsMax: 2_500,
  /** Without a packet for this time the burst is over. */
  silenceMsMax: 10_000,
  /** The relay sends nothing that is more than 1 s late. The rest is for the target and for bundles. */
  queueMsMax: 1_500,
};

/**
 * What the player does with a packet. `live`: play it. `surplus`: leave it out when it is a pause. `late`: leave it out
 * when it is a pause, otherwise play it 5 % faster. `short`: play it 20 % slower, because the next ones may come too late.
 */
export type Pace = 'live' | 'surplus' | 'late' | 'short';

/** One period. `lost` is concealed. `over`: the burst has ended, and everything was played. */
export type Piece =
  | { kind: 'packet'; sequence: number; payload: Uint8Array; pace: Pace }
  | { kind: 'lost' | 'silence' | 'over' };

/**
 * Sequence numbers of a burst. From the first played or dropped one to the last one, each is counted once as `played`,
 * `leftOut`, `missing` or `dropped`.
 */
export type JitterCounts = {
  played: number;
  /** Left out to work off a delay. */
  leftOut: number;
  /** Did not come, or came too late. Pauses of the talker (DTX) are among them. */
  missing: number;
  /** Packets that came and were dropped: after LAG, or at the bound of the queue. */
  dropped: number;
  /** Packets that came after their time, or twice. They are not played. Those that came too late are also `missing`. */
  unused: number;
  /** The queue ran empty, and the next packet came late. */
  underruns: number;
};

export type Jitter = {
  readonly counts: Readonly<JitterCounts>;
  readonly targetMs: number;
  /** From the next packet to the newest one, as long as they play. */
  readonly queuedMs: number;
  /** A packet has arrived. The first one begins the wait. */
  push(sequence: number, payload: Uint8Array, nowMs: number): void;
  /** The piece of the next period. */
  pull(nowMs: number): Piece;
  /** The player left out the packet that it pulled last. It pulls another one for the same period. */
  leftOut(): void;
  /** LAG: what is queued is stale. The next packet begins as the first one did. */
  clear(): void;
  /** No packet follows. */
  end(): void;
};

type Queued = { sequence: number; payload: Uint8Array };

const SILENCE: Piece = { kind: 'silence' };
const LOST: Piece = { kind: 'lost' };
const OVER: Piece = { kind: 'over' };

/** Creates the buffer of a burst with packets of `periodMs`. The target begins at `leastTargetMs`, and never goes below. */
export function createJitter(periodMs: number, leastTargetMs: number = JITTER.targetMsMin): Jitter {
  const counts: JitterCounts = { played: 0, leftOut: 0, missing: 0, dropped: 0, unused: 0, underruns: 0 };
  const periods = (ms: number) => Math.ceil(ms / periodMs);
  /** By sequence, each once, none below `next`. */
  const queue: Queued[] = [];
  /** The sequence to be played next. null before the first packet. */
  let next: number | null = null;
  /** Play begins with the next packet, after `wait` periods of silence and whatever is missing before it. */
  let isStarting = true;
  let wait = 0;
  /** Periods for which the first packet may still wait for the second one. */
  let alone = 0;
  /** Periods played since the queue ran empty. */
  let dry = 0;
  /** Length of the gap that is played now, in periods. */
  let hole = 0;
  let isEnded = false;
  let isLate = false;
  let targetMs = leastTargetMs;
  let calmSinceMs = 0;
  const lateness = createLateness(periodMs);
  /** The least that was queued since `leastSinceMs`. So much was never needed. */
  let leastMs = Number.POSITIVE_INFINITY;
  let leastSinceMs = 0;
  let surplusMs = 0;

  return {
    counts,
    get targetMs() {
      return goalMs();
    },
    get queuedMs() {
      return queuedMs();
    },
    push,
    pull,
    leftOut() {
      counts.played -= 1;
      counts.leftOut += 1;
      surplusMs -= periodMs;
    },
    clear() {
      for (const { sequence } of queue.splice(0)) drop(sequence);
      restart();
    },
    end() {
      isEnded = true;
    },
  };

  function push(sequence: number, payload: Uint8Array, nowMs: number): void {
    const at = queue.findLastIndex((queued) => queued.sequence <= sequence);
    const isPast = next !== null && sequence < next;
    if (isPast || queue[at]?.sequence === sequence) {
      counts.unused += 1;
      return;
    }
    if (isStarting && queue.length === 0) {
      wait = periods(goalMs());
      alone = periods(JITTER.aloneMsMax);
      calmSinceMs = nowMs;
      watchLeast(nowMs);
    }
    queue.splice(at + 1, 0, { sequence, payload });
    lateness.heard(sequence, nowMs);
    if (queue.length <= periods(JITTER.queueMsMax)) return;
    // The player does not pull: its context is suspended. The oldest packet is dropped, so that it resumes with new ones.
    const oldest = queue.shift();
    if (oldest) drop(oldest.sequence);
  }

  function pull(nowMs: number): Piece {
    const [first] = queue;
    if (first === undefined) return empty();
    if (isStarting) {
      if (wait > 0) {
        wait -= 1;
        return SILENCE;
      }
      if (isAlone(first.sequence, nowMs)) {
        alone -= 1;
        return SILENCE;
      }
      begin(first.sequence);
    } else if (dry > 0) {
      refill(first.sequence, nowMs);
    }
    calm(nowMs);
    return isInHole(first.sequence) ? leadOver(first.sequence, nowMs) : play(first, nowMs);
  }

  /** The second packet is half a period late or more. To begin without it would be a gap. */
  function isAlone(sequence: number, nowMs: number): boolean {
    const isLate = lateness.waitedMs(sequence, nowMs) > 1.5 * periodMs;
    return isLate && queue.length === 1 && alone > 0 && !isEnded;
  }

  function empty(): Piece {
    if (isEnded || dry >= periods(JITTER.silenceMsMax)) return OVER;
    dry += 1;
    return isStarting || dry > periods(JITTER.concealedMsMax) ? SILENCE : LOST;
  }

  function begin(sequence: number): void {
    miss(sequence - (next ?? sequence));
    next = sequence;
    isStarting = false;
    dry = 0;
  }

  function restart(): void {
    isStarting = true;
    isLate = false;
    wait = 0;
    dry = 0;
    hole = 0;
    surplusMs = 0;
    leastMs = Number.POSITIVE_INFINITY;
  }

  /** What was played since the queue ran empty fills a gap of that length. Without such a gap the packets are late. */
  function refill(sequence: number, nowMs: number): void {
    const gap = sequence - (next ?? sequence);
    hole = gap;
    if (gap < dry) underrun(nowMs);
    miss(Math.min(dry, gap));
    dry = 0;
  }

  function underrun(nowMs: number): void {
    counts.underruns += 1;
    targetMs = Math.min(Math.max(leastTargetMs, JITTER.targetMsMax), targetMs + JITTER.targetStepMs);
    calmSinceMs = nowMs;
    watchLeast(nowMs);
    surplusMs = 0;
    lateness.forget();
  }

  function calm(nowMs: number): void {
    if (nowMs - calmSinceMs >= JITTER.calmMs) {
      targetMs = Math.max(leastTargetMs, targetMs - JITTER.targetStepMs);
      calmSinceMs = nowMs;
    }
    leastMs = Math.min(leastMs, queuedMs());
    if (nowMs - leastSinceMs < JITTER.surplusMs) return;
    surplusMs = Math.max(0, leastMs - goalMs());
    watchLeast(nowMs);
  }

  function watchLeast(nowMs: number): void {
    leastMs = Number.POSITIVE_INFINITY;
    leastSinceMs = nowMs;
  }

  function isInHole(sequence: number): boolean {
    if (next === sequence) hole = 0;
    else if (hole === 0) hole = sequence - (next ?? sequence);
    return hole > 0;
  }

  /** One period of a gap. A gap that is silent anyway is shortened when there is a delay to work off. */
  function leadOver(sequence: number, nowMs: number): Piece {
    const isSilent = hole > periods(JITTER.concealedMsMax);
    if ((sequence - (next ?? sequence)) * periodMs > JITTER.holeMsMax) {
      restart();
      wait = periods(goalMs());
      return pull(nowMs);
    }
    if (isSilent && isDelayed()) {
      surplusMs -= periodMs;
      miss(1);
      return pull(nowMs);
    }
    miss(1);
    return isSilent ? SILENCE : LOST;
  }

  function play({ sequence, payload }: Queued, nowMs: number): Piece {
    const piece: Piece = { kind: 'packet', sequence, payload, pace: paceOf(sequence, nowMs) };
    queue.shift();
    counts.played += 1;
    next = sequence + 1;
    return piece;
  }

  function paceOf(sequence: number, nowMs: number): Pace {
    if (isDelayed()) return isLate ? 'late' : 'surplus';
    return lateness.waitedMs(sequence, nowMs) < lateness.waitMs ? 'short' : 'live';
  }

  function isDelayed(): boolean {
    const queued = queuedMs();
    isLate = queued > goalMs() + (isLate ? 0 : JITTER.excessMsMax);
    return isLate || (surplusMs >= periodMs && queued > goalMs());
  }

  /** The target, or more when packets come late. The player has one more packet than is queued. */
  function goalMs(): number {
    return Math.max(targetMs, lateness.waitMs + periodMs);
  }

  function miss(periodCount: number): void {
    counts.missing += periodCount;
    if (next !== null) next += periodCount;
  }

  function drop(sequence: number): void {
    miss(sequence - (next ?? sequence));
    counts.dropped += 1;
    next = sequence + 1;
  }

  function queuedMs(): number {
    const newest = queue.at(-1)?.sequence;
    const from = next ?? queue[0]?.sequence;
    return newest === undefined || from === undefined ? 0 : (newest - from + 1) * periodMs;
  }
}
