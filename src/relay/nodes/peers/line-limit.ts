// Limits the log lines about one thing to one a second, and counts the others.

/** Time (ms) between two lines about one thing. */
const LINE_MS = 1000;
/** Things that are limited each by itself. Those beyond it share a limit. */
const THINGS_MAX = 256;

/** Writes the line, with the number of lines before it that were left out. */
type Write = (leftOut: number) => void;

interface Lines {
  writtenAtMs: number;
  leftOut: number;
  /** The newest of those left out. */
  last: Write | null;
}

export class LineLimit {
  private readonly things = new Map<number | null, Lines>();

  /** Writes the line now, or leaves it out. `flush` then writes it, unless a later one was left out, too. */
  line(thing: number, nowMs: number, write: Write): void {
    const about = this.things.has(thing) || this.things.size < THINGS_MAX ? thing : null;
    const lines = this.things.get(about);
    if (lines !== undefined && nowMs - lines.writtenAtMs < LINE_MS) {
      lines.leftOut++;
      lines.last = write;
      return;
    }
    this.things.set(about, { writtenAtMs: nowMs, leftOut: 0, last: null });
    write(lines?.leftOut ?? 0);
  }

  /** Writes the newest lines that were left out, when their time has come. So the last line says what is now. */
  flush(nowMs: number): void {
    for (const [thing, lines] of this.things) {
      if (nowMs - lines.writtenAtMs < LINE_MS) continue;
      this.things.delete(thing);
      if (lines.last === null) continue;
      this.things.set(thing, { writtenAtMs: nowMs, leftOut: 0, last: null });
      lines.last(lines.leftOut - 1);
    }
  }
}

/** What a line has beside its own fields. */
export const leaving = (leftOut: number): { leftOut?: number } => (leftOut === 0 ? {} : { leftOut });
