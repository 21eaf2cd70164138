// Says how much the next statement stores, and how long a refused one waits.

/** Parts, or further rows, of one statement. */
const STATEMENT_MAX = 200;
/** Rows of the statement behind one that had to be stored one by one. */
const FEW_ROWS = 8;
/** Until the next attempt (ms), doubled up to the second. */
const AGAIN_MS = 250;
const AGAIN_MS_MAX = 5_000;

export class Pace {
  partsMax = STATEMENT_MAX;
  rowsMax = STATEMENT_MAX;
  private readonly firstAgainMs: number;
  private nextAgainMs: number;

  constructor(firstAgainMs = AGAIN_MS) {
    this.firstAgainMs = firstAgainMs;
    this.nextAgainMs = firstAgainMs;
  }

  /** A statement was stored whole. */
  whole(): void {
    this.partsMax = Math.min(STATEMENT_MAX, this.partsMax * 2);
    this.rowsMax = Math.min(STATEMENT_MAX, this.rowsMax * 2);
    this.answered();
  }

  /** A whole statement was refused. */
  refused(): void {
    this.partsMax = Math.max(1, Math.floor(this.partsMax / 2));
  }

  /** It holds something that cannot be stored. When a refusal comes before that is found, a large one would fail again. */
  oneByOne(): void {
    this.partsMax = 1;
    this.rowsMax = FEW_ROWS;
  }

  /** The database stores, or says why it cannot. */
  answered(): void {
    this.nextAgainMs = this.firstAgainMs;
  }

  /** Until the next attempt (ms). */
  againMs(): number {
    const ms = this.nextAgainMs;
    this.nextAgainMs = Math.min(AGAIN_MS_MAX, ms * 2);
    return ms;
  }
}
