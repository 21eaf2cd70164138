// What a talker sees of a talk: how it is asked for, which way it goes, how it ends.
import type { Codec, DenyCode, EndCode, ErrorCode, RevokeCode, Talker } from './bodies.js';
import type { Listenable } from './events.js';
import type { TalkEnded } from './messages.js';

/**
 * The server tells of very many talkgroups in parts. A talk in a talkgroup of a later part is `idle` until that part
 * comes. Then it asks, or sends at most the last 500 ms of its speech. When all parts are there without the talkgroup, it
 * ends as `denied` with the code `not_member`.
 */
export type TalkOptions = {
  talkgroupId: string;
  /** 0 to 7, else 1; from 4 on it preempts whoever is lower, and needs an admin or an open emergency. */
  priority?: number;
  /** How the payloads are to be decoded, told to every hearer. */
  codec?: Codec;
  /**
   * `first_frame` (when left out): the first frame is the request, nothing is clipped. `request`: asks at once and
   * sends nothing before the grant; to be used within 2 s. `queue`: the same, and waits where somebody talks.
   */
  floor?: 'first_frame' | 'request' | 'queue';
};

/** What the relay counted of the burst, its last one when silence had cut the talk in several. */
type Counts = Partial<Pick<TalkEnded, 'frames' | 'duration_ms'>>;

/**
 * How a talk ended. `ended`: by itself, with the server's code; `lost` when we never heard how, `unsent` when no frame
 * ever left. `denied`: it never had the floor; `talker` has it. `revoked`: the server took the floor back.
 */
export type TalkOutcome =
  | ({ kind: 'ended'; code: EndCode | 'lost' | 'unsent' } & Counts)
  | { kind: 'denied'; code: DenyCode | ErrorCode; talker?: Talker; retry_ms?: number }
  | ({ kind: 'revoked'; code: RevokeCode } & Counts);

/**
 * As the relay tells it: `requested` from the question or the first frame on, `granted` when the floor is ours (told
 * where floors are controlled, and to those who asked), `talking` when the listeners heard of it. `idle` again after a
 * pause that ended the burst; the next frame begins another. `max_talk_ms` 0: no limit; `position` 1 is next.
 */
export type TalkState =
  | { kind: 'idle' }
  | { kind: 'requested' }
  | { kind: 'queued'; position: number; size: number }
  | { kind: 'granted'; burst: number; priority: number; max_talk_ms: number }
  | { kind: 'talking'; burst: number; priority: number; emergency: boolean }
  | TalkOutcome;

export type TalkEvents = { state: TalkState };

/** `capturedAtMs`: when the sound was recorded, by the radio's clock; now, when left out. */
export type SendOptions = { capturedAtMs?: number };

/** A talk in one talkgroup. Calls never throw and never wait; what cannot be sent in time is left out. */
export type Talk = Listenable<TalkEvents> & {
  readonly talkgroupId: string;
  /** How it asks. */
  readonly floor: NonNullable<TalkOptions['floor']>;
  readonly state: TalkState;
  /** One packet, one frame period. */
  send(payload: Uint8Array, options?: SendOptions): void;
  /** A pause of so many frame periods (DTX): nothing is sent, the sequence runs on. */
  skip(periods: number): void;
  /** The last packet, or none; gives back a floor that was not used, and leaves the queue. */
  end(payload?: Uint8Array, options?: SendOptions): void;
  /** Resolves when the talk is over for the server too; never rejects. */
  readonly ended: Promise<TalkOutcome>;
};
