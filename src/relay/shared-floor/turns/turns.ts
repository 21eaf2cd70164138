// Plays the bursts of one talkgroup in `single` and `broadcast`: those of this relay and of others, in one order.

import type { UserId } from '../../../ids.js';
import type { RunningTalker } from '../../../protocol/bodies.js';
import type { EndCode } from '../../../protocol/codes.js';
import type { Turn } from '../../../protocol/turn.js';
import type { OwnBurst } from '../../delivery/elsewhere.js';
import type { Bursts } from '../../floor/bursts.js';
import { type Claim, rankOf } from '../../floor/claim.js';
import type { Talkgroup } from '../../members/members.js';
import type { Placed } from '../bodies.js';
import { Order } from './order.js';
import {
  type AskedWith,
  type BurstName,
  type Ended,
  type FrameFate,
  type FrameHead,
  type HandedOver,
  isSame,
  type KeptBursts,
  type PlayedBurst,
  type PlayedTalk,
} from './plays.js';

/** A burst without a frame for this time (ms) may have ended: T1 of its relay is 2 s, unless its operator changed it. */
export const SILENT_MS_MAX = 2500;

/** What the turns of all talkgroups share. */
export interface TurnsServices {
  /** Id of this relay. */
  readonly relay: number;
  readonly bursts: Pick<Bursts, 'remoteIn'>;
  readonly counts: { framesLost: number; held: number };
  /** Plays a burst of another relay here from now on. */
  readonly begin: (talkgroup: Talkgroup, talker: RunningTalker, nowMs: number) => PlayedBurst;
  /** So many frames of a burst that did not begin here are not played. */
  readonly missed: (talkgroup: Talkgroup, talker: RunningTalker, frames: number) => void;
  /** The grant with this turn may begin. */
  readonly ready: (talkgroup: Talkgroup, turn: Turn, nowMs: number) => void;
  /** Something is held back: `tick` is to be called every 20 ms or more often. */
  readonly holding: (turns: Turns) => void;
}

/** One talkgroup. */
export interface TurnsOf {
  readonly talkgroup: Talkgroup;
  /** The relay that decides the floor, by the view of this one. */
  readonly home: () => number;
  readonly kept: KeptBursts;
}

/** `talker` is null for a burst of this relay. */
interface Burst extends BurstName {
  readonly talker: RunningTalker | null;
  /** null: also when its relay did not tell. */
  readonly claim: AskedWith | null;
  /** Of the message that announced it. Infinite while it is expected from the relay to which its session moves. */
  seq: number;
  /** When it was heard of (monotonic ms). */
  readonly sinceMs: number;
}

export class Turns {
  readonly order: Order<Burst>;
  readonly talkgroup: Talkgroup;
  private readonly services: TurnsServices;
  private readonly kept: KeptBursts;
  private playing: PlayedBurst | null = null;
  private heardAtMs = 0;
  private frameAtMs = 0;
  private wasHolding = false;
  private isOver = false;
  /** Of the frame under way. */
  private readonly head = { relay: 0, session: 0, burst: 0, count: 0, home: 0, index: 0 } satisfies FrameHead;

  constructor(services: TurnsServices, { talkgroup, home, kept }: TurnsOf) {
    this.services = services;
    this.talkgroup = talkgroup;
    this.kept = kept;
    this.order = new Order<Burst>(
      {
        begin: ({ talker }, frames, nowMs) => {
          this.heardAtMs = nowMs;
          this.frameAtMs = nowMs;
          if (talker !== null) this.begin(talker, frames, nowMs);
        },
        frame: (_burst, message, index, nowMs) => {
          this.frameAtMs = nowMs;
          this.playing?.frame(message, index, nowMs);
        },
        missed: (burst, frames, nowMs) => {
          services.counts.framesLost += frames;
          const { on } = this.order;
          if (on !== null && isSame(on.burst, burst)) this.playing?.missed(frames, nowMs);
          else if (burst.talker !== null) services.missed(talkgroup, burst.talker, frames);
        },
        end: (_burst, { code, durationMs, frames }) => {
          const { playing } = this;
          this.playing = null;
          playing?.end(code, { durationMs, frames });
        },
        ready: (turn, nowMs) => services.ready(talkgroup, turn, nowMs),
      },
      {
        home,
        rankOf: ({ talker, claim }) => (talker === null ? 0 : rankOf(this.claimNow(talker, claim))),
      },
    );
  }

  /** The highest turn that plays or ended here. */
  get top(): Turn {
    return this.order.top;
  }

  /** The same, with what is held back. */
  get seen(): Turn {
    return this.order.seen;
  }

  /** The burst of another relay that plays here. */
  get played(): PlayedTalk | null {
    const { on } = this.order;
    if (on === null || on.turn === null || on.burst.talker === null) return null;
    const { relay, talker, claim, sinceMs } = on.burst;
    const { turn } = on;
    const { frameAtMs } = this;
    return { relay, claim: this.claimNow(talker, claim), turn, startedAtMs: sinceMs, frameAtMs };
  }

  /**
   * What the talker has the floor with. An emergency may be raised or cleared in the midst of a burst, and its frames show
   * that. `asked` is null when its relay had nothing to tell: above 3 only dispatchers and administrators come.
   */
  private claimNow(talker: RunningTalker, asked: AskedWith | null): Claim {
    const { talkgroup, services } = this;
    let shown = talker;
    for (const { talker: heard } of services.bursts.remoteIn(talkgroup))
      if (isSame(heard, talker)) shown = heard;
    const { session, user_id, priority, emergency: inEmergency } = shown;
    const isAdmin = !inEmergency && (priority > 3 || talkgroup.floorMode === 'broadcast');
    return { session, user: user_id as UserId, ...(asked ?? { priority, isAdmin }), inEmergency };
  }

  /** No burst with this turn can begin here any more. */
  isPast(turn: Turn): boolean {
    return this.order.isPast(turn);
  }

  /** It goes on when it was heard in `open`. */
  private begin(talker: RunningTalker, frames: number, nowMs: number): void {
    const { kept, talkgroup } = this;
    const { begin, counts } = this.services;
    const heard = kept.take(talker.session, talker.burst);
    kept.end();
    this.playing = heard?.played ?? begin(talkgroup, { ...talker, frames }, nowMs);
    if (heard === null || frames <= heard.index) return;
    counts.framesLost += frames - heard.index;
    heard.played.missed(frames - heard.index, nowMs);
  }

  /** The burst of another relay that plays here goes on in `open`, and leaves the order. null: none plays. */
  release(): HandedOver | null {
    const { playing } = this;
    const on = this.order.release();
    this.playing = null;
    if (on === null || playing === null) return null;
    const { relay, session, burst, seq } = on.burst;
    return { relay, session, heard: { burst, played: playing, seq, index: on.index } };
  }

  /** Another relay says that this burst began, or runs. `lost`: so many frames of it were meant for this relay. `moves`: of its session. */
  started(
    relay: number,
    { talker, claim }: { readonly talker: RunningTalker; readonly claim: AskedWith | null },
    placed: Placed,
    { seq, lost, moves }: { readonly seq: number; readonly lost: number; readonly moves: number },
    nowMs: number,
  ): void {
    const { session, burst, frames } = talker;
    const { on } = this.order;
    const isKnown = on !== null && isSame(on.burst, talker);
    this.heardAtMs = nowMs;
    const sinceMs = isKnown ? on.burst.sinceMs : nowMs;
    const begun = { relay, moves, session, burst, talker, claim, seq, sinceMs };
    this.order.started(begun, placed, frames, nowMs);
    const after = this.order.on;
    if (lost > 0 && !isKnown && after?.burst.talker === talker) {
      this.services.counts.framesLost += lost;
      this.playing?.missed(lost, nowMs);
    }
    this.touched();
  }

  frame(
    { relay, count, home, index }: Omit<FrameHead, 'session' | 'burst'>,
    session: number,
    burst: number,
    message: ArrayBuffer,
    nowMs: number,
  ): FrameFate {
    const { head } = this;
    head.relay = relay;
    head.session = session;
    head.burst = burst;
    head.count = count;
    head.home = home;
    head.index = index;
    this.heardAtMs = nowMs;
    return this.order.frame(head, message, nowMs);
  }

  /** Another relay says that this burst ended there. */
  ended(
    relay: number,
    turn: Turn,
    { session, burst, ...ended }: Omit<BurstName, 'relay'> & Ended,
    nowMs: number,
  ): void {
    this.order.ended({ relay, session, burst }, turn, ended, nowMs);
    this.touched();
  }

  /** The other relay says what runs there, as of its message `seq`. */
  tells(relay: number, running: readonly BurstName[], seq: number, nowMs: number): void {
    const { on } = this.order;
    if (on === null || on.turn === null || on.burst.relay !== relay || on.burst.seq > seq) return;
    if (running.some((one) => isSame(one, on.burst))) return;
    const ended = { code: 'disconnected', durationMs: null, frames: 0 } as const;
    this.order.ended(on.burst, on.turn, ended, nowMs);
    this.touched();
  }

  /** The relay whose burst has been silent for too long. null: none. */
  silent(nowMs: number): number | null {
    const { on } = this.order;
    if (on === null || on.turn === null || on.burst.talker === null) return null;
    if (nowMs - this.heardAtMs < SILENT_MS_MAX) return null;
    this.heardAtMs = nowMs - SILENT_MS_MAX / 2; // again in half of the time, until it is answered
    if (on.burst.seq === Number.POSITIVE_INFINITY) on.burst.seq = 0; // it does not come any more
    return on.burst.relay;
  }

  gone(relay: number, code: EndCode, nowMs: number): void {
    this.order.gone(relay, nowMs, code);
    this.touched();
  }

  /** A burst of this relay begins: none of those that were heard in `open` goes on. */
  endKept(): void {
    this.kept.end();
  }

  /** A burst of this relay begins, or goes on from now on with this turn. */
  ownStarted(burst: OwnBurst, turn: Turn | null, nowMs: number): void {
    this.order.ownStarted(this.own(burst, nowMs), turn, nowMs);
    this.touched();
  }

  /** Whether a burst of another relay, whose session comes here, may go on. */
  mayGoOn({ sender, burst }: OwnBurst, turn: Turn): boolean {
    return this.order.mayGoOn({ relay: this.services.relay, session: sender, burst }, turn);
  }

  /** It goes on as one of this relay. What played it before is dropped by the session. */
  goesOnHere(burst: OwnBurst, turn: Turn, nowMs: number): void {
    const { kept } = this;
    kept.take(burst.sender, burst.burst);
    kept.end();
    this.order.goesOnHere(this.own(burst, nowMs), turn, burst.frames, nowMs);
    this.playing = null;
    this.touched();
  }

  private own({ sender: session, burst }: OwnBurst, sinceMs: number): Burst {
    const { relay } = this.services;
    return { relay, session, burst, talker: null, claim: null, seq: 0, sinceMs };
  }

  /** The burst of this relay goes on as one of that relay, and `played` plays it. */
  goesOnThere(
    { relay, moves, claim }: Pick<Burst, 'relay' | 'moves' | 'claim'>,
    talker: RunningTalker,
    played: PlayedBurst,
    nowMs: number,
  ): void {
    const { session, burst, frames } = talker;
    const { on } = this.order;
    const sinceMs = on?.burst.sinceMs ?? nowMs;
    const there = {
      ...{ relay, session, burst, talker, claim, sinceMs },
      ...(moves && { moves }),
      seq: Number.POSITIVE_INFINITY,
    };
    if (this.order.goesOnThere(there, frames)) this.playing = played;
    else played.end('disconnected', { durationMs: null, frames });
    this.heardAtMs = nowMs;
    this.touched();
  }

  ownRenewed(turn: Turn, nowMs: number): void {
    this.order.ownRenewed(turn, nowMs);
    this.touched();
  }

  ownEnded(nowMs: number): void {
    this.order.ownEnded(nowMs);
    this.touched();
  }

  /**
   * A session of this relay has the floor. `ready`: it may begin now. `held`: `services.ready` is called when it may.
   * `past`: it never may. The same grant may be asked for again and again. `rank` is that of its claim.
   */
  grant(placed: Placed, rank: number, nowMs: number): 'ready' | 'held' | 'past' {
    const answer = this.order.grant(placed, rank, nowMs);
    this.touched();
    return answer;
  }

  /** The grant was given up, or taken away, before it was ready. */
  withdraw(turn: Turn): void {
    this.order.withdraw(turn);
  }

  /** Ends the burst of another relay that plays here: a session of this relay begins without the word of a home. */
  interrupt(nowMs: number): void {
    this.order.interrupt(nowMs);
  }

  /** Gives up waiting when it has waited long enough. true: something still waits. */
  tick(nowMs: number): boolean {
    if (this.isOver) return false;
    this.order.tick(nowMs);
    this.touched();
    return this.order.isHolding;
  }

  /** The talkgroup has no receiver here any more. */
  drop(): void {
    this.isOver = true;
    this.playing?.drop();
    this.playing = null;
  }

  /** What waits must be looked after. */
  private touched(): void {
    const { isHolding } = this.order;
    if (isHolding && !this.wasHolding) this.services.counts.held++;
    this.wasHolding = isHolding;
    if (isHolding) this.services.holding(this);
  }
}
