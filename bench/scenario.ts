// What a scenario is given and what it hands back.
import type { Goal, Plot } from './figures/result.js';
import type { Pins } from './machine/processes.js';

export interface Bench {
  readonly cores: Pins;
  /** A small load for a first look: at most 15 s, start and end of the servers included. */
  readonly isQuick: boolean;
  /** Aborted by Ctrl-C and when the time is over; every wait of a scenario ends with it. */
  readonly signal: AbortSignal;
  /** What the scenario does now, shown on a terminal. */
  readonly progress: (what: string) => void;
  /** A line for whoever reads the output, wherever it goes. */
  readonly note: (line: string) => void;
}

export interface Report {
  /** For the terminal: the two numbers first, limits that were raised last. */
  readonly lines: readonly string[];
  /** What makes the run say nothing; with one of them no goal is met. */
  readonly faults: readonly string[];
  readonly goals: readonly Goal[];
  readonly plots: readonly Plot[];
  /** For the file: load, settings, turns, histograms; plain data. */
  readonly details: object;
}

export type Scenario = (bench: Bench) => Promise<Report>;
