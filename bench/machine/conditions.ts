// Measures the CPU use of server, generator and everything else during a run.
import { OTHERS_SHARE_MAX } from '../figures/doubts.js';
import { columns, ms, percent } from '../figures/figures.js';
import type { Latency } from '../figures/histogram.js';
import { nowMs } from './clock.js';
import { cpuUs, machineCpuUs } from './processes.js';

/** A reading of the clocks of time and CPU, or what passed between two. */
export interface Usage {
  readonly atMs: number;
  readonly serverUs: readonly number[];
  readonly generatorUs: number;
  readonly machineUs: number;
}

/** Called in the generator's process. `pids` are the servers'. */
export function readUsage(pids: readonly number[]): Usage {
  const { user, system } = process.cpuUsage();
  return { atMs: nowMs(), serverUs: pids.map(cpuUs), generatorUs: user + system, machineUs: machineCpuUs() };
}

/** From one reading to a later one. */
export function spent(before: Usage | undefined, after: Usage | undefined): Usage {
  if (before === undefined || after === undefined) throw new RangeError('a turn lies between two readings');
  return {
    atMs: after.atMs - before.atMs,
    serverUs: after.serverUs.map((us, server) => us - (before.serverUs[server] ?? 0)),
    generatorUs: after.generatorUs - before.generatorUs,
    machineUs: after.machineUs - before.machineUs,
  };
}

/** In shares of one core. */
export interface Shares {
  /** Of all servers under load together. */
  readonly serverShare: number;
  /** Of the generator's process. Of several, of the busiest. */
  readonly generatorShare: number;
  /** Of each of its processes. */
  readonly generatorShares: readonly number[];
  /** What neither the generator nor the servers used. */
  readonly othersShare: number;
}

/** `helpersUs` is what the generator's other processes used meanwhile. */
export function sharesOf(
  { atMs, serverUs, generatorUs, machineUs }: Usage,
  helpersUs: readonly number[] = [],
): Shares {
  const share = (us: number) => Math.max(0, us / 1000 / atMs);
  const sum = (all: readonly number[]) => all.reduce((total, us) => total + us, 0);
  const generatorShares = [generatorUs, ...helpersUs].map(share);
  return {
    serverShare: share(sum(serverUs)),
    generatorShare: Math.max(...generatorShares),
    generatorShares,
    othersShare: share(machineUs - sum([generatorUs, ...helpersUs, ...serverUs])),
  };
}

export interface Conditions extends Shares {
  /** How late what is timed left the generator. Counted into its latency. */
  readonly late: Latency;
}

/** For the terminal. `what` left the generator. */
export function linesOfConditions(conditions: Conditions, what: string): string[] {
  const { late, generatorShare, generatorShares, othersShare } = conditions;
  const noise = othersShare > OTHERS_SHARE_MAX ? ': NOT QUIET' : '';
  const { length } = generatorShares;
  const busiest = length > 1 ? ` in the busiest of its ${length} processes` : '';
  return [
    `generator: ${percent(generatorShare)} of a core${busiest}; ${what} left ${ms(late.p99Ms)} late (p99), at most ${ms(late.maxMs)}`,
    `all else on this machine: ${percent(othersShare)} of a core${noise}`,
  ];
}

/** The same of several runs. */
export function linesOfRuns(
  runs: readonly (Conditions & { readonly name: string })[],
  what: string,
): string[] {
  const line = columns(24, 9, 11, 10, 20, 12);
  return [
    line('share of a core', 'server', 'generator', 'all else', `${what} late, p99`, 'at most'),
    ...runs.map(({ name, serverShare, generatorShare, othersShare, late }) => {
      const noise = othersShare > OTHERS_SHARE_MAX ? '  NOT QUIET' : '';
      const shares = [serverShare, generatorShare, othersShare].map(percent);
      return line(name, ...shares, ms(late.p99Ms), ms(late.maxMs)) + noise;
    }),
  ];
}
