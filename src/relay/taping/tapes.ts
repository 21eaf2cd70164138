// Records running bursts: each frame is copied once, by the relay of its talker, in the step in which it is relayed. Ten times
// a second what is due is handed over, to be stored by the main thread. A frame looks up no map and reads no clock.
import type { EndCode } from '../../protocol/codes.js';
import type {
  Batch,
  Loss,
  Lost,
  Part,
  RecordingHead,
  RecordingTail,
} from '../../protocol/recording-batch.js';
import type { MovedTape, Tape } from '../delivery/tape.js';
import type { MovedBurst } from '../floor/moved-burst.js';
import type { Talk } from '../floor/talk.js';
import { Window } from '../limits/window.js';
import type { Talkgroup, User } from '../members/members.js';
import { BurstTape, type Deck, headOf, sinceMs, tailOf } from './tape.js';
import { type WaitingDeck, WaitingTape } from './waiting-tape.js';

/** Of one user at once, and within a minute. Further ones are recorded when they last. */
const RUNNING_MAX = 10;
const BURSTS_MAX = 120;
const BURSTS_MS = 60_000;
/** A burst beyond them that lasts so long (ms) is speech. Of these a user has so many at once, with the others. */
const SPEECH_MS = 1_000;
const SPEECH_MAX = 3 * RUNNING_MAX;
/** Between two lines of the log (ms). */
const TELL_MS = 60_000;
/** What a running tape takes. */
const TAPE_BYTES = 8_192;
/** Bursts without an open emergency may use this share of the memory. */
const SHARE = 7 / 8;

export interface TapesOptions {
  readonly clock: { readonly nowMs: () => number; readonly unixMs: () => number };
  /** Bytes that may wait for the database. 0: this relay records nothing. */
  readonly memoryBytes: number;
  /** Takes the batch, and says with `stored` how many bytes of it are in memory no more. */
  readonly handOver: (batch: Batch) => void;
  readonly log: { info(fields: object, message: string): void };
}

export type Tapes = ReturnType<typeof createTapes>;

interface OfUser {
  running: number;
  readonly begun: Window;
}

export function createTapes({ clock, memoryBytes, handOver, log }: TapesOptions) {
  const running = new Set<BurstTape>();
  /** Beyond the limits of their users. */
  const waiting = new Set<WaitingTape>();
  const tell = createTelling(log);
  const users = new WeakMap<User, OfUser>();
  let heads: (RecordingHead | RecordingTail)[] = [];
  let parts: Part[] = [];
  let lost: Lost = {};
  let burstsLost = 0;
  /** Handed over, and neither stored nor given up. */
  let waitingBytes = 0;

  const deck: Deck & WaitingDeck = {
    hasRoom(isUrgent) {
      const max = isUrgent ? memoryBytes : memoryBytes * SHARE;
      return waitingBytes + running.size * TAPE_BYTES <= max;
    },
    part(part) {
      waitingBytes += part.bytes.byteLength;
      parts.push(part);
    },
    head: (head) => void heads.push(head),
    lose(reason: Loss, frames: number) {
      lost[reason] = (lost[reason] ?? 0) + frames;
    },
    over(tape) {
      if (!running.delete(tape)) return;
      const of = users.get(tape.user);
      if (of !== undefined) of.running--;
    },
    waited(tape, isLost) {
      waiting.delete(tape);
      if (!isLost) return;
      burstsLost++;
      tell.once(tape);
    },
  };

  function ofUser(user: User): OfUser {
    let of = users.get(user);
    if (of === undefined) {
      of = { running: 0, begun: new Window(BURSTS_MAX, BURSTS_MS) };
      users.set(user, of);
    }
    return of;
  }

  function record(talk: Talk, nowMs: number, piece: MovedTape, tooMany: number): BurstTape {
    const tape = new BurstTape(talk, deck, nowMs, piece, tooMany);
    ofUser(tape.user).running++;
    running.add(tape);
    return tape;
  }

  /** Speech is recorded from here on, although the user had too many bursts when it began. */
  function lookAgain(tape: WaitingTape, nowMs: number): void {
    const { talk, first } = tape;
    const isSpeech = nowMs - talk.startedAtMs >= SPEECH_MS;
    const hasPlace = ofUser(talk.membership.user).running < SPEECH_MAX;
    if (talk.emergencyFlag === 0 && !(isSpeech && hasPlace)) {
      if (isSpeech) tell.once(tape);
      return;
    }
    talk.tape = record(talk, nowMs, first, tape.replaced());
  }

  function begin(talk: Talk, moved: MovedTape | null): Tape | null {
    const days = moved?.days ?? talk.talkgroup.recordingDays;
    // A talkgroup that is not recorded here any more is not recorded for a burst that comes either.
    if (memoryBytes === 0 || days === 0 || talk.talkgroup.recordingDays === 0) return null;
    const nowMs = clock.nowMs();
    const of = ofUser(talk.membership.user);
    const isWithin = of.running < RUNNING_MAX && of.begun.take(nowMs);
    if (isWithin || moved !== null || talk.emergencyFlag !== 0)
      return record(talk, nowMs, moved ?? { days, piece: 0, from: 1, at: talk.startedAt }, 0);
    const tape = new WaitingTape(talk, days, deck);
    waiting.add(tape);
    return tape;
  }

  /** Recording was switched off here before the burst came. */
  function endHere(talk: Talk, moved: MovedTape): void {
    if (memoryBytes === 0) return;
    const head = headOf(talk, talk, moved);
    const durationMs = clock.nowMs() - sinceMs(talk, moved.at, clock.nowMs());
    heads.push(tailOf(head, { code: 'switched_off', durationMs, framesOfBurst: talk.frames, lost: {} }));
  }

  function flush(): void {
    if (heads.length === 0 && parts.length === 0 && burstsLost === 0 && Object.keys(lost).length === 0)
      return;
    const batch = { heads, parts, lost, burstsLost };
    heads = [];
    parts = [];
    lost = {};
    burstsLost = 0;
    handOver(batch);
  }

  return {
    /** A burst begins here. null: it is not recorded. */
    begin: (talk: Talk) => begin(talk, null),
    /** A burst that was recorded at another relay goes on here. */
    goOn(talk: Talk, moved: MovedTape | undefined): Tape | null {
      if (moved === undefined) return null;
      if (talk.talkgroup.recordingDays === 0) endHere(talk, moved);
      return begin(talk, moved);
    },
    /** A burst that was recorded at another relay may not go on here. */
    endMoved(talk: Talk, moved: MovedBurst, code: EndCode): void {
      const { recording, burst, priority, frames, age_ms } = moved;
      if (recording === undefined || memoryBytes === 0) return;
      const { codec = null, crypto = null } = moved;
      const head = headOf(talk, { burst, priority, codec, crypto }, recording);
      const durationMs = age_ms - (recording.at - Date.parse(moved.started_at));
      heads.push(tailOf(head, { code, durationMs, framesOfBurst: frames, lost: {} }));
    },
    /** Called ten times a second. */
    tick(nowMs: number): void {
      for (const tape of waiting) lookAgain(tape, nowMs);
      for (const tape of running) tape.tick(nowMs);
      tell.tick(nowMs);
      flush();
    },
    /** The talkgroup has other settings. Without recording its tapes end. */
    follow(talkgroup: Talkgroup): void {
      if (talkgroup.recordingDays > 0) return;
      for (const tape of running) if (tape.talkgroup === talkgroup) tape.switchOff(clock.nowMs());
      for (const tape of waiting) if (tape.talk.talkgroup === talkgroup) tape.switchOff();
    },
    /** So many bytes that were handed over are stored or given up. */
    stored(bytes: number): void {
      waitingBytes -= bytes;
    },
    /** What waits is handed over now. */
    flush,
    waitingBytes: () => waitingBytes,
  };
}

/** Logs how many bursts are not recorded, and the latest of them. At most once a minute. */
function createTelling(log: TapesOptions['log']) {
  let bursts = 0;
  let latest: Talk | null = null;
  let toldAtMs = Number.NEGATIVE_INFINITY;

  return {
    once(tape: WaitingTape): void {
      if (tape.isTold) return;
      tape.isTold = true;
      bursts++;
      latest = tape.talk;
    },
    tick(nowMs: number): void {
      if (latest === null || nowMs - toldAtMs < TELL_MS) return;
      const { membership, talkgroup } = latest;
      log.info({ bursts, user: membership.user.id, talkgroup: talkgroup.id }, 'bursts not recorded');
      toldAtMs = nowMs;
      bursts = 0;
      latest = null;
    },
  };
}
