// Shows the progress of a scenario in one line that is written over, on a terminal only.

export interface Progress {
  /** What is being done now. */
  readonly tell: (what: string) => void;
  /** A line that stays, in a pipe as well. */
  readonly note: (line: string) => void;
  /** The line is gone, and what is printed next begins at the left. */
  readonly end: () => void;
}

type Terminal = Pick<NodeJS.WriteStream, 'isTTY' | 'columns' | 'write'>;

/** Clears the line and goes to its beginning (ECMA-48: EL, CR). */
const CLEAR = '\u001b[2K\r';
const EACH_MS = 1000;

/** `takesS` is roughly how long the scenario takes, in seconds. */
export function showProgress(name: string, takesS: number, terminal: Terminal): Progress {
  const note = (line: string) => terminal.write(`  ${line}\n`);
  if (!terminal.isTTY) return { tell() {}, note, end() {} };
  const startedMs = performance.now();
  let doing = 'starting';
  const show = () => {
    const line = `${name}: ${Math.round((performance.now() - startedMs) / 1000)} of about ${takesS} s, ${doing}`;
    terminal.write(CLEAR + line.slice(0, (terminal.columns || 80) - 1));
  };
  const timer = setInterval(show, EACH_MS);
  show();
  return {
    tell(what) {
      doing = what;
      show();
    },
    note(line) {
      terminal.write(CLEAR);
      note(line);
      show();
    },
    end() {
      clearInterval(timer);
      terminal.write(CLEAR);
    },
  };
}
