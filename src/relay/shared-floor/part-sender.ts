import type { PartClaim } from './bodies.js';

// Tells the home of a talkgroup what the sessions of this relay have of its floor, again and again while that matters.

/** When a part with a question is repeated (ms after the change). */
const ASKING_MS = [60, 150, 300];
/** Any part that is not empty is repeated this often (ms). After a split that leaves 200 for two ways and a decision. */
const ALIVE_MS = 300;
/** A verdict counts for this time (ms) after the last part: later ones waited while this relay stood still. */
const ANSWERED_MS = 1000;
/**
 * Parts with so many claims within this time (ms) are told at once, and what changes beyond it together when it is over. A part
 * has all claims, and its answer all verdicts: when many press at once, n parts would have n² claims, and push out the audio of
 * others. 14 sessions that press in one turn are told at once. Where many have claims, one part is.
 */
const CLAIMS_AT_ONCE = 128;
const AT_ONCE_MS = 20;
/** A part that became empty is repeated once, after this time (ms). */
const EMPTY_MS = 60;

export interface PartSenderOptions {
  /** A number that this relay never used for a part. It grows. */
  readonly nextV: () => number;
  readonly claims: () => readonly PartClaim[];
  /** Sends a part with these claims to the home, as the part `v`. */
  readonly send: (claims: readonly PartClaim[], nowMs: number) => void;
}

export class PartSender {
  /** Of the last part. */
  v = 0;
  private readonly options: PartSenderOptions;
  /** The claims of the last part, each with the first part of this home that had it as it is. */
  private since = new Map<number, { readonly claim: PartClaim; readonly v: number }>();
  private changedAtMs = 0;
  private sentAtMs = 0;
  private repeatAtMs = Number.POSITIVE_INFINITY;
  private windowAtMs = Number.NEGATIVE_INFINITY;
  /** Claims and parts told since then. */
  private toldAtOnce = 0;
  /** The claims changed since `v`. */
  private isBehind = false;
  /** No part with `v` was sent. */
  private isUntold = false;

  constructor(options: PartSenderOptions) {
    this.options = options;
  }

  /** The claims changed. */
  changed(nowMs: number): void {
    this.changedAtMs = nowMs;
    this.isBehind = true;
    const isOver = nowMs - this.windowAtMs >= AT_ONCE_MS;
    if (isOver || this.toldAtOnce + this.since.size < CLAIMS_AT_ONCE) return this.tell(nowMs);
    this.repeatAtMs = Math.min(this.repeatAtMs, this.windowAtMs + AT_ONCE_MS);
  }

  /** Another relay is the home: it decided about none of the parts so far. */
  restart(nowMs: number): void {
    this.forget();
    this.changedAtMs = nowMs;
    this.isBehind = true;
    this.tell(nowMs);
  }

  private tell(nowMs: number): void {
    if (nowMs - this.windowAtMs >= AT_ONCE_MS) {
      this.windowAtMs = nowMs;
      this.toldAtOnce = 0;
    }
    this.renew();
    const claims = this.send(nowMs);
    this.toldAtOnce += claims.length + 1;
    if (claims.length === 0) this.repeatAtMs = nowMs + EMPTY_MS;
  }

  /** From now on `v` stands for the claims as they are. What the home says of an earlier part answers those that are the same. */
  renew(): void {
    if (!this.isBehind) return;
    this.isBehind = false;
    this.isUntold = true;
    this.v = this.options.nextV();
    this.note(this.options.claims());
  }

  private note(claims: readonly PartClaim[]): void {
    const before = this.since;
    this.since = new Map();
    for (const claim of claims) {
      const known = before.get(claim.session);
      const v = known !== undefined && isSame(known.claim, claim) ? known.v : this.v;
      this.since.set(claim.session, { claim, v });
    }
  }

  /** What the home decided so far does not count. */
  forget(): void {
    this.since.clear();
  }

  /** A verdict for the part with this `v` answers the claim of the session as it is now. */
  isAnsweredBy(session: number, v: number, nowMs: number): boolean {
    if (this.isOld(nowMs)) return false;
    if (v === this.v) return true;
    const known = this.since.get(session);
    return known !== undefined && known.v <= v && v < this.v;
  }

  /** Repeats the part when it is due. What the home answers to an old one may not be true any more: it is told as a new one. */
  repeat(nowMs: number): void {
    if (nowMs < this.repeatAtMs) return;
    if (this.isBehind || this.isUntold) return this.tell(nowMs);
    if (!this.isOld(nowMs)) return void this.send(nowMs);
    this.restart(nowMs);
  }

  private isOld(nowMs: number): boolean {
    return nowMs - this.sentAtMs > ANSWERED_MS;
  }

  /** Nothing is repeated from now on: this relay decides. */
  stop(): void {
    this.repeatAtMs = Number.POSITIVE_INFINITY;
  }

  get isWaiting(): boolean {
    return this.repeatAtMs < Number.POSITIVE_INFINITY;
  }

  private send(nowMs: number): readonly PartClaim[] {
    const claims = this.options.claims();
    this.isUntold = false;
    this.sentAtMs = nowMs;
    this.repeatAtMs = claims.length === 0 ? Number.POSITIVE_INFINITY : nowMs + ALIVE_MS;
    if (claims.some(({ state }) => state === 'asks')) {
      const next = ASKING_MS.find((ms) => this.changedAtMs + ms > nowMs);
      if (next !== undefined) this.repeatAtMs = Math.min(this.repeatAtMs, this.changedAtMs + next);
    }
    this.options.send(claims, nowMs);
    return claims;
  }
}

/** What the home decided about the one holds for the other. */
const isSame = (one: PartClaim, other: PartClaim) =>
  one.ask === other.ask &&
  one.state === other.state &&
  one.inEmergency === other.inEmergency &&
  (one.lostMs === null) === (other.lostMs === null);
