// Plays a burst as a console does: packets arrive when a history says, and a player asks for a piece every 20 ms.
import { JITTER, type Jitter, type Piece } from '../../../src/client/sound/jitter.js';

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

/** Everything that is played, in order. What is played late takes 5 % less time, and pauses of it none. */
export function listenTo(jitter: Jitter, arrivals: readonly Arrival[], untilMs: number): Played[] {
  const saidMs = new Map(arrivals.map((arrival) => [arrival.sequence, arrival.saidMs]));
  const coming = [...arrivals].sort((one, other) => one.arrivesMs - other.arrivesMs);
  const played: Played[] = [];
  let atMs = coming[0]?.arrivesMs ?? 0;
  // Two pieces at once: the player has one more than the one that it plays.
  let isFirst = true;
  while (atMs <= untilMs) {
    for (let [next] = coming; next && next.arrivesMs <= atMs; [next] = coming) {
      coming.shift();
      jitter.push(next.sequence, next.isPause ? PAUSE : SPEECH, next.arrivesMs);
    }
    const piece = jitter.pull(atMs);
    if (piece.kind === 'packet') {
      if (piece.pace !== 'live' && piece.payload === PAUSE) {
        jitter.leftOut();
        played.push({ ...piece, atMs, delayMs: 0 });
        continue;
      }
      played.push({ ...piece, atMs, delayMs: atMs - (saidMs.get(piece.sequence) ?? 0) });
    } else {
      played.push({ ...piece, atMs, delayMs: 0 });
      if (piece.kind === 'over') return played;
    }
    const isFaster = piece.kind === 'packet' && piece.pace === 'late';
    if (!isFirst) atMs += isFaster ? PERIOD_MS * 0.95 : PERIOD_MS;
    isFirst = false;
  }
  return played;
}

/** The sequence numbers that were taken from the buffer, in order. */
export const sequencesOf = (played: readonly Played[]): number[] =>
  played.flatMap((piece) => (piece.kind === 'packet' ? [piece.sequence] : []));

/** So long a queue as it can be takes at most to be worked off, without a pause in the speech. */
export const WORKED_OFF_MS = (JITTER.queueMsMax - JITTER.targetMsMin) / 0.05;
