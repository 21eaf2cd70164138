// From a contest to a result: our relay beside a peer, and whether the run may be believed.
import type { Contest, Heard } from './contest.js';
import { type Quartiles, quartiles } from './figures.js';
import type { Report } from './scenario.js';

/** A generator busier than this share of a core may be what is measured. */
const GENERATOR_SHARE_MAX = 0.85;
/** Beyond this share of a core for anything else, the result says that the machine was not quiet. */
const OTHERS_SHARE_MAX = 0.1;

export interface ComparisonOptions {
  /** Names for the table: first ours, then the one it is held against. */
  readonly peers: readonly [string, string];
  /** The highest ratio of CPU per delivery that is good enough. */
  readonly target: number;
}

/** The n-th turns of both peers were neighbours in time: their ratios hide what the machine did to both. */
export function compare(contest: Contest, { peers, target }: ComparisonOptions): Report {
  const { turns, late, generatorShare, othersShare } = contest;
  const [ours, theirs] = peers.map((name, peer) => sideOf(contest, { name, peer }));
  if (ours === undefined || theirs === undefined) throw new RangeError('a comparison is between two peers');
  // On a machine that stalls, a turn may pass without a delivery.
  const ratios = ours.cpuUs.map((us, turn) => us / (theirs.cpuUs[turn] ?? 0)).filter(Number.isFinite);
  const cpuRatio = quartiles(ratios);
  const faults = [...faultsOf(ours), ...faultsOf(theirs), ...faultsOfGenerator(generatorShare)];
  const isMet = faults.length > 0 ? null : cpuRatio.median <= target;
  const compared = { faults, cpuRatio, target, isMet, ours, theirs, late, generatorShare, othersShare };
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

/** What makes a run say nothing about speed. */
function faultsOf({ name, lost, duplicated, outOfOrder }: Side): string[] {
  if (lost + duplicated + outOfOrder === 0) return [];
  return [
    `${name}: ${lost} deliveries lost, ${duplicated} heard twice or never sent, ${outOfOrder} out of order`,
  ];
}

function faultsOfGenerator(share: number): string[] {
  return share > GENERATOR_SHARE_MAX ? [`the generator used ${percent(share)} of a core`] : [];
}

type Conditions = Pick<Contest, 'late' | 'generatorShare' | 'othersShare'>;

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
  const row = (name: string, figure: (side: Side) => string) =>
    `${name.padEnd(24)}${figure(ours).padStart(12)}${figure(theirs).padStart(14)}`;
  const verdict = isMet === null ? 'cannot be told' : isMet ? 'met' : 'NOT met';
  const ratio = `${cpuRatio.median.toFixed(3)}, quartiles ${cpuRatio.low.toFixed(3)} to ${cpuRatio.high.toFixed(3)}`;
  return [
    ...faults.map((fault) => `INVALID: ${fault}`),
    row('', ({ name }) => name),
    row('p99 relay latency', ({ latency }) => ms(latency.p99Ms)),
    row('CPU per delivery', ({ cpuUsMedian }) => us(cpuUsMedian)),
    `  ratio of pairs ${ratio}; target at most ${target.toFixed(2)}: ${verdict}`,
    '',
    row('latency p50', ({ latency }) => ms(latency.p50Ms)),
    row('latency p99.9', ({ latency }) => ms(latency.p999Ms)),
    row('latency, longest', ({ latency }) => ms(latency.maxMs)),
    row('frames sent', ({ sent }) => `${sent}`),
    row('lost', ({ lost }) => `${lost}`),
    row('twice or never sent', ({ duplicated }) => `${duplicated}`),
    row('out of order', ({ outOfOrder }) => `${outOfOrder}`),
    ...linesOfConditions(conditions),
  ];
}

function linesOfConditions({ late, generatorShare, othersShare }: Conditions): string[] {
  const noise = othersShare > OTHERS_SHARE_MAX ? ': NOT QUIET' : '';
  return [
    `generator: ${percent(generatorShare)} of a core; frames left ${ms(late.p99Ms)} late (p99), at most ${ms(late.maxMs)}`,
    `all else on this machine: ${percent(othersShare)} of a core${noise}`,
  ];
}

const ms = (value: number) => `${value.toFixed(2)} ms`;
const us = (value: number) => `${value.toFixed(2)} µs`;
const percent = (share: number) => `${Math.round(100 * share)} %`;
