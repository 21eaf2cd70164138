// From a contest to a result: our relay beside a peer, and whether the run may be believed.
import { type Conditions, linesOfConditions } from './conditions.js';
import { columns, ms, type Quartiles, quartiles, ratio, us } from './figures.js';
import type { Contest, Heard } from './loads/contest.js';
import type { Report } from './scenario.js';
import { faultsOfDelivery, faultsOfGenerator, judge, linesOfFaults, wordOf } from './verdict.js';

export interface ComparisonOptions {
  /** Names for the table: first ours, then the one it is held against. */
  readonly peers: readonly [string, string];
  /** The highest ratio of CPU per delivery that is good enough. */
  readonly target: number;
}

/** The n-th turns of both peers were neighbours in time: their ratios hide what the machine did to both. */
export function compare(contest: Contest, { peers, target }: ComparisonOptions): Report {
  const { turns, heard: _, ...conditions } = contest;
  const [ours, theirs] = peers.map((name, peer) => sideOf(contest, { name, peer }));
  if (ours === undefined || theirs === undefined) throw new RangeError('a comparison is between two peers');
  // On a machine that stalls, a turn may pass without a delivery.
  const ratios = ours.cpuUs.map((us, turn) => us / (theirs.cpuUs[turn] ?? 0)).filter(Number.isFinite);
  const cpuRatio = quartiles(ratios);
  const faults = [
    ...[ours, theirs].flatMap((side) => faultsOfDelivery(side, side.name)),
    ...faultsOfGenerator(conditions),
  ];
  const isMet = judge(faults, cpuRatio.median <= target);
  const compared = { faults, cpuRatio, target, isMet, ours, theirs, ...conditions };
  return { lines: linesOf(compared), result: { ...compared, turns } };
}

interface Side extends Heard {
  readonly name: string;
  /** Per delivery, turn by turn. */
  readonly cpuUs: readonly number[];
  readonly cpuUsMedian: number;
}

function sideOf({ turns, heard }: Contest, { name, peer }: { name: string; peer: number }): Side {
  const own = heard[peer];
  if (own === undefined) throw new RangeError(`nothing was heard of ${name}`);
  const cpuUs = turns.filter((turn) => turn.peer === peer).map((turn) => turn.cpuUsPerDelivery);
  return { name, cpuUs, cpuUsMedian: quartiles(cpuUs).median, ...own };
}

interface Compared extends Conditions {
  readonly faults: readonly string[];
  readonly cpuRatio: Quartiles;
  readonly target: number;
  /** null: a run with faults cannot tell. */
  readonly isMet: boolean | null;
  readonly ours: Side;
  readonly theirs: Side;
}

function linesOf({ faults, cpuRatio, target, isMet, ours, theirs, ...conditions }: Compared): string[] {
  const line = columns(24, 12, 14);
  const row = (name: string, figure: (side: Side) => string) => line(name, figure(ours), figure(theirs));
  return [
    ...linesOfFaults(faults),
    row('', ({ name }) => name),
    row('p99 relay latency', ({ latency }) => ms(latency.p99Ms)),
    row('CPU per delivery', ({ cpuUsMedian }) => us(cpuUsMedian)),
    `  ratio of pairs ${ratio(cpuRatio)}; target at most ${target.toFixed(2)}: ${wordOf(isMet)}`,
    '',
    row('latency p50', ({ latency }) => ms(latency.p50Ms)),
    row('latency p99.9', ({ latency }) => ms(latency.p999Ms)),
    row('latency, longest', ({ latency }) => ms(latency.maxMs)),
    row('frames sent', ({ sent }) => `${sent}`),
    row('lost', ({ lost }) => `${lost}`),
    row('twice or never sent', ({ duplicated }) => `${duplicated}`),
    row('out of order', ({ outOfOrder }) => `${outOfOrder}`),
    ...linesOfConditions(conditions, 'frames'),
  ];
}
