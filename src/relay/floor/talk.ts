// One session's talk in one talkgroup: the grant or burst it has there, and what bounds the next.
import type { Codec, Crypto } from '../../protocol/bodies.js';
import type { CryptoRefusal } from '../../protocol/codes.js';
import { HEADER_BYTES, readFlagsAndEpoch } from '../../protocol/frame.js';
import type { Ask } from '../delivery/ask.js';
import type { Feed } from '../delivery/feed.js';
import type { Peer } from '../delivery/peer.js';
import type { Source } from '../delivery/source.js';
import type { Tape } from '../delivery/tape.js';
import { Bucket } from '../limits/bucket.js';
import { Budget, budgetIn, type Rates, UserBudget } from '../limits/budget.js';
import { Window } from '../limits/window.js';
import { expectedOf, misfitOf } from '../members/crypto.js';
import { type Membership, mayTalk, type Talkgroup } from '../members/members.js';
import type { MovedBurst } from './moved-burst.js';

/** New bursts within BURSTS_WINDOW_MS. A button that is pressed more often is a fault, not speech. */
const BURSTS_MAX = 8;
const BURSTS_WINDOW_MS = 10_000;

/** A session as its talks use it. */
export interface TalkSession {
  readonly number: number;
  readonly isLive: boolean;
  /** null while it has none. */
  readonly socket: Peer | null;
  send(text: string): void;
  /** Number of its next burst. */
  nextBurst(): number;
  /** Whether one more message that it did not ask for is within its rate. */
  mayBeTold(nowMs: number): boolean;
  /** Sends the ERROR or FLOOR_DENIED, and keeps why for who asks about the session. */
  refuse(code: string, talkgroupId: string | undefined, text: string): void;
}

/**
 * What a talk has of the floor: nothing, a question under way, a place in the queue, a grant without a frame, or a running
 * burst. The rest is known to the authority alone.
 */
export type TalkClaim = 'none' | 'asks' | 'waits' | 'has' | 'talks';

/** Made at the first frame or request of a session in a talkgroup and kept until the session or the membership ends. */
export class Talk implements Source {
  readonly session: TalkSession;
  readonly membership: Membership;
  readonly talkgroup: Talkgroup;
  /** Number and feed of the talkgroup, here to save a load: nearly all that the hot path costs are loads. */
  readonly number: number;
  readonly feed: Feed;
  readonly bucket: Bucket;
  /** Of the user here, and in all talkgroups. Shared by all sockets. */
  readonly budget: Budget;
  readonly budgetInAll: UserBudget;
  /** Number of the grant or the running burst in this session, 0 when it has neither. */
  burst = 0;
  /** `talks`: its frames are relayed without another question. */
  claim: TalkClaim = 'none';
  /** The first frame or FLOOR_REQUEST that has no answer yet. null: none. What its session sends here waits behind it. */
  ask: Ask | null = null;
  /** FLOOR_REQUEST came before the first frame: the grant is told in every floor mode. */
  hasAsked = false;
  /** How to decode the talker's payloads, as the client gave it. null: Opus, 48 kHz, mono, 20 ms. */
  codec: Codec | null = null;
  /** How the burst is encrypted, or the next one will be, as the client announced it. null: it did not. */
  crypto: Crypto | null = null;
  /** Of the burst that T1 ended, for a talker that only paused. null: none. */
  cryptoBefore: Crypto | null = null;
  /** Of the running burst: what the first two bytes of its frames must be, see `expectedOf`. */
  cryptoMask = 0;
  cryptoBits = 0;
  priority = 1;
  /** EMERGENCY or 0, as every frame of the burst is stamped. */
  emergencyFlag = 0;
  /** Of the running burst: wall clock for people, monotonic clock for durations. */
  startedAt = 0;
  startedAtMs = 0;
  /** Frames relayed ever, and when the running burst began. */
  relayed = 0;
  relayedBefore = 0;
  /** `relayed` when the session last returned in a burst and T1 began anew, -1: never. */
  relayedAtReturn = -1;
  /** Of the running burst. null: it is not recorded. */
  tape: Tape | null = null;
  /** The burst began at another relay, and goes on here in this step. null: it does not. */
  moved: MovedBurst | null = null;
  /** Unwrapped sequence of the last frame. */
  sequence = 0;
  lastFrameAtMs = 0;
  /** When its END came (monotonic ms). */
  endedAtMs = Number.NEGATIVE_INFINITY;
  /** The server ended or denied its burst: what is still in flight must not begin another. */
  isMuted = false;
  /** An encrypted request was refused: no member can open its frames. Until the next request. */
  isMutedToRequest = false;
  /** Until then nothing lifts the mute (monotonic ms): too many bursts, or floor control could not answer. */
  mutedUntilMs = 0;
  readonly starts = new Window(BURSTS_MAX, BURSTS_WINDOW_MS);

  constructor(session: TalkSession, membership: Membership, limits: Rates, nowMs: number) {
    const { framesPerSecond } = limits;
    const { user } = membership;
    this.session = session;
    this.membership = membership;
    this.talkgroup = membership.talkgroup;
    this.number = this.talkgroup.number;
    this.feed = this.talkgroup.feed;
    this.bucket = new Bucket(framesPerSecond, 2 * framesPerSecond, nowMs);
    membership.budget ??= new Budget(budgetIn(limits), nowMs);
    user.budget ??= new UserBudget(limits, nowMs);
    this.budget = membership.budget;
    this.budgetInAll = user.budget;
  }

  /** Spends a frame with so many bytes, and answers null. Else the budget of its user that it exceeds: nothing is spent. */
  spend(bytes: number, nowMs: number): Budget | null {
    if (!this.budget.take(bytes, nowMs)) return this.budget;
    const { feed } = this;
    if (this.budgetInAll.takeFor(feed.live.size + feed.onlineElsewhere, bytes, nowMs)) return null;
    this.budget.giveBack(bytes);
    return this.budgetInAll;
  }

  /** The budget that a frame with so many bytes would exceed. */
  exceeded(bytes: number, nowMs: number): Budget | null {
    const { budget, budgetInAll } = this;
    if (!budget.take(bytes, nowMs)) return budget;
    budget.giveBack(bytes);
    if (budgetInAll.isSpent(nowMs) || !budgetInAll.take(bytes, nowMs)) return budgetInAll;
    budgetInAll.giveBack(bytes);
    return null;
  }

  /** What is still in flight is dropped: until a START, a request, or T1 of silence from now on. */
  mute(nowMs: number): void {
    this.isMuted = true;
    this.lastFrameAtMs = nowMs;
  }

  /** The burst that begins keeps what the talkgroup demands now. */
  expect(): void {
    const { mask, bits } = expectedOf(this.talkgroup.encryption, this.crypto);
    this.cryptoMask = mask;
    this.cryptoBits = bits;
  }

  /** Why a frame is not as the running burst must be: null when it is, or has no speech. */
  misfitIn(view: DataView): CryptoRefusal | null {
    const bytes = readFlagsAndEpoch(view);
    if ((bytes & this.cryptoMask) === this.cryptoBits || view.byteLength === HEADER_BYTES) return null;
    return misfitOf(bytes, this.talkgroup.encryption);
  }

  /** Number of its session. */
  get sender(): number {
    return this.session.number;
  }

  get socket(): Peer | null {
    return this.session.socket;
  }

  /** Whether its session still has the permission to talk here. */
  mayTalk(): boolean {
    return mayTalk(this.membership);
  }

  /** Frames of the running burst relayed so far. */
  get frames(): number {
    return this.relayed - this.relayedBefore;
  }
}

/** Whether it has the floor, waits for it, or asks for it. */
export const hasPart = (talk: Talk) => talk.claim !== 'none';

/** In a function, because floor control changes the claim behind the compiler's back. */
export const isTalking = ({ claim }: Talk) => claim === 'talks';

/** It has nothing of the floor any more. What it asks, it goes on asking. */
export function forget(talk: Talk): void {
  talk.claim = talk.ask === null ? 'none' : 'asks';
  talk.burst = 0;
  if (talk.ask?.isFirstFrame === false) return;
  talk.hasAsked = false;
  talk.codec = null;
  talk.crypto = null;
}
