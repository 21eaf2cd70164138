// Declares a talk as an app sees it (options, states, events, outcome), and as the radio drives it.

import type { DenyCode, EndCode, ErrorCode, RevokeCode } from '../../protocol/codes.js';
import type { Codec, ServerMessage, Snapshot, TalkEnded, Talker } from '../../protocol/types.js';
import type { Listenable } from '../events.js';

/**
 * If a user has very many talkgroups, the server sends them in parts. A talk in a talkgroup of a later part is `idle`
 * until that part arrives. Then it requests the floor, or sends at most the last 500 ms of its speech. If the talkgroup
 * is in no part, the talk ends as `denied` with the code `not_member`.
 */
export type TalkOptions = {
  talkgroupId: string;
  /**
   * 0 to 7, default 1. From 4 on it takes the floor from a lower priority. 4 to 7 need the role admin, else they count
   * as 3. While the user has an open emergency in the talkgroup, every priority counts as 7.
   */
  priority?: number;
  /** How to decode the payloads. The relay passes it on to every listener. Default: Opus, 48 kHz, mono, 20 ms. */
  codec?: Codec;
  /**
   * `first_frame` (default): the first frame is the request, so that no speech is lost. `request`: the talk requests the
   * floor and sends no frame before the grant. Its first frame must follow within 2 s. `queue`: same as `request`, and
   * it waits in the queue while another radio has the floor.
   */
  floor?: 'first_frame' | 'request' | 'queue';
  /**
   * true: the talk is encrypted, or `denied`. It is encrypted in any case where the talkgroup requires that. Needs the
   * option `keys` of the radio. It waits up to 5 s for a key, keeps the last 500 ms of its speech meanwhile, and is then
   * `denied` with `no_key`. Without permission to have keys it is `denied` with `keys_forbidden` at once. The lengths of
   * packets tell phrases, so encode with a constant bit rate and without DTX.
   */
  encrypt?: boolean;
};

/** The relay's counts of the burst. If silence split the talk into several bursts, those of the last one. */
type Counts = Partial<Pick<TalkEnded, 'frames' | 'duration_ms'>>;

/**
 * How a talk ended. `ended`: with the server's code, with `lost` if the radio received none, or with `unsent` if it sent
 * no frame. `denied`: it never had the floor, `talker` has it. `revoked`: the server took the floor back.
 */
export type TalkOutcome =
  | ({ kind: 'ended'; code: EndCode | 'lost' | 'unsent' } & Counts)
  | {
      kind: 'denied';
      code: DenyCode | ErrorCode | 'no_key' | 'keys_behind';
      talker?: Talker;
      retry_ms?: number;
    }
  | ({ kind: 'revoked'; code: RevokeCode } & Counts);

/**
 * `requested`: from the request or the first frame on. `granted`: the radio has the floor. The relay sends this after a
 * request, and in `single` and `broadcast`. `talking`: the relay has announced the burst to the listeners. `idle`: before
 * the request, and after a pause that ended the burst. The next frame then begins another one. `max_talk_ms` 0: no
 * limit. `position` 1: next in the queue. `retry_ms`: the server could not decide. The talk keeps the last 500 ms of its
 * speech and requests the floor again after that time (ms), 10 times in all. Then, or with `end`, it is `denied`.
 */
export type TalkState =
  | { kind: 'idle' }
  | { kind: 'requested'; retry_ms?: number }
  | { kind: 'queued'; position: number; size: number }
  | { kind: 'granted'; burst: number; priority: number; max_talk_ms: number }
  | { kind: 'talking'; burst: number; priority: number; emergency: boolean }
  | TalkOutcome;

export type TalkEvents = { state: TalkState };

/** `capturedAtMs`: when the sound was recorded, by the radio's clock. Default: now. */
export type SendOptions = { capturedAtMs?: number };

/**
 * A talk in one talkgroup. Calls never throw and never wait. The radio drops frames that it cannot send within 500 ms, and
 * frames from a time when it was not connected. So wait for the radio's `open` before the first talk.
 */
export type Talk = Listenable<TalkEvents> & {
  readonly talkgroupId: string;
  /** How it requests the floor. */
  readonly floor: NonNullable<TalkOptions['floor']>;
  readonly state: TalkState;
  /** Number of packets with speech that the radio dropped instead of sending them late. */
  readonly dropped: number;
  /** Sends one packet, which takes one frame period. */
  send(payload: Uint8Array, options?: SendOptions): void;
  /** A pause of `periods` frame periods (DTX): the talk sends nothing, and the sequence continues. */
  skip(periods: number): void;
  /** Ends the talk, with a last packet or without one. Returns an unused floor and leaves the queue. */
  end(payload?: Uint8Array, options?: SendOptions): void;
  /** Resolves when the talk has ended on the server too. Never rejects. */
  readonly ended: Promise<TalkOutcome>;
};

/** A talk as the radio drives it. */
export type TalkHandle = Talk & {
  readonly isOver: boolean;
  /** Until then (ms) the server drops what is said in the talkgroup, because it could not decide. 0: it does not. */
  readonly leftMs: number;
  /** Returns true if the message was for this talk only. */
  message(message: ServerMessage): boolean;
  /** Applies a snapshot of the talkgroup, whether or not the radio missed events. */
  snapshot(snapshot: Snapshot): void;
  /** A part of the snapshots arrived. The talkgroup may be in it, or be in none of the parts. */
  partCame(): void;
  /** Sends the frames that waited, as far as they may be sent now. */
  flush(): void;
  /** A key of the talkgroup arrived. */
  keyArrived(): void;
  connectionLost(): void;
  /** The radio is connected again. `resumed`: the talkgroup's state in the resumed session, null in a new session. */
  connected(resumed: Snapshot | null): void;
  /** The radio has stopped for good. */
  stop(): void;
};
