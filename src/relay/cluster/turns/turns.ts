// Plays the bursts of one talkgroup in `single` and `broadcast`: those of this relay and of others, in one order.
import type { RunningTalker } from '../../../protocol/bodies.js';
import type { EndCode } from '../../../protocol/codes.js';
import type { Turn } from '../../../protocol/turn.js';
import type { OwnBurst } from '../../delivery/elsewhere.js';
import type { Header } from '../../nodes/header.js';
import type { Past } from '../bodies.js';
import type { ClusterCounts } from '../counts.js';
import type { PlayedBurst, Shared, Stage } from '../stage.js';
import { Order } from './order.js';
import type { HandedOver, KeptBursts, PlayedTurn } from './played.js';
import {
  type AskedWith,
  type BurstName,
  type FrameFate,
  type FrameHead,
  isSame,
  type Placed,
} from './plays.js';

/** A burst without a frame for this time (ms) may have ended: T1 of its relay is 2 s, unless its operator changed it. */
export const SILENT_MS_MAX = 2500;

export interface TurnsServices<Talkgroup extends Shared> {
  /** Id of this relay. */
  readonly relay: number;
  readonly talkgroup: Talkgroup;
  readonly stage: Pick<Stage<Talkgroup>, 'begin' | 'floor'>;
  readonly counts: ClusterCounts;
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

export class Turns<Talkgroup extends Shared> {
  readonly order: Order<Burst>;
  private readonly services: TurnsServices<Talkgroup>;
  private played: PlayedBurst | null = null;
  private heardAtMs = 0;
  private frameAtMs = 0;
  private wasHolding = false;
  /** Of the frame under way. */
  private readonly head = { relay: 0, session: 0, burst: 0, count: 0, home: 0, index: 0 } satisfies FrameHead;

  constructor(services: TurnsServices<Talkgroup>) {
    this.services = services;
    const { talkgroup, stage, counts, home } = services;
    this.order = new Order<Burst>(
      {
        begin: ({ talker }, frames, nowMs) => {
          this.heardAtMs = nowMs;
          this.frameAtMs = nowMs;
          if (talker !== null) this.begin(talker, frames, nowMs);
        },
        frame: (_burst, message, index, nowMs) => {
          this.frameAtMs = nowMs;
          this.played?.frame(message, index, nowMs);
        },
        missed: (burst, frames, nowMs) => {
          counts.framesLost += frames;
          const { on } = this.order;
          if (on !== null && isSame(on.burst, burst)) this.played?.missed(frames, nowMs);
          else if (burst.talker !== null) stage.floor.missed(talkgroup, burst.talker, frames);
        },
        end: (_burst, { code, durationMs, frames }) => {
          const { played } = this;
          this.played = null;
          played?.end(code, { durationMs, frames });
        },
        ready: (turn, nowMs) => stage.floor.ready(talkgroup, turn, nowMs),
      },
      {
        home,
        rankOf: ({ talker, claim }) => (talker === null ? 0 : stage.floor.rankOf(talkgroup, talker, claim)),
      },
    );
  }

  /** It goes on when it was heard in `open`. */
  private begin(talker: RunningTalker, frames: number, nowMs: number): void {
    const { stage, talkgroup, kept, counts } = this.services;
    const heard = kept.take(talker.session, talker.burst);
    kept.end();
    this.played = heard?.played ?? stage.begin(talkgroup, { ...talker, frames }, nowMs);
    if (heard === null || frames <= heard.index) return;
    counts.framesLost += frames - heard.index;
    heard.played.missed(frames - heard.index, nowMs);
  }

  /** The burst of another relay that plays here goes on in `open`, and leaves the order. null: none plays. */
  release(): HandedOver | null {
    const { played } = this;
    const on = this.order.release();
    this.played = null;
    if (on === null || played === null) return null;
    const { relay, session, burst, seq } = on.burst;
    return { relay, session, heard: { burst, played, seq, index: on.index } };
  }

  /** The burst of another relay that plays here. */
  get remote(): PlayedTurn | null {
    const { on } = this.order;
    if (on === null || on.turn === null || on.burst.talker === null) return null;
    const { relay, talker, claim, sinceMs } = on.burst;
    return { relay, talker, claim, turn: on.turn, startedAtMs: sinceMs, frameAtMs: this.frameAtMs };
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
    const isKnown = on !== null && isSame(on.burst, { relay, session, burst });
    this.heardAtMs = nowMs;
    const sinceMs = isKnown ? on.burst.sinceMs : nowMs;
    const begun = { relay, moves, session, burst, talker, claim, seq, sinceMs };
    this.order.started(begun, placed, frames, nowMs);
    const after = this.order.on;
    if (lost > 0 && !isKnown && after?.burst.talker === talker) {
      this.services.counts.framesLost += lost;
      this.played?.missed(lost, nowMs);
    }
    this.touched();
  }

  frame(
    { relay, count, home, index }: Header,
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
    { session, burst, code, duration_ms: durationMs, frames }: Past,
    nowMs: number,
  ): void {
    this.order.ended({ relay, session, burst }, turn, { code, durationMs, frames }, nowMs);
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
    const { remote } = this;
    if (remote === null || nowMs - this.heardAtMs < SILENT_MS_MAX) return null;
    this.heardAtMs = nowMs - SILENT_MS_MAX / 2; // again in half of the time, until it is answered
    const { on } = this.order;
    if (on?.burst.seq === Number.POSITIVE_INFINITY) on.burst.seq = 0; // it does not come any more
    return remote.relay;
  }

  gone(relay: number, code: EndCode, nowMs: number): void {
    this.order.gone(relay, nowMs, code);
    this.touched();
  }

  /** A burst of this relay begins: none of those that were heard in `open` goes on. */
  endKept(): void {
    this.services.kept.end();
  }

  /** A burst of this relay begins, or goes on from now on with this turn. */
  ownStarted({ sender, burst }: OwnBurst, turn: Turn | null, nowMs: number): void {
    const { relay } = this.services;
    const own = { relay, session: sender, burst, talker: null, claim: null, seq: 0, sinceMs: nowMs };
    this.order.ownStarted(own, turn, nowMs);
    this.touched();
  }

  /** Whether a burst of another relay, whose session comes here, may go on. */
  mayGoOn({ sender, burst }: OwnBurst, turn: Turn): boolean {
    return this.order.mayGoOn({ relay: this.services.relay, session: sender, burst }, turn);
  }

  /** It goes on as one of this relay. What played it before is dropped by the session. */
  goesOnHere({ sender, burst, frames }: OwnBurst, turn: Turn, nowMs: number): void {
    const { relay, kept } = this.services;
    const own = { relay, session: sender, burst, talker: null, claim: null, seq: 0, sinceMs: nowMs };
    kept.take(sender, burst);
    kept.end();
    this.order.goesOnHere(own, turn, frames, nowMs);
    this.played = null;
    this.touched();
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
    if (this.order.goesOnThere(there, frames)) this.played = played;
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

  /** A grant to a session of this relay. */
  grant(placed: Placed, rank: number, nowMs: number): 'ready' | 'held' | 'past' {
    const answer = this.order.grant(placed, rank, nowMs);
    this.touched();
    return answer;
  }

  /** Gives up waiting when it has waited long enough. true: something still waits. */
  tick(nowMs: number): boolean {
    this.order.tick(nowMs);
    this.touched();
    return this.order.isHolding;
  }

  /** The talkgroup has no receiver here any more. */
  drop(): void {
    this.played?.drop();
    this.played = null;
  }

  /** What waits must be looked after. */
  private touched(): void {
    const { isHolding } = this.order;
    if (isHolding && !this.wasHolding) this.services.counts.held++;
    this.wasHolding = isHolding;
    if (isHolding) this.services.stage.floor.busy();
  }
}
