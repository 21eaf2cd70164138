// Declares what a relay hands over to be stored. All of it is plain data, and parts are transferred between threads.
import type { TalkgroupId, UserId } from '../ids.js';
import type { Codec, Crypto } from './bodies.js';
import type { EndCode } from './codes.js';

/** Why frames that were relayed are not stored. `too_many`: bursts of one user. The last two are told by who stores. */
export const losses = ['memory_full', 'too_long', 'too_many', 'storage_full', 'failed'] as const;
export type Loss = (typeof losses)[number];
export type Lost = Partial<Record<Loss, number>>;
/** By the index of the first frame that a relay relayed of the recording. Each relay of a moved burst has its own. */
export type Shares = Readonly<Record<number, Lost>>;

/** `continues`: the next piece of the burst follows. `switched_off`: the talkgroup is not recorded any more. */
export type RecordingEnd = EndCode | 'continues' | 'switched_off';

/** A recording as it begins. */
export interface RecordingHead {
  readonly id: string;
  readonly talkgroup_id: TalkgroupId;
  readonly talkgroup_number: number;
  readonly talkgroup_name: string;
  readonly user_id: UserId;
  readonly username: string;
  /** Unix time (ms). */
  readonly started_at: number;
  readonly days: number;
  /** Rotation counter, and whether encryption was required. */
  readonly epoch: number;
  readonly was_required: boolean;
  readonly priority: number;
  readonly emergency: boolean;
  readonly codec: Codec | null;
  readonly crypto: Crypto | null;
  /** Index in the burst, from 1. */
  readonly first_frame: number;
  /** What this relay lost of it. Left out while it may lose more. */
  readonly lost?: Shares;
}

/** The head is repeated: the statement that stores the end may be the first one that gets through. */
export interface RecordingTail extends RecordingHead {
  readonly frames: number;
  readonly duration_ms: number;
  readonly code: RecordingEnd;
  readonly lost: Shares;
}

/** Consecutive frames of one recording: of each the first four bytes of its header, u16 length, payload. */
export interface Part {
  readonly id: string;
  readonly from: number;
  readonly frames: number;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

export interface Batch {
  readonly heads: readonly (RecordingHead | RecordingTail)[];
  readonly parts: readonly Part[];
  /** Frames that were lost since the last batch. */
  readonly lost: Lost;
  /** Bursts since then of which nothing is recorded. */
  readonly burstsLost: number;
}

export const isTail = (head: RecordingHead | RecordingTail): head is RecordingTail => 'code' in head;

/** Bytes of a part, which are in memory until they are stored. */
export const bytesOf = ({ parts }: Pick<Batch, 'parts'>): number =>
  parts.reduce((sum, { bytes }) => sum + bytes.byteLength, 0);
