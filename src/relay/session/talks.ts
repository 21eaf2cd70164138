// Keeps the talks of one session, and checks what must hold before floor control is asked for a burst.
import type { CryptoRefusal } from '../../protocol/codes.js';
import {
  ENCRYPTED,
  END,
  HEADER_BYTES,
  readFlagsAndEpoch,
  readSequence,
  START,
} from '../../protocol/frame.js';
import { hasPart, isTalking, Talk, type TalkSession } from '../floor/talk.js';
import { expectedOf, fits, judgeBurst, misfitOf } from '../members/crypto.js';
import { type Membership, mayBeClear, mayTalk, type User } from '../members/members.js';
import type { Reception } from '../reception/reception.js';
import type { UplinkServices } from './services.js';

/** Of one session at once, for a console that talks in several: each frame is sent once per talkgroup. */
const TALKGROUPS_TALKING_MAX = 8;
/**
 * Talks of one session, 0.9 KiB each: a member of 2,000 talkgroups could otherwise keep 2,000 on each of its sockets. The
 * oldest idle one is forgotten, with its mute and its rate. The budgets of the user stay.
 */
const TALKS_MAX = 64;
/** After too many bursts (ms). */
const MUTED_MS = 2000;
/** Frames without START behind an END are a remainder, as gateways send it (up to 200 ms were seen): no burst (ms). */
const BEHIND_END_MS = 300;
/** A withdrawn permission is read again within this time (ms). */
const RETRY_WITHDRAWN_MS = 200;

/** Why a first frame may not ask for a burst. Only `listen_only` is told to the talker. */
export type FrameObstacle = 'listen_only' | 'no_burst' | 'muted';

/** Why a first frame got no burst. Floor control has told the talker of `denied`. `asks`: it has not answered yet. */
export type BurstDenial = 'too_many_talkgroups' | 'rate_limited' | 'denied' | 'asks' | CryptoRefusal;

/** Why FLOOR_REQUEST does not reach the floor. */
export interface FloorRefusal {
  readonly code: 'listen_only' | 'retry_later' | 'too_many_talkgroups';
  /** When it may ask again (ms). */
  readonly retryMs?: number;
}

/** A session as its talks use it. */
export interface Speaker extends TalkSession {
  readonly user: User;
  readonly reception: Pick<Reception, 'subscriptionTo'>;
}

/** Made when the session first talks or asks to. */
export class Talks {
  private readonly session: Speaker;
  private readonly services: UplinkServices;
  /** By talkgroup number. */
  private readonly talks = new Map<number, Talk>();

  private readonly forget: (talk: Talk) => void;

  /** Calls `forget` with a talk that is to be deleted. */
  constructor(session: Speaker, services: UplinkServices, forget: (talk: Talk) => void) {
    this.session = session;
    this.services = services;
    this.forget = forget;
  }

  /** The talk in the talkgroup with this number, made when there is none. null: not a member. */
  in(number: number, nowMs: number): Talk | null {
    const known = this.talks.get(number);
    if (known !== undefined) return known;
    const membership = this.session.user.memberships.get(number);
    return membership === undefined ? null : this.of(membership, nowMs);
  }

  /** The talk of this membership, made when there is none. */
  of(membership: Membership, nowMs: number): Talk {
    const { number } = membership.talkgroup;
    let talk = this.talks.get(number);
    if (talk === undefined) {
      if (this.talks.size >= TALKS_MAX) this.forgetIdle();
      talk = new Talk(this.session, membership, this.services.limits, nowMs);
      this.talks.set(number, talk);
    }
    return talk;
  }

  /** Makes room for another talk. Those with a part of the floor are few, and stay. */
  private forgetIdle(): void {
    for (const talk of this.talks.values()) {
      if (hasPart(talk) || talk.ask !== null) continue;
      return this.forget(talk);
    }
  }

  /** The same, undefined while it neither talked nor asked to. */
  at(number: number): Talk | undefined {
    return this.talks.get(number);
  }

  all(): Iterable<Talk> {
    return this.talks.values();
  }

  delete(number: number): void {
    this.talks.delete(number);
  }

  /**
   * Checks a first frame before its budget. null: it may ask for a burst. Keeps the talk muted while frames of a denied
   * burst arrive, and gives back an unused grant at an END without speech.
   */
  checkFirstFrame(talk: Talk, view: DataView, flags: number, nowMs: number): FrameObstacle | null {
    const { floor, limits } = this.services;
    // What is left of a burst that silence ended: there is no speech in it, so no burst begins.
    if (talk.claim !== 'talks' && (flags & END) !== 0 && view.byteLength === HEADER_BYTES) {
      if (talk.burst !== 0) floor.release(talk, 'released', nowMs);
      return 'no_burst';
    }
    if (this.session.reception.subscriptionTo(talk.talkgroup).mode !== 'talk') return 'listen_only';
    if (talk.isMutedToRequest || nowMs < talk.mutedUntilMs) return 'muted';
    const isBehindEnd = talk.claim === 'none' && nowMs - talk.endedAtMs < BEHIND_END_MS;
    if (isBehindEnd && (flags & START) === 0) return 'muted';
    const isSilent = nowMs - talk.lastFrameAtMs >= limits.talkSilenceMs;
    if (talk.isMuted && (flags & START) === 0 && !isSilent) {
      talk.lastFrameAtMs = nowMs;
      return 'muted';
    }
    return null;
  }

  /** Begins a burst with this frame. null: it has begun, and `talk.claim` is `talks`. */
  begin(talk: Talk, view: DataView, flags: number, nowMs: number): BurstDenial | null {
    const { floor } = this.services;
    talk.isMuted = false;
    talk.lastFrameAtMs = nowMs;
    if (talk.claim === 'talks') floor.release(talk, 'released', nowMs);
    const refusal = this.checkCrypto(talk, view, flags, nowMs);
    if (refusal !== null) return refusal;
    if (talk.burst === 0) {
      if (this.countElsewhere(talk) >= TALKGROUPS_TALKING_MAX) return 'too_many_talkgroups';
      if (this.muteIfTooMany(talk, nowMs)) return 'rate_limited';
    }
    talk.sequence = readSequence(view);
    floor.begin(talk, nowMs);
    if (isTalking(talk)) return null;
    return talk.ask === null ? 'denied' : 'asks';
  }

  /** Why the burst that begins with this frame may not be encrypted, or clear, as it is. */
  private checkCrypto(talk: Talk, view: DataView, flags: number, nowMs: number): CryptoRefusal | null {
    const { talkgroup, crypto, cryptoBefore } = talk;
    const isEncrypted = (flags & ENCRYPTED) !== 0;
    talk.cryptoBefore = null;
    // A talker that only paused goes on with its salt. A START begins with a new one, which must be announced.
    if (crypto === null && isEncrypted && (flags & START) === 0) talk.crypto = cryptoBefore;
    const { encryption } = talkgroup;
    const isUnannounced = talk.crypto === null && isEncrypted && encryption === 'required';
    const refusal = isUnannounced ? 'encryption_unannounced' : this.judge(talk, nowMs);
    if (refusal !== null) {
      talk.mute(nowMs);
      if (talk.burst === 0) talk.crypto = null;
      return refusal;
    }
    const bytes = readFlagsAndEpoch(view);
    return fits(bytes, expectedOf(encryption, talk.crypto)) ? null : misfitOf(bytes, encryption);
  }

  /** Why no burst may begin with the `crypto` of the talk. */
  judge({ membership, talkgroup, crypto }: Talk, nowMs: number) {
    const { encryption, epochs } = talkgroup;
    if (crypto === null && encryption !== 'required') return null; // the most frequent case
    return judgeBurst({
      ...{ encryption, crypto },
      epoch: crypto === null ? 'accepted' : epochs.judge(crypto.epoch, nowMs),
      mayHaveKeys: membership.mayHaveKeys,
      mayBeClear: mayBeClear(membership),
    });
  }

  /** Why FLOOR_REQUEST does not reach the floor. null: it does. */
  checkRequest(talk: Talk, nowMs: number): FloorRefusal | null {
    if (!mayTalk(talk.membership)) return { code: 'retry_later', retryMs: RETRY_WITHDRAWN_MS };
    if (this.session.reception.subscriptionTo(talk.talkgroup).mode !== 'talk') return { code: 'listen_only' };
    if (talk.burst !== 0) return null;
    if (this.countElsewhere(talk) >= TALKGROUPS_TALKING_MAX) return { code: 'too_many_talkgroups' };
    if (nowMs >= talk.mutedUntilMs && !this.muteIfTooMany(talk, nowMs)) return null;
    return { code: 'retry_later', retryMs: Math.ceil(talk.mutedUntilMs - nowMs) };
  }

  /** In how many other talkgroups it has the floor, waits for it or asks for it. */
  private countElsewhere(here: Talk): number {
    let count = 0;
    for (const talk of this.talks.values()) if (talk !== here && hasPart(talk)) count++;
    return count;
  }

  /** true: one more burst would be too many, and it is muted there for a while. */
  private muteIfTooMany(talk: Talk, nowMs: number): boolean {
    if (!talk.starts.isFull(nowMs)) return false;
    talk.mutedUntilMs = nowMs + MUTED_MS;
    return true;
  }
}
