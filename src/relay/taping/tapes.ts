// Records running bursts: each frame is copied once, by the relay of its talker, in the step in which it is relayed. Ten times
// a second what is due is handed over, to be stored by the main thread. A frame looks up no map and reads no clock.
import type { EndCode } from '../../protocol/codes.js';
import { EMERGENCY, HEADER_BYTES } from '../../protocol/frame.js';
import type {
  Batch,
  Lost,
  Part,
  RecordingEnd,
  RecordingHead,
  RecordingTail,
  Shares,
} from '../../protocol/recording-batch.js';
import { PIECE_MAX, recordingIdOf } from '../../protocol/recording-id.js';
import type { MovedTape, Tape } from '../delivery/tape.js';
import type { MovedBurst } from '../floor/moved-burst.js';
import type { Talk } from '../floor/talk.js';
import { Window } from '../limits/window.js';
import type { Talkgroup, User } from '../members/members.js';

/** Four chunks of TOAST of PostgreSQL, which fill one page. */
const PART_BYTES = 7_984;
/** In front of a payload: flags, epoch and sequence of the header, and the length. */
const FRAME_HEAD_BYTES = 6;
/** A part leaves when it is so old (ms). A killed node loses no more. */
const PART_MS = 2_500;
/** A piece of a burst that does not end: downloads stay small, and a gateway stays searchable. */
const PIECE_MS = 600_000;
const PIECE_BYTES = 4 * 1024 * 1024;
/** Of one user at once, and within a minute. A user who presses more often does not speak. */
const RUNNING_MAX = 10;
const BURSTS_MAX = 120;
const BURSTS_MS = 60_000;
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
}

export type Tapes = ReturnType<typeof createTapes>;

interface OfUser {
  running: number;
  readonly begun: Window;
}

export function createTapes({ clock, memoryBytes, handOver }: TapesOptions) {
  const running = new Set<BurstTape>();
  const users = new WeakMap<User, OfUser>();
  let heads: (RecordingHead | RecordingTail)[] = [];
  let parts: Part[] = [];
  let lost: Lost = {};
  let burstsLost = 0;
  /** Handed over, and neither stored nor given up. */
  let waitingBytes = 0;

  const deck: Deck = {
    hasRoom(isUrgent) {
      const max = isUrgent ? memoryBytes : memoryBytes * SHARE;
      return waitingBytes + running.size * TAPE_BYTES <= max;
    },
    part(part) {
      waitingBytes += part.bytes.byteLength;
      parts.push(part);
    },
    head: (head) => void heads.push(head),
    lose(reason, frames) {
      lost[reason] = (lost[reason] ?? 0) + frames;
    },
    over(tape) {
      if (!running.delete(tape)) return;
      const of = users.get(tape.user);
      if (of !== undefined) of.running--;
    },
  };

  function take(user: User, nowMs: number): boolean {
    let of = users.get(user);
    if (of === undefined) {
      of = { running: 0, begun: new Window(BURSTS_MAX, BURSTS_MS) };
      users.set(user, of);
    }
    if (of.running >= RUNNING_MAX || !of.begun.take(nowMs)) return false;
    of.running++;
    return true;
  }

  function begin(talk: Talk, moved: MovedTape | null): Tape | null {
    const days = moved?.days ?? talk.talkgroup.recordingDays;
    // A talkgroup that is not recorded here any more is not recorded for a burst that comes either.
    if (memoryBytes === 0 || days === 0 || talk.talkgroup.recordingDays === 0) return null;
    const nowMs = clock.nowMs();
    if (!take(talk.membership.user, nowMs)) {
      burstsLost++;
      return null;
    }
    const tape = new BurstTape(talk, deck, nowMs, moved ?? { days, piece: 0, from: 1, at: talk.startedAt });
    running.add(tape);
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
      for (const tape of running) tape.tick(nowMs);
      flush();
    },
    /** The talkgroup has other settings. Without recording its tapes end. */
    follow(talkgroup: Talkgroup): void {
      if (talkgroup.recordingDays > 0) return;
      for (const tape of running) if (tape.talkgroup === talkgroup) tape.switchOff(clock.nowMs());
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

type Burst = Pick<Talk, 'burst' | 'priority' | 'codec' | 'crypto'>;

function headOf(
  { session, talkgroup, membership, emergencyFlag }: Talk,
  { burst, priority, codec, crypto }: Burst,
  { days, piece, from, at }: MovedTape,
): RecordingHead {
  const { user } = membership;
  return {
    id: recordingIdOf({ startedAt: at, session: session.number, burst, piece }),
    talkgroup_id: talkgroup.id,
    talkgroup_number: talkgroup.number,
    talkgroup_name: talkgroup.name,
    user_id: user.id,
    username: user.username,
    started_at: at,
    days,
    epoch: talkgroup.rotationCounter,
    was_required: talkgroup.encryption === 'required',
    priority,
    emergency: emergencyFlag === EMERGENCY,
    codec,
    crypto,
    first_frame: from,
  };
}

/** When the piece began, by the clock of its burst, which no step of another one moves. */
const sinceMs = ({ startedAt, startedAtMs }: Talk, at: number, nowMs: number) =>
  Math.min(startedAtMs + at - startedAt, nowMs);

interface End {
  readonly code: RecordingEnd;
  readonly durationMs: number;
  readonly framesOfBurst: number;
  readonly lost: Shares;
}

const tailOf = (head: RecordingHead, { code, durationMs, framesOfBurst, lost }: End): RecordingTail => ({
  ...head,
  frames: framesIn(framesOfBurst, head),
  duration_ms: Math.round(durationMs),
  ...{ code, lost },
});

/** What of a burst on its way is recorded. */
const framesIn = (frames: number, { first_frame }: Pick<RecordingHead, 'first_frame'>) =>
  Math.max(0, frames - first_frame + 1);

/** Where tapes put what they have. */
interface Deck {
  hasRoom(isUrgent: boolean): boolean;
  part(part: Part): void;
  head(head: RecordingHead | RecordingTail): void;
  lose(reason: 'memory_full' | 'too_long', frames: number): void;
  over(tape: BurstTape): void;
}

class BurstTape implements Tape {
  readonly talkgroup: Talkgroup;
  readonly user: User;
  private readonly talk: Talk;
  private readonly deck: Deck;
  private head: RecordingHead;
  private piece: number;
  private pieceSinceMs: number;
  private pieceBytes = 0;
  private isHeadDue = true;
  private isOver = false;
  private isTooLong = false;
  private readonly bytes = new Uint8Array(PART_BYTES);
  private used = 0;
  /** Of the frames in `bytes`: the index of the first, and how many. */
  private from = 0;
  private frames = 0;
  /** When a tick first saw them. 0: none did. */
  private partSinceMs = 0;
  /** The first frame of this piece that this relay relayed, and what it lost of the piece. 0: none yet. */
  private firstHere = 0;
  private lostHere = 0;

  constructor(talk: Talk, deck: Deck, nowMs: number, { days, piece, from, at }: MovedTape) {
    this.talk = talk;
    this.deck = deck;
    this.talkgroup = talk.talkgroup;
    this.user = talk.membership.user;
    this.piece = piece;
    this.pieceSinceMs = sinceMs(talk, at, nowMs);
    this.head = headOf(talk, talk, { days, piece, from, at });
  }

  frame(view: DataView, index: number): void {
    if (this.isOver) {
      if (this.isTooLong) this.deck.lose('too_long', 1);
      return;
    }
    if (this.firstHere === 0) this.firstHere = index;
    const size = FRAME_HEAD_BYTES + view.byteLength - HEADER_BYTES;
    if (this.used + size > PART_BYTES) this.handOver();
    if (this.used === 0) {
      // When the memory is full the new frames are lost, and what waits stays whole.
      if (!this.deck.hasRoom(this.talk.emergencyFlag !== 0)) {
        this.lostHere++;
        return;
      }
      this.from = index;
    }
    const { bytes, used } = this;
    // The second view of a frame exists only while its burst is recorded.
    bytes.set(new Uint8Array(view.buffer, view.byteOffset, 4), used);
    bytes[used + 4] = (size - FRAME_HEAD_BYTES) >> 8;
    bytes[used + 5] = (size - FRAME_HEAD_BYTES) & 0xff;
    const payload = new Uint8Array(view.buffer, view.byteOffset + HEADER_BYTES, size - FRAME_HEAD_BYTES);
    bytes.set(payload, used + FRAME_HEAD_BYTES);
    this.used += size;
    this.frames++;
  }

  private handOver(): void {
    if (this.used === 0) return;
    const { head, from, frames, used } = this;
    this.deck.part({ id: head.id, from, frames, bytes: this.bytes.slice(0, used) });
    this.pieceBytes += used;
    this.used = 0;
    this.frames = 0;
    this.partSinceMs = 0;
  }

  tick(nowMs: number): void {
    if (this.isHeadDue) {
      this.isHeadDue = false;
      this.deck.head(this.head);
    }
    if (this.used > 0 && this.partSinceMs === 0) this.partSinceMs = nowMs;
    const isOld = this.partSinceMs > 0 && nowMs - this.partSinceMs >= PART_MS;
    if (isOld) this.handOver();
    if (nowMs - this.pieceSinceMs >= PIECE_MS || this.pieceBytes + this.used >= PIECE_BYTES)
      this.nextPiece(nowMs);
  }

  private nextPiece(nowMs: number): void {
    const { talk, head } = this;
    this.end('continues', nowMs - this.pieceSinceMs, talk.frames);
    if (this.piece === PIECE_MAX) {
      this.isTooLong = true;
      this.close();
      return;
    }
    this.piece++;
    this.pieceSinceMs = nowMs;
    this.pieceBytes = 0;
    this.firstHere = 0;
    this.lostHere = 0;
    this.isHeadDue = true;
    const at = Math.round(talk.startedAt + nowMs - talk.startedAtMs);
    this.head = headOf(talk, talk, { days: head.days, piece: this.piece, from: talk.frames + 1, at });
  }

  private end(code: RecordingEnd, durationMs: number, framesOfBurst: number): void {
    this.handOver();
    const { talk, head } = this;
    const lost = this.tellLost();
    // An emergency may have been raised since it began.
    const emergency = head.emergency || talk.emergencyFlag === EMERGENCY;
    this.deck.head({ ...tailOf(head, { code, durationMs, framesOfBurst, lost }), emergency });
    this.isHeadDue = false;
  }

  /** Of this piece, once. */
  private tellLost(): Shares {
    const { firstHere, lostHere } = this;
    if (lostHere === 0) return {};
    this.deck.lose('memory_full', lostHere);
    return { [firstHere]: { memory_full: lostHere } };
  }

  private close(): void {
    this.isOver = true;
    this.deck.over(this);
  }

  ended(code: EndCode, durationMs: number, frames: number): void {
    if (this.isOver) return;
    const beforeMs = this.head.started_at - this.talk.startedAt;
    this.end(code, durationMs - beforeMs, frames);
    this.close();
  }

  switchOff(nowMs: number): void {
    this.end('switched_off', nowMs - this.pieceSinceMs, this.talk.frames);
    this.close();
  }

  moving(): MovedTape | null {
    if (this.isOver) return null;
    const { days, first_frame: from, started_at: at } = this.head;
    return { days, piece: this.piece, from, at };
  }

  left(): void {
    if (this.isOver) return;
    this.handOver();
    this.deck.head({ ...this.head, lost: this.tellLost() });
    this.close();
  }
}
