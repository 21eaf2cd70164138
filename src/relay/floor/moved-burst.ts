// Describes a running burst on its way to another relay.
import type { Codec, Crypto } from '../../protocol/bodies.js';

/** Ages are ms. */
export interface MovedBurst {
  /** Of the talkgroup. */
  readonly number: number;
  readonly burst: number;
  /** Frames relayed so far: the index of the last one. */
  readonly frames: number;
  readonly sequence: number;
  readonly priority: number;
  readonly codec?: Codec;
  readonly crypto?: Crypto;
  readonly started_at: string;
  readonly age_ms: number;
  /** Since its last frame. */
  readonly silent_ms: number;
  /** Its session came back before, and has sent no frame since. */
  readonly has_returned: boolean;
}
