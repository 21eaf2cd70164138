// Plays a burst as a console does: packets arrive when a history says, and a player asks for a piece every 20 ms.
import { JITTER, type Jitter, type Pace, type Piece } from '../../../src/client/sound/jitter.js';
import { createSlower } from '../../../src/client/sound/tempo.js';
import { RATE, sine } from './tones.js';

export const PERIOD_MS = 20;

/** A packet of a talker: when it was said, when it arrives, and whether it is a pause in the speech. */
export type Arrival = { sequence: number; saidMs: number; arrivesMs: number; isPause: boolean };

export type Played = Piece & {
  /** When the player asked for it. */
  atMs: number;
  /** The delay since it was said. Of packets only. */
  delayMs: number;
};

const PAUSE = Uint8Array.of(0);
const SPEECH = Uint8Array.of(1);

/** A frame of the pitch of which slower play repeats the least. */
const VOWEL = sine(RATE / 300, (PERIOD_MS * RATE) / 1_000);

/**
 * Everything that is played, in order. What is played late takes 5 % less time, and pauses of it none. What is played short
 * takes as much longer as slower play makes it.
 */
export function listenTo(jitter: Jitter, arrivals: readonly Arrival[], untilMs: number): Played[] {
  const saidMs = new Map(arrivals.map((arrival) => [arrival.sequence, arrival.saidMs]));
  const coming = [...arrivals].sort((one, other) => one.arrivesMs - other.arrivesMs);
  let heard = 0;
  const played: Played[] = [];
  let atMs = coming[0]?.arrivesMs ?? 0;
  // Two pieces at once: the player has one more than the one that it plays.
  let isFirst = true;
  const slower = createSlower();
  while (atMs <= untilMs) {
    for (let next = coming[heard]; next && next.arrivesMs <= atMs; next = coming[heard]) {
      heard += 1;
      jitter.push(next.sequence, next.isPause ? PAUSE : SPEECH, next.arrivesMs);
    }
    const piece = jitter.pull(atMs);
    if (piece.kind === 'packet') {
      if (isLeftOut(piece.pace) && piece.payload === PAUSE) {
        jitter.leftOut();
        played.push({ ...piece, atMs, delayMs: 0 });
        continue;
      }
      played.push({ ...piece, atMs, delayMs: atMs - (saidMs.get(piece.sequence) ?? 0) });
    } else {
      played.push({ ...piece, atMs, delayMs: 0 });
      if (piece.kind === 'over') return played;
    }
    if (!isFirst) atMs += piece.kind === 'packet' ? lengthMs(piece.pace, slower) : PERIOD_MS;
    isFirst = false;
  }
  return played;
}

const isLeftOut = (pace: Pace) => pace === 'surplus' || pace === 'late';

function lengthMs(pace: Pace, slower: ReturnType<typeof createSlower>): number {
  if (pace === 'short') return (slower(VOWEL).length / RATE) * 1_000;
  return pace === 'late' ? PERIOD_MS * 0.95 : PERIOD_MS;
}

/** The sequence numbers that were taken from the buffer, in order. */
export const sequencesOf = (played: readonly Played[]): number[] =>
  played.flatMap((piece) => (piece.kind === 'packet' ? [piece.sequence] : []));

/** So long a queue as it can be takes at most to be worked off, without a pause in the speech. */
export const WORKED_OFF_MS = (JITTER.queueMsMax - JITTER.targetMsMin) / 0.05;

/** The same buffer with another `pull`, to try a test on a buffer that breaks what it promises. */
export function overriding(jitter: Jitter, pull: Jitter['pull']): Jitter {
  return {
    ...jitter,
    get counts() {
      return jitter.counts;
    },
    get targetMs() {
      return jitter.targetMs;
    },
    get queuedMs() {
      return jitter.queuedMs;
    },
    pull,
  };
}
