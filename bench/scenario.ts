// What a scenario is given and what it hands back.
import type { Pins } from './processes.js';

export interface Bench {
  readonly cores: Pins;
  /** Aborted by Ctrl-C and when the time is over; every wait of a scenario ends with it. */
  readonly signal: AbortSignal;
  /** A line of progress for whoever watches. */
  readonly progress: (line: string) => void;
}

export interface Report {
  /** For the terminal: the two numbers first. */
  readonly lines: readonly string[];
  /** For the file; plain data. */
  readonly result: object;
}

export type Scenario = (bench: Bench) => Promise<Report>;
