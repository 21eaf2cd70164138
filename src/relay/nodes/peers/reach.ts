// Judges how much of the service this relay reaches, and when the server of the bus is in doubt. It sends nothing.
import type { Reach } from '../../../protocol/codes.js';
import { DOWN_MS, type Now, type Peers } from './peers.js';

/** From best to worst. */
const REACHES: readonly Reach[] = ['whole', 'partial', 'alone'];
/** Time (ms) between two changes that are told, unless it becomes worse. */
const REACH_MS = 5000;
/** Time (ms) between two doubts about the server of the bus. */
const DOUBT_MS = 5000;

export interface Judgement {
  /** What radios are told from now on. null: no change. */
  readonly reach: Reach | null;
  /** The bus is up and carries nothing. */
  readonly isInDoubt: boolean;
}

export class ReachJudge {
  private reach: Reach = 'whole';
  private reachAtMs = Number.NEGATIVE_INFINITY;
  /** When the bus was last up (monotonic ms). */
  private upAtMs: number;
  /** Since when it is up (fair ms). null: it is down. */
  private upSinceMs: number | null = null;
  private doubtedAtMs = Number.NEGATIVE_INFINITY;

  constructor(nowMs: number) {
    this.upAtMs = nowMs;
  }

  get now(): Reach {
    return this.reach;
  }

  /** 1 for the reach of now, 0 for the others. */
  get figures(): Readonly<Record<Reach, number>> {
    const of = (reach: Reach) => Number(this.reach === reach);
    return { whole: of('whole'), partial: of('partial'), alone: of('alone') };
  }

  /** Must be called with every beacon, after `peers.expire`. */
  judge(peers: Peers, isUp: boolean, { nowMs, fairMs }: Now): Judgement {
    if (isUp) this.upAtMs = nowMs;
    this.upSinceMs = isUp ? (this.upSinceMs ?? fairMs) : null;
    return { reach: this.changed(peers, nowMs), isInDoubt: this.doubts(peers, fairMs) };
  }

  /** A change of the NATS server takes less than DOWN_MS, and is not told. */
  private changed(peers: Peers, nowMs: number): Reach | null {
    const now = nowMs - this.upAtMs >= DOWN_MS ? 'alone' : peers.reach;
    const isWorse = REACHES.indexOf(now) > REACHES.indexOf(this.reach);
    if (now === this.reach || (!isWorse && nowMs - this.reachAtMs < REACH_MS)) return null;
    this.reach = now;
    this.reachAtMs = nowMs;
    return now;
  }

  /** In fair time: a relay that stood still has heard nothing for that reason. */
  private doubts(peers: Peers, fairMs: number): boolean {
    const { upSinceMs } = this;
    if (upSinceMs === null || fairMs - upSinceMs < DOWN_MS || !peers.isSilent) return false;
    if (fairMs - this.doubtedAtMs < DOUBT_MS) return false;
    this.doubtedAtMs = fairMs;
    return true;
  }
}
