// States what a scenario is given and what it hands back.
import type { Noise } from './figures/doubts.js';
import type { Goal, Plot } from './figures/result.js';
import { generate, type Player, withPlayer } from './generator/player.js';
import type { Pins } from './machine/processes.js';
import { type Relay, withRelay } from './servers/relay.js';
import type { ServerOptions } from './servers/start.js';

/** Under which terms a run is made. */
export interface Terms {
  readonly cores: Pins;
  /** A small load for a first look: at most 15 s, start and end of the servers included. */
  readonly isQuick: boolean;
  /** Folders of other checkouts, built, with which this build is compared. */
  readonly against: readonly string[];
  /** Aborted by Ctrl-C and when the time is over. Every wait of a scenario ends with it. */
  readonly signal: AbortSignal;
  /** What the scenario does now, shown on a terminal. */
  readonly progress: (what: string) => void;
  /** A line for the reader of the output, wherever it goes. */
  readonly note: (line: string) => void;
}

/** What a scenario is given: the terms of its run, and servers and generators on their cores, ended by its signal. */
export interface Bench extends Terms {
  /** Our service with these settings beyond its defaults, as `withRelay` starts it. */
  withRelay<T>(
    settings: Settings,
    use: (relay: Relay) => Promise<T>,
    options?: Pick<ServerOptions, 'nodeFlags' | 'onOutput'>,
  ): Promise<T>;
  /** A compiled file of loads/, as `withPlayer` runs it. */
  withPlayer<Setup extends object, Piece extends object, Played, Ended, T>(
    load: URL,
    setup: Setup,
    use: (player: Player<Piece, Played, Ended>) => Promise<T>,
  ): Promise<T>;
  /** The same with a single piece. */
  generate<Task extends object, Result>(load: URL, task: Task): Promise<Result>;
}

type Settings = NonNullable<ServerOptions['settings']>;

export function createBench(terms: Terms): Bench {
  const { cores, signal } = terms;
  const generator = { cores: cores.generator, signal };
  return {
    ...terms,
    withRelay: (settings, use, options) =>
      withRelay({ cores: cores.server, signal, settings, ...options }, use),
    withPlayer: (load, setup, use) => withPlayer(load, setup, generator, use),
    generate: (load, task) => generate(load, task, generator),
  };
}

export interface Report {
  /** For the terminal, below the faults and the goals. */
  readonly lines: readonly string[];
  /** Which limit the load meets. No scenario raises one. */
  readonly limits?: string;
  /** What makes the run say nothing. With one of them no goal is met. */
  readonly faults: readonly string[];
  /** What was around each of its runs, from which doubts follow. Left out: the scenario does not see it. */
  readonly noise?: readonly Noise[];
  readonly goals: readonly Goal[];
  readonly plots: readonly Plot[];
  /** For the file: load, settings, turns, histograms. Plain data. */
  readonly details: object;
}

export type Scenario = (bench: Bench) => Promise<Report>;
