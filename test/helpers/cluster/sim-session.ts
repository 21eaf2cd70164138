// A session on a relay in virtual time: presses, asks, talks and releases as a radio does.
import type { UserId } from '../../../src/ids.js';
import type { ClaimEvent, Verdict } from '../../../src/relay/floor/authority.js';
import { type Claim, FRAME_PRIORITY } from '../../../src/relay/floor/claim.js';
import type { SimBurst, SimRelay } from './sim-relay.js';

/** One frame in this time (ms): enough to see their order. */
const FRAME_MS = 60;

export class SimSession {
  readonly relay: SimRelay;
  readonly number: number;
  readonly user: number;
  readonly isAdmin: boolean;
  claim: 'none' | 'asks' | 'waits' | 'has' | 'talks' = 'none';
  burst: SimBurst | null = null;
  frames = 0;
  frameAtMs = 0;
  /** It has a socket. */
  isLive = true;
  private urgentSinceMs: number | null = null;
  /** When its user last was in an emergency and it had something of the floor (virtual ms). */
  urgentAtMs = Number.NEGATIVE_INFINITY;
  isSpeaking = false;
  /** Its last question was denied with `retry_later`. */
  wasUnanswered = false;
  /** Virtual ms of the question under way. */
  askedAtMs: number | null = null;
  /** When the last one was answered. */
  private answeredAtMs = Number.NEGATIVE_INFINITY;
  /** A first frame asks, not a request. */
  private isFirstFrame = false;
  hadPlace = false;
  private bursts = 0;
  private isOver = false;

  constructor(relay: SimRelay, number: number, user: number, isAdmin: boolean) {
    this.relay = relay;
    this.number = number;
    this.user = user;
    this.isAdmin = isAdmin;
  }

  get inEmergency(): boolean {
    return this.urgentSinceMs !== null;
  }

  set inEmergency(inEmergency: boolean) {
    this.noteUrgent(); // it was in one until now
    if (inEmergency) this.urgentSinceMs ??= this.virtualMs;
    else this.urgentSinceMs = null;
    this.noteUrgent();
  }

  /** Its user has been in an emergency for this time (ms). */
  urgentMs(): number {
    return this.urgentSinceMs === null ? 0 : this.virtualMs - this.urgentSinceMs;
  }

  noteUrgent(): void {
    if (this.inEmergency && this.has) this.urgentAtMs = this.virtualMs;
  }

  private get virtualMs(): number {
    return this.relay.options.schedule.now();
  }

  private get judge() {
    return this.relay.options.judge;
  }

  private claimWith(priority: number): Claim {
    const { number: session, user, isAdmin, inEmergency } = this;
    return { session, user: `user ${user}` as UserId, priority, isAdmin, inEmergency };
  }

  private tell(claim: ClaimEvent): void {
    const { authority, talkgroup } = this.relay;
    authority.tell(talkgroup, [claim], this.relay.now());
  }

  private ask(claim: ClaimEvent): void {
    this.hadPlace = this.claim === 'waits';
    if (this.claim !== 'has') this.claim = 'asks';
    this.isFirstFrame = claim.kind === 'frame';
    this.askedAtMs = this.relay.options.schedule.now();
    this.tell(claim);
  }

  press(): void {
    if (!this.isLive || this.claim === 'asks' || this.claim === 'talks') return;
    const before = this.judge.partsSent;
    const isOpen = this.relay.settings.mode === 'open';
    this.ask({ kind: 'frame', claim: this.claimWith(FRAME_PRIORITY) });
    if (isOpen && this.askedAtMs !== null)
      this.judge.fail('C10', `${this.number} is not answered at once in open`);
    if (isOpen && this.judge.partsSent !== before)
      this.judge.fail('C10', `${this.number} asks another relay in open`);
  }

  request(priority: number, queue: boolean): void {
    if (!this.isLive || this.claim === 'asks' || this.claim === 'talks' || this.claim === 'has') return;
    this.ask({ kind: 'request', claim: this.claimWith(priority), queue });
  }

  release(code: 'released' | 'silence' = 'released'): void {
    if (this.claim !== 'none') this.giveUp({ kind: 'release', session: this.number, code });
  }

  lose(forGood: boolean): void {
    this.isLive = false;
    if (this.claim !== 'none') this.giveUp({ kind: 'lost', session: this.number, forGood });
  }

  /** What a relay decides alone is answered before `tell` returns. */
  private giveUp(claim: ClaimEvent): void {
    const isKept = claim.kind === 'lost' && !claim.forGood && this.relay.settings.mode !== 'open';
    const isUnheard = claim.kind === 'release' && claim.code === 'silence' && this.claim !== 'talks';
    if (!isKept && !isUnheard) this.askedAtMs = null; // no answer comes any more
    this.tell(claim);
    if (!isKept && !isUnheard && this.has)
      this.judge.fail('C5', `${this.number} keeps ${this.claim} after ${claim.kind}`);
  }

  private get has(): boolean {
    return this.claim !== 'none';
  }

  back(): void {
    if (this.isLive) return;
    this.isLive = true;
    this.frameAtMs = this.relay.now();
    if (this.claim !== 'none') this.tell({ kind: 'returned', session: this.number });
  }

  remove(): void {
    if (this.claim !== 'none') this.giveUp({ kind: 'removed', session: this.number, code: 'left' });
  }

  end(): void {
    this.lose(true);
    this.isOver = true;
  }

  /** The relay stood still. */
  excuse(): void {
    if (this.askedAtMs !== null) this.askedAtMs = this.relay.options.schedule.now();
  }

  hear(verdict: Verdict, nowMs: number): void {
    const { judge } = this;
    this.noteUrgent();
    switch (verdict.kind) {
      case 'granted':
        if (this.claim === 'none') judge.fail('C5', `${this.number} is granted what it does not ask for`);
        this.answered('request');
        if (this.claim !== 'talks') this.claim = 'has';
        return judge.checkGrants();
      case 'started':
        if (this.claim !== 'has') judge.fail('C2', `${this.number} starts without a grant`);
        this.answered('frame');
        return this.start(nowMs);
      case 'denied':
        // The same frame found its grant revoked, and then asked: a relay tells the first answer only.
        if (verdict.isFirstFrame && this.claim === 'none' && this.answeredAtMs === this.virtualMs) return;
        if (this.claim !== 'asks' && this.claim !== 'waits')
          judge.fail('C5', `${this.number} is denied in ${this.claim}`);
        this.answered(verdict.isFirstFrame ? 'frame' : 'request');
        this.wasUnanswered = verdict.code === 'retry_later';
        if (this.wasUnanswered) judge.unanswered(this);
        this.claim = verdict.isFirstFrame && this.hadPlace ? 'waits' : 'none';
        return;
      case 'queued':
        if (this.claim === 'none') judge.fail('C5', `${this.number} is queued and asks for nothing`);
        this.answered('request');
        this.claim = 'waits';
        return judge.note('queued');
      case 'revoked':
        judge.note(`revoked ${verdict.code}`);
        if (verdict.code === 'preempted' || verdict.code === 'collision') judge.cut(this);
        if (this.claim !== 'has' && this.claim !== 'talks')
          judge.fail('C5', `${this.number} is revoked in ${this.claim}`);
        if (this.relay.options.fault !== 'a revoked first frame is not answered') this.answered('frame');
        if (this.claim === 'has') this.claim = 'none';
        return;
      case 'ended': {
        const { burst } = this;
        if (burst === null) return judge.fail('C2', `${this.number} ends without a start`);
        this.claim = 'none';
        this.relay.ended(this, burst, verdict.code, nowMs);
        this.burst = null;
        return;
      }
      case 'gone':
        if (this.askedAtMs !== null) judge.fail('C5', `${this.number} is gone and was not answered`);
        if (this.claim === 'talks') judge.fail('C2', `${this.number} is gone and was not ended`);
        this.claim = 'none';
        return;
      case 'changed':
        return;
    }
  }

  /** What answers a request is none to a first frame, and the other way round: as `outcomes.ts` takes it. */
  private answered(kind: 'frame' | 'request'): void {
    if (this.askedAtMs === null || this.isFirstFrame !== (kind === 'frame')) return;
    this.judge.answered(this, this.askedAtMs);
    this.answeredAtMs = this.virtualMs;
    this.askedAtMs = null;
    // The floor was given without regard to a socket that died meanwhile.
    if (!this.isLive && !this.isOver)
      this.relay.options.schedule.in(0, () => {
        if (!this.isLive && this.has) this.tell({ kind: 'lost', session: this.number, forGood: false });
      });
  }

  private start(nowMs: number): void {
    const { relay } = this;
    this.claim = 'talks';
    this.frames = 0;
    this.frameAtMs = nowMs;
    this.isSpeaking = true;
    const claim = this.claimWith(FRAME_PRIORITY);
    this.burst = { relay: relay.id, session: this.number, burst: ++this.bursts, claim, startedAtMs: nowMs };
    relay.started(this, this.burst, nowMs);
    const { burst } = this;
    const next = () => {
      if (this.isOver || relay.isDead || this.burst !== burst) return;
      const isRunning = !relay.options.network.isStopped(relay.id);
      if (isRunning && this.isSpeaking && this.isLive) {
        this.frames++;
        this.frameAtMs = relay.now();
        relay.frame(this);
      }
      relay.options.schedule.in(FRAME_MS, next);
    };
    next();
  }
}
