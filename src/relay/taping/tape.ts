// Copies the frames of one running burst into parts, and ends a recording after its last one.
import type { EndCode } from '../../protocol/codes.js';
import { EMERGENCY, HEADER_BYTES } from '../../protocol/frame.js';
import type {
  Part,
  RecordingEnd,
  RecordingHead,
  RecordingTail,
  Shares,
} from '../../protocol/recording-batch.js';
import { PIECE_MAX, recordingIdOf } from '../../protocol/recording-id.js';
import type { MovedTape, Tape } from '../delivery/tape.js';
import type { Talk } from '../floor/talk.js';
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
type Burst = Pick<Talk, 'burst' | 'priority' | 'codec' | 'crypto'>;

export function headOf(
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
export const sinceMs = ({ startedAt, startedAtMs }: Talk, at: number, nowMs: number) =>
  Math.min(startedAtMs + at - startedAt, nowMs);

interface End {
  readonly code: RecordingEnd;
  readonly durationMs: number;
  readonly framesOfBurst: number;
  readonly lost: Shares;
}

export const tailOf = (
  head: RecordingHead,
  { code, durationMs, framesOfBurst, lost }: End,
): RecordingTail => ({
  ...head,
  frames: framesIn(framesOfBurst, head),
  duration_ms: Math.round(durationMs),
  ...{ code, lost },
});

/** What of a burst on its way is recorded. */
const framesIn = (frames: number, { first_frame }: Pick<RecordingHead, 'first_frame'>) =>
  Math.max(0, frames - first_frame + 1);

/** Where tapes put what they have. */
export interface Deck {
  hasRoom(isUrgent: boolean): boolean;
  part(part: Part): void;
  head(head: RecordingHead | RecordingTail): void;
  lose(reason: 'memory_full' | 'too_long', frames: number): void;
  over(tape: BurstTape): void;
}

export class BurstTape implements Tape {
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
  /** Frames of this piece in front of the first that it was given. They are counted already. */
  private tooMany: number;

  /** `tooMany`: frames that were relayed before, and not stored. */
  constructor(talk: Talk, deck: Deck, nowMs: number, { days, piece, from, at }: MovedTape, tooMany = 0) {
    this.talk = talk;
    this.deck = deck;
    this.talkgroup = talk.talkgroup;
    this.user = talk.membership.user;
    this.piece = piece;
    this.pieceSinceMs = sinceMs(talk, at, nowMs);
    this.head = headOf(talk, talk, { days, piece, from, at });
    this.tooMany = tooMany;
    if (tooMany > 0) this.firstHere = from;
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
    this.tooMany = 0;
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
    const { firstHere, lostHere, tooMany } = this;
    if (lostHere === 0 && tooMany === 0) return {};
    if (lostHere > 0) this.deck.lose('memory_full', lostHere);
    return {
      [firstHere]: {
        ...(lostHere > 0 && { memory_full: lostHere }),
        ...(tooMany > 0 && { too_many: tooMany }),
      },
    };
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
