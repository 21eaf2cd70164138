// The canonical load: one radio talks, 500 listen; our relay beside the bare engine, round by round.
import { type Quartiles, quartiles } from '../figures.js';
import { type Latency, merge } from '../histogram.js';
import { type Load, type Round, runRound } from '../round.js';
import type { Bench, Report } from '../scenario.js';
import { type Server, withBare, withRelay } from '../server.js';
import { enlist, type Fleet } from '../users.js';

const LOAD: Load = {
  listeners: 500,
  probeEvery: 20,
  framesPerSecond: 50,
  payloadBytes: 60,
  leadInFrames: 25,
  windowFrames: 100,
};
/** Each peer is measured for PAIRS windows of 2 s: ten seconds. */
const PAIRS = 5;
/** The relay may cost so much of what the bare engine costs, per delivery. */
const TARGET = 1.05;
/** A generator busier than this may be what is measured. */
const GENERATOR_SHARE_MAX = 0.85;
/** What else may run on the machine, in cores, before the result says that it was not quiet. */
const OTHERS_SHARE_MAX = 0.1;

const PEERS = ['relay', 'bare'] as const;
type PeerName = (typeof PEERS)[number];
type PeerRound = Round & { readonly peer: PeerName };

export async function oneTalker500(bench: Bench): Promise<Report> {
  const { cores, signal } = bench;
  const options = { cores: cores.server, signal };
  const rounds = await withRelay(options, (relay) =>
    withBare(options, async (bare) => {
      const fleet = await enlist(relay, LOAD.listeners + 1);
      return playAll(bench, { relay, bare }, fleet);
    }),
  );
  return reportOn(rounds, bench);
}

/** A B B A A B ...: whatever drifts, drifts over both alike. */
async function playAll(
  { cores, signal, progress }: Bench,
  servers: Record<PeerName, Server>,
  fleet: Fleet,
): Promise<PeerRound[]> {
  const order = Array.from({ length: PAIRS }, (_, pair) =>
    pair % 2 === 0 ? PEERS : PEERS.toReversed(),
  ).flat();
  const rounds: PeerRound[] = [];
  for (const peer of order) {
    const { pid, ...target } = servers[peer];
    const round = await runRound({ target, pid, ...fleet, load: LOAD }, { cores: cores.generator, signal });
    progress(
      `${peer.padEnd(6)} p99 ${ms(round.latency.p99Ms)}   CPU ${us(round.server.cpuUsPerDelivery)} per delivery`,
    );
    rounds.push({ peer, ...round });
  }
  return rounds;
}

/** One peer over all of its rounds. */
interface Summary {
  readonly latency: Latency;
  readonly cpuUsPerDelivery: Quartiles;
  readonly sent: number;
  readonly delivered: number;
  readonly lost: number;
  readonly duplicated: number;
  readonly outOfOrder: number;
}

function summarize(rounds: readonly PeerRound[], peer: PeerName): Summary {
  const own = rounds.filter((round) => round.peer === peer);
  const sum = (figure: (round: Round) => number) => own.reduce((total, round) => total + figure(round), 0);
  return {
    latency: merge(own.map(({ latency }) => latency)),
    cpuUsPerDelivery: quartiles(own.map(({ server }) => server.cpuUsPerDelivery)),
    sent: sum(({ sent }) => sent),
    delivered: sum(({ delivered }) => delivered),
    lost: sum(({ lost }) => lost),
    duplicated: sum(({ duplicated }) => duplicated),
    outOfOrder: sum(({ outOfOrder }) => outOfOrder),
  };
}

function reportOn(rounds: readonly PeerRound[], { cores }: Bench): Report {
  const relay = summarize(rounds, 'relay');
  const bare = summarize(rounds, 'bare');
  const ratios = { cpu: pairRatios(rounds, cpuOf), p99: pairRatios(rounds, p99Of) };
  const generator = {
    cpuShareMax: Math.max(...rounds.map((round) => round.generator.cpuShare)),
    lateP99Ms: quartiles(rounds.map((round) => round.generator.lateP99Ms)).median,
    lateMaxMs: Math.max(...rounds.map((round) => round.generator.lateMaxMs)),
  };
  const othersShareMax = Math.max(...rounds.map((round) => round.others.cpuShare));
  const faults = faultsOf({ relay, bare }, generator.cpuShareMax);
  const isMet = ratios.cpu.median <= TARGET;

  const counts = ({ lost, duplicated, outOfOrder }: Summary) => `${lost} / ${duplicated} / ${outOfOrder}`;
  const lines = [
    ...faults.map((fault) => `INVALID: ${fault}`),
    '                          relay     bare engine   relay / bare, median and quartiles of pairs',
    row('p99 relay latency', ms(relay.latency.p99Ms), ms(bare.latency.p99Ms), spread(ratios.p99)),
    row(
      'CPU per delivery',
      us(relay.cpuUsPerDelivery.median),
      us(bare.cpuUsPerDelivery.median),
      spread(ratios.cpu),
    ),
    `target: CPU per delivery at most ${TARGET.toFixed(2)} of the bare engine's: ${faults.length > 0 ? 'unknown' : isMet ? 'met' : 'NOT met'}`,
    '',
    row('p50', ms(relay.latency.p50Ms), ms(bare.latency.p50Ms)),
    row('p99.9', ms(relay.latency.p999Ms), ms(bare.latency.p999Ms)),
    row('longest', ms(relay.latency.maxMs), ms(bare.latency.maxMs)),
    row('frames sent', `${relay.sent}`, `${bare.sent}`),
    row('deliveries in windows', `${relay.delivered}`, `${bare.delivered}`),
    row('lost/twice/misordered', counts(relay), counts(bare)),
    `generator: at most ${percent(generator.cpuShareMax)} of a core, sent p99 ${ms(generator.lateP99Ms)} and at most ${ms(generator.lateMaxMs)} late`,
    `others on this machine: at most ${percent(othersShareMax)} of a core${othersShareMax > OTHERS_SHARE_MAX ? ': NOT QUIET' : ''}`,
    `cores: server ${cores.server ?? 'not pinned'}, generator ${cores.generator ?? 'not pinned'}; limits raised: none`,
  ];
  const settings = { load: LOAD, pairs: PAIRS, target: TARGET, limitsRaised: {} };
  return {
    lines,
    result: {
      valid: faults.length === 0,
      faults,
      isMet,
      ratios,
      relay,
      bare,
      generator,
      othersShareMax,
      settings,
      rounds,
    },
  };
}

/** A run that is marked with one of these says nothing about the relay. */
function faultsOf(peers: Record<PeerName, Summary>, generatorShareMax: number): string[] {
  const faults = PEERS.flatMap((peer) => {
    const { lost, duplicated, outOfOrder } = peers[peer];
    return lost + duplicated + outOfOrder === 0
      ? []
      : [`${peer}: ${lost} deliveries lost, ${duplicated} twice or unknown, ${outOfOrder} out of order`];
  });
  if (generatorShareMax > GENERATOR_SHARE_MAX)
    faults.push(`the generator used ${percent(generatorShareMax)} of a core`);
  return faults;
}

/** Relay over bare, each round with its neighbour. */
function pairRatios(rounds: readonly PeerRound[], figure: (round: Round) => number): Quartiles {
  const of = (peer: PeerName) => rounds.filter((round) => round.peer === peer).map(figure);
  const bare = of('bare');
  return quartiles(of('relay').map((value, pair) => value / (bare[pair] ?? Number.NaN)));
}

const cpuOf = ({ server }: Round) => server.cpuUsPerDelivery;
const p99Of = ({ latency }: Round) => latency.p99Ms;

const ms = (value: number) => `${value.toFixed(2)} ms`;
const us = (value: number) => `${value.toFixed(2)} µs`;
const percent = (share: number) => `${Math.round(100 * share)} %`;
const spread = ({ low, median, high }: Quartiles) =>
  `${median.toFixed(3)} (${low.toFixed(3)} to ${high.toFixed(3)})`;
const row = (name: string, ours: string, theirs: string, ratio = '') =>
  `${name.padEnd(22)}${ours.padStart(12)}${theirs.padStart(14)}   ${ratio}`.trimEnd();
