// Takes the frames that one radio sends, from the engine's buffer to delivery: the hot path.
import { type Close, closes } from '../../protocol/closes.js';
import type { CryptoRefusal, FrameRefusal } from '../../protocol/codes.js';
import {
  checkFrame,
  ENCRYPTED,
  END,
  HEADER_BYTES,
  readFlags,
  readSequence,
  readTalkgroup,
  START,
  stampFrame,
  unwrapSequence,
  VERSION_1,
} from '../../protocol/frame.js';
import type { Ask, WaitingFrame } from '../delivery/ask.js';
import type { Hearer } from '../delivery/hearer.js';
import type { Voice } from '../delivery/peer.js';
import type { DropReason } from '../figures/counts.js';
import type { Talk } from '../floor/talk.js';
import type { Budget } from '../limits/budget.js';
import { mayTalk } from '../members/members.js';
import { errorText } from './messages.js';
import { Refusals } from './refusals.js';
import type { UplinkServices } from './services.js';
import { type Speaker, Talks } from './talks.js';

/** A session as its uplink uses it. */
export interface Sender extends Speaker {
  /** When its socket last sent anything (monotonic ms). */
  heardAtMs: number;
  readonly reception: Speaker['reception'] & Hearer;
  /** No client can resume it any more. */
  readonly isOver: boolean;
  close(close: Close): void;
  /** Calls `act` in the next turn of the loop. */
  later(act: () => void): void;
}

/** Made when the session first talks or asks to. */
export class Uplink {
  readonly talks: Talks;
  private readonly session: Sender;
  /** Of the session, here to save a load: nearly all that the hot path costs are loads. */
  private readonly reception: Hearer;
  private readonly services: UplinkServices;
  /** The talk of the last accepted frame: a radio rarely changes its talkgroup between two frames. */
  private lastTalk: Talk | null = null;
  private refusals: Refusals | null = null;

  constructor(session: Sender, services: UplinkServices) {
    this.session = session;
    this.reception = session.reception;
    this.services = services;
    this.talks = new Talks(session, services, (talk) => this.forget(talk));
  }

  /**
   * One binary message. true: relayed. `message` is invalid when this returns: the engine takes its buffer back. One from
   * before WELCOME counts in the rates by `arrivedAtMs`.
   */
  receive(message: ArrayBuffer, arrivedAtMs: number | undefined): boolean {
    const { services, session } = this;
    const nowMs = services.nowMs();
    session.heardAtMs = nowMs;
    const { socket } = session;
    if (socket === null) return this.drop('no_session');
    services.counts.framesIn++;
    const view = new DataView(message); // the one new object per frame
    if (checkFrame(view, services.limits.frameBytes) !== null)
      return this.refuse('bad_frame', 0, 0, nowMs, 'bad_frame');

    const flags = readFlags(view);
    const number = readTalkgroup(view);
    let talk = this.lastTalk;
    if (talk === null || talk.number !== number) {
      talk = this.talks.in(number, nowMs);
      if (talk === null) return this.refuse('not_member', number, flags, nowMs, 'not_member');
      this.lastTalk = talk;
    }
    const sentAtMs = arrivedAtMs ?? nowMs;
    if (!talk.bucket.take(sentAtMs)) return this.refuseTooMany(talk, flags, nowMs);
    if (!mayTalk(talk.membership)) return this.drop('withdrawn');

    let started = 0;
    if (talk.claim !== 'talks' || (flags & START) !== 0) {
      if (talk.ask !== null) return this.wait(talk, talk.ask, message, flags, nowMs, sentAtMs);
      const isBegun = this.beginBurst(talk, view, flags, nowMs, sentAtMs);
      if (!isBegun) return talk.ask !== null && this.wait(talk, talk.ask, message, flags, nowMs, sentAtMs);
      started = START;
    }
    const misfit = talk.misfitIn(view);
    if (misfit !== null) return this.refuseMisfit(talk, misfit, flags, nowMs);
    const exceeded = talk.spend(message.byteLength - HEADER_BYTES, sentAtMs);
    if (exceeded !== null) return this.refuseExcess(talk, exceeded, flags, nowMs);
    this.relay(socket, talk, message, view, flags, started, nowMs);
    return true;
  }

  /** Sends the frame to all who hear its burst, at once or after `waited`. */
  private relay(
    from: Voice,
    talk: Talk,
    message: ArrayBuffer,
    view: DataView,
    flags: number,
    started: number,
    nowMs: number,
  ): void {
    const { services, session } = this;
    const { feed } = talk;
    talk.relayed++;
    feed.relayed++;
    talk.lastFrameAtMs = nowMs;
    talk.sequence = unwrapSequence(talk.sequence, readSequence(view));
    const stamped = VERSION_1 | started | talk.emergencyFlag | (flags & (END | ENCRYPTED));
    stampFrame(view, stamped, session.number, talk.burst);
    services.counts.framesRelayed++;
    // What only its talker would hear is not handed to the engine.
    const isSent =
      feed.onlyHearer === this.reception || services.holding.live(from, feed, talk, message, stamped, nowMs);
    if (services.sampling.isArmed) services.sampling.take(nowMs, message.byteLength, isSent ? null : feed);
    if (feed.held !== null) services.holding.keep(feed, talk, message, nowMs);
    if (feed.elsewhere !== null) feed.elsewhere.frame(talk, message, nowMs);
    if (talk.tape !== null) talk.tape.frame(view, talk.frames);
    if ((flags & END) === 0) return;
    services.floor.release(talk, 'released', nowMs);
    talk.endedAtMs = nowMs;
  }

  /** Keeps a copy of the frame behind what the talk asks. It counts in the budgets now. */
  private wait(
    talk: Talk,
    ask: Ask,
    message: ArrayBuffer,
    flags: number,
    nowMs: number,
    sentAtMs: number,
  ): false {
    const exceeded = talk.spend(message.byteLength - HEADER_BYTES, sentAtMs);
    if (exceeded !== null) return this.refuseExcess(talk, exceeded, flags, nowMs);
    this.services.counts.dropped.unanswered += ask.keep({ message: message.slice(0), cameAtMs: nowMs });
    return false;
  }

  /** What waited behind the answered question goes on, in order, up to the next question without an answer. */
  answered(talk: Talk, ask: Ask, nowMs: number): void {
    for (const one of ask.takeAll()) {
      // A frame that waited may have been one too many.
      if (this.session.isOver) {
        if (typeof one !== 'function') this.drop('unanswered');
      } else if (typeof one === 'function') one(nowMs);
      else if (talk.ask !== null) this.services.counts.dropped.unanswered += talk.ask.keep(one);
      else this.waited(talk, ask, one, nowMs);
    }
    // The floor was given without regard to a socket that died meanwhile.
    if (!this.session.isLive && talk.ask === null) this.services.floor.lose(talk, false, nowMs);
  }

  /** A frame that waited. Its rates and budgets counted it when it came. */
  private waited(talk: Talk, ask: Ask, frame: WaitingFrame, nowMs: number): void {
    const { message } = frame;
    const view = new DataView(message);
    const flags = readFlags(view);
    if (!mayTalk(talk.membership)) {
      this.drop('withdrawn');
      return;
    }
    const isPress = (flags & START) !== 0 && !ask.isAsker(frame);
    if (talk.claim !== 'talks' || isPress) {
      const isBegun = this.beginBurst(talk, view, flags, nowMs, null);
      if (!isBegun) {
        if (talk.ask !== null) talk.ask.keep(frame);
        return;
      }
    }
    const started = talk.frames === 0 ? START : 0;
    const misfit = talk.misfitIn(view);
    if (misfit !== null) {
      this.refuseMisfit(talk, misfit, flags, nowMs);
      return;
    }
    const from = this.session.socket ?? this.services.fanout.absent;
    this.relay(from, talk, message, view, flags, started, nowMs);
  }

  /**
   * false: no burst begins with this frame, and the talker was told why if there was something to tell, or `talk.ask` is
   * set, and the frame must wait for the answer. `sentAtMs` is null when the budgets have counted the frame.
   */
  private beginBurst(
    talk: Talk,
    view: DataView,
    flags: number,
    nowMs: number,
    sentAtMs: number | null,
  ): boolean {
    const { talks } = this;
    const obstacle = talks.checkFirstFrame(talk, view, flags, nowMs);
    if (obstacle === 'listen_only') return this.refuse(obstacle, talk.number, flags, nowMs, obstacle);
    if (obstacle !== null) return this.drop(obstacle);
    const exceeded = sentAtMs === null ? null : talk.exceeded(view.byteLength - HEADER_BYTES, sentAtMs);
    if (exceeded !== null) return this.refuseExcess(talk, exceeded, flags, nowMs);
    const denial = talks.begin(talk, view, flags, nowMs);
    if (denial === 'too_many_talkgroups' || denial === 'rate_limited')
      return this.refuse(denial, talk.number, flags, nowMs, denial);
    if (denial !== null && denial !== 'asks' && denial !== 'denied')
      return this.refuse(denial, talk.number, flags, nowMs, 'encryption');
    this.refusals?.forget(talk.number);
    if (denial === 'asks') return false;
    return denial === null || this.drop(denial);
  }

  /** The session left the talkgroup: ends a burst there, and forgets the talk. */
  leave(talk: Talk, code: 'left' | 'deleted', nowMs: number): void {
    const { session, services } = this;
    const texts = services.floor.remove(talk, code, nowMs);
    this.forget(talk);
    if (texts.length === 0) return;
    // In the next turn, because the membership is not over yet.
    session.later(() => {
      if (!session.isOver) for (const text of texts) text(services.nowMs());
    });
  }

  /** Its next frame there makes another talk. */
  forget(talk: Talk): void {
    this.talks.delete(talk.number);
    if (this.lastTalk === talk) this.lastTalk = null;
  }

  private drop(reason: DropReason): false {
    this.services.counts.dropped[reason]++;
    return false;
  }

  /** All sockets of the user together send too much. When that goes on, the burst that one of them began last ends. */
  private refuseExcess(talk: Talk, exceeded: Budget, flags: number, nowMs: number): false {
    if (talk.claim === 'talks') talk.lastFrameAtMs = nowMs; // refused, but not silent: T1 does not end the burst
    if (exceeded.isExceededForLong(nowMs)) {
      const { membership } = talk;
      const memberships = exceeded === talk.budget ? [membership] : membership.user.memberships.values();
      this.services.floor.endNewest(memberships, nowMs);
    }
    return this.refuseTooMany(talk, flags, nowMs, 'over_budget');
  }

  /** It is not encrypted as its burst was announced. */
  private refuseMisfit(talk: Talk, code: CryptoRefusal, flags: number, nowMs: number): false {
    if ((flags & END) !== 0) this.services.floor.release(talk, 'released', nowMs);
    return this.refuse(code, talk.number, flags, nowMs, 'encryption');
  }

  /** Beyond a rate. An END ends its burst all the same, or the others would wait for T1 to talk. */
  private refuseTooMany(
    talk: Talk,
    flags: number,
    nowMs: number,
    reason: DropReason = 'rate_limited',
  ): false {
    if ((flags & END) !== 0) {
      if (talk.claim === 'talks') this.services.floor.release(talk, 'released', nowMs);
      else talk.ask?.endHere();
    }
    return this.refuse('rate_limited', talk.number, flags, nowMs, reason);
  }

  /** Drops the frame. Its stream, until its next START or 2 s of silence, is told once. */
  private refuse(
    code: FrameRefusal,
    number: number,
    flags: number,
    nowMs: number,
    reason: DropReason,
  ): false {
    const { session } = this;
    this.refusals ??= new Refusals(this.services.limits.framesPerSecond);
    this.drop(reason);
    if (this.refusals.isFlood(nowMs)) session.close(closes.rate_limited);
    else if (this.refusals.isNews(number, (flags & START) !== 0, nowMs) && session.mayBeTold(nowMs))
      this.tell(code, number);
    return false;
  }

  private tell(code: FrameRefusal, number: number): void {
    const talkgroup_id = this.talks.at(number)?.talkgroup.id;
    const about = code === 'not_member' ? { number } : { talkgroup_id };
    this.session.refuse(code, talkgroup_id, errorText(code, about));
  }
}
