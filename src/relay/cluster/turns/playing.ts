// Plays one burst of a talkgroup at a time in `single` and `broadcast`, and knows which turns are over.
import type { EndCode } from '../../../protocol/codes.js';
import { compareTurns, laterTurn, NO_TURN, type Turn } from '../../../protocol/turn.js';
import { Cut } from './cut.js';
import type { On } from './held-back.js';
import { type BurstName, type Ended, type FrameFate, isSame, type Plays } from './plays.js';

export class Playing<B extends BurstName> {
  protected readonly plays: Plays<B>;
  protected running: On<B> | null = null;
  /** The highest turn known to have ended. */
  protected over: Turn = NO_TURN;
  protected readonly cut: Cut<B>;

  constructor(plays: Plays<B>) {
    this.plays = plays;
    this.cut = new Cut((...missed) => plays.missed(...missed));
  }

  /** The highest turn that plays or ended here. */
  get top(): Turn {
    return this.running?.turn ? laterTurn(this.over, this.running.turn) : this.over;
  }

  /** The burst that plays. */
  get on(): { readonly burst: B; readonly turn: Turn | null } | null {
    return this.running;
  }

  /** The turn is not above what plays and what ended here: a burst with it is never played. */
  isPast(turn: Turn): boolean {
    if (compareTurns(turn, this.over) <= 0) return true;
    const playing = this.running?.turn ?? null;
    return playing !== null && compareTurns(turn, playing) <= 0;
  }

  /** Whether the burst of a session that comes here may go on: it plays, or may begin now. */
  mayGoOn(burst: BurstName, turn: Turn): boolean {
    const { running } = this;
    return (running !== null && isSame(running.burst, burst)) || !(running?.isOwn || this.isPast(turn));
  }

  /** What plays goes on without a turn from now on: the floor mode is `open`. */
  release(): On<B> | null {
    const { running } = this;
    this.running = null;
    if (running?.turn) this.over = laterTurn(this.over, running.turn);
    return running;
  }

  /** The burst of this relay goes on as one of another relay. false: it does not play. */
  goesOnThere(burst: B, index: number): boolean {
    const { running } = this;
    if (!running?.isOwn || !isSame(running.burst, burst)) return false;
    this.running = { burst, isOwn: false, turn: running.turn, index };
    return true;
  }

  /** The next frame that came of the burst that plays. */
  protected playFrame(running: On<B>, message: ArrayBuffer, index: number, nowMs: number): FrameFate {
    if (index <= running.index) return 'dropped';
    if (index > running.index + 1) this.plays.missed(running.burst, index - running.index - 1, nowMs);
    running.index = index;
    this.plays.frame(running.burst, message, index, nowMs);
    return 'played';
  }

  /** The burst that plays ends here, whatever becomes of it elsewhere. */
  protected endRunning(code: EndCode, nowMs: number): void {
    const { running } = this;
    if (running === null) return;
    this.stop(running, { code, durationMs: null, frames: running.index }, nowMs);
    if (!running.isOwn) this.cut.begin(running.burst, running.index, nowMs);
  }

  protected stop(running: On<B>, ended: Ended, nowMs: number): void {
    this.running = null;
    if (running.turn !== null) this.over = laterTurn(this.over, running.turn);
    this.plays.end(running.burst, ended, nowMs);
  }
}
