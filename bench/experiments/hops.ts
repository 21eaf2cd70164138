// Measures what a frame costs that one relay passes on to another, two nodes or two threads, and how much later it is heard.
import { columns, ms, percent, type Quartiles, quartiles, us } from '../figures/figures.js';
import { atMost, watched, watchedMedian } from '../figures/goals.js';
import { faultsOfGenerator } from '../figures/judge.js';
import { percentilesOf } from '../figures/plots.js';
import type { Goal, Plot } from '../figures/result.js';
import type { Hop, HopTask, HopTurn, Seats, SideName } from '../generator/loads/hop.js';
import type { Target } from '../radios/raw-radio.js';
import { scoutsFor } from '../radios/scouts.js';
import type { Bench } from '../scenario.js';
import type { Relay } from '../servers/relay.js';
import { enlist } from '../servers/users.js';
import { type FramePrices, speedUpOf } from './thread-times.js';

export interface HopLoad {
  /** With a talker in each. */
  readonly talkgroups: number;
  readonly frames: number;
  readonly rounds: number;
  /** What is promised at this rate. The rest is only watched. */
  readonly targets?: Targets;
}

interface Targets {
  readonly publishUs?: number;
  readonly receiveUs?: number;
  readonly natsUs?: number;
  readonly p50Ms?: number;
  readonly p99Ms?: number;
}

/** The two relays. */
export interface Pair extends Pick<HopTask, 'cpuOf'> {
  /** In whose database the users are. */
  readonly database: Pick<Relay, 'dataDir' | 'jwtSecret'>;
  readonly near: Target;
  readonly far: Target;
  /** They are threads behind one port. */
  readonly sharePort: boolean;
}

export interface HopRun extends Hop {
  readonly name: string;
  readonly load: HopLoad;
}

const AUDIENCE = { probeEvery: 1, framesPerSecond: 50, payloadBytes: 60 };
/** Radios in each talkgroup of a side: the talker, a listener beside it, and one on the other relay. */
const MEMBERS: Readonly<Record<SideName, number>> = { unheard: 1, local: 2, forwarded: 3 };

export async function playHops(bench: Bench, pair: Pair, load: HopLoad): Promise<HopRun> {
  const { talkgroups, frames, rounds } = load;
  const name = `${(talkgroups * AUDIENCE.framesPerSecond).toLocaleString('en')} frames/s`;
  const { database, near, far, cpuOf, sharePort } = pair;
  /** Each side has its own talkgroups and users. Behind all of them the scouts, who have none. */
  const sides = Object.keys(MEMBERS) as SideName[]; // its own keys
  const talkgroupOf = sides.flatMap((side, at) =>
    Array.from({ length: MEMBERS[side] * talkgroups }, (_, place) => at * talkgroups + (place % talkgroups)),
  );
  const users = await enlist(database, {
    users: talkgroupOf.length + (sharePort ? scoutsFor(talkgroupOf.length) : 0),
    talkgroups: Array.from({ length: sides.length * talkgroups }, () => 'open' as const),
    memberOf: (user) => talkgroupOf.slice(user, user + 1),
  });
  const rows = Array.from({ length: talkgroupOf.length / talkgroups }, (_, row) =>
    users.slice(row * talkgroups, (row + 1) * talkgroups),
  );
  const seats = (): Seats => ({ talkers: rows.shift() ?? [], near: [], far: [] });
  const hop = await bench.generate<HopTask, Hop>(new URL('../generator/loads/hop.js', import.meta.url), {
    ...{ near, far, cpuOf },
    scouts: sharePort ? users.slice(talkgroupOf.length).map(({ token }) => token) : null,
    sides: {
      unheard: seats(),
      local: { ...seats(), near: rows.shift() ?? [] },
      forwarded: { ...seats(), near: rows.shift() ?? [], far: rows.shift() ?? [] },
    },
    ...{ audience: AUDIENCE, frames, rounds },
  });
  return { name, load, ...hop };
}

/** Names of the processes, or numbers of the threads, that have the talkers and the far listeners. */
export interface Places {
  readonly talkers: string;
  readonly listeners: string;
}

/** Of threads: that of the talkers is the busiest where nothing is forwarded, the other one gains most where it is. */
export function placesOf(turns: readonly HopTurn[]): Places {
  const used = (side: SideName) => {
    const sums = new Map<string, number>();
    for (const turn of turns)
      if (turn.side === side)
        for (const [name, us] of Object.entries(turn.cpuUs)) sums.set(name, (sums.get(name) ?? 0) + us);
    return sums;
  };
  const [local, forwarded] = [used('local'), used('forwarded')];
  const greatest = (entries: readonly (readonly [string, number])[]) =>
    entries.toSorted(([, a], [, b]) => b - a)[0]?.[0] ?? '';
  const talkers = greatest([...local]);
  const gains = [...forwarded].map(([name, us]) => [name, us - (local.get(name) ?? 0)] as const);
  return { talkers, listeners: greatest(gains.filter(([name]) => name !== talkers)) };
}

/** Microseconds for each frame, by round. */
export interface RoundPrices extends FramePrices {
  /** What one more name cost, such as the nats-server. */
  of(name: string): number;
}

/** What a frame costs beyond one that is not heard, or not forwarded, in the neighbouring turns. */
export function pricesOf(turns: readonly HopTurn[], { talkers, listeners }: Places): readonly RoundPrices[] {
  const rounds = [...new Set(turns.map(({ round }) => round))];
  return rounds.map((round) => {
    const cost = (side: SideName, name: string) => {
      const turn = turns.find((one) => one.round === round && one.side === side);
      return turn === undefined ? Number.NaN : (turn.cpuUs[name] ?? Number.NaN) / turn.frames;
    };
    const forwarding = (name: string) => cost('forwarded', name) - cost('local', name);
    const inbound = cost('unheard', talkers);
    const delivery = cost('local', talkers) - inbound;
    return {
      ...{ inbound, delivery },
      publish: forwarding(talkers),
      receive: forwarding(listeners) - delivery,
      of: forwarding,
    };
  });
}

/** Medians of the rounds. */
export function mediansOf(prices: readonly FramePrices[]): FramePrices {
  const median = (of: (price: FramePrices) => number) => quartiles(prices.map(of)).median;
  return {
    inbound: median(({ inbound }) => inbound),
    delivery: median(({ delivery }) => delivery),
    publish: median(({ publish }) => publish),
    receive: median(({ receive }) => receive),
  };
}

/** Words for the two relays. */
export interface Words {
  readonly near: string;
  readonly far: string;
}

/** The goals of one run, in the order of the page. `nats`: with a nats-server between the relays, of that name. */
export function goalsOfHops(
  run: HopRun,
  { places, words, nats, faults }: { places: Places; words: Words; nats?: string; faults: readonly string[] },
): Goal[] {
  const { name, turns, hop, load } = run;
  const { publishUs, receiveUs, natsUs, p50Ms, p99Ms } = load.targets ?? {};
  const prices = pricesOf(turns, places);
  const judged = (goal: Goal, most: number | undefined) =>
    most === undefined ? goal : atMost(goal, most, faults);
  const cpu = (what: string, all: Quartiles, most?: number) =>
    judged(watchedMedian(`CPU per forwarded frame, ${what}, ${name}`, all, 'µs'), most);
  const later = `${words.far} less ${words.near}`;
  return [
    cpu(words.near, quartiles(prices.map(({ publish }) => publish)), publishUs),
    cpu(words.far, quartiles(prices.map(({ receive }) => receive)), receiveUs),
    ...(nats === undefined ? [] : [cpu('nats-server', quartiles(prices.map(({ of }) => of(nats))), natsUs)]),
    judged(watched(`${later}, p50, ${name}`, hop.p50Ms, 'ms'), p50Ms),
    judged(watched(`${later}, p99, ${name}`, hop.p99Ms, 'ms'), p99Ms),
  ];
}

/** In talkgroups of so many, over so many nodes. From the medians, so it has no quartiles. */
export const estimateOf = (run: HopRun, places: Places, size: Parameters<typeof speedUpOf>[1]): Goal =>
  watched(
    `estimate: deliveries per second, ${size.nodes} nodes / 1, talkgroups of ${size.members}`,
    speedUpOf(mediansOf(pricesOf(run.turns, places)), size),
    '',
  );

export function faultsOfHops({ name, turns, ...run }: HopRun, { listeners }: Places): string[] {
  const lost = turns.reduce((sum, turn) => sum + turn.lost, 0);
  const used = (side: SideName) =>
    turns.reduce((sum, turn) => sum + (turn.side === side ? (turn.cpuUs[listeners] ?? 0) : 0), 0);
  return [
    ...(lost === 0 ? [] : [`${name}: ${lost} deliveries lost`]),
    // Else radios were on a relay where they should not have been, and all differences say nothing.
    ...(used('local') < APART_MAX * used('forwarded') ? [] : [`${name}: the other relay was not idle`]),
    ...faultsOfGenerator(run, name),
  ];
}

/** CPU time of the other relay while it has nothing to do, at most this share of that while it has. */
const APART_MAX = 0.5;

export const plotOfHops = (runs: readonly HopRun[], { near, far }: Words): Plot =>
  percentilesOf(
    'Latency of a forwarded frame',
    `From when it should have left the talker to the listener on its own relay (${near}), and to the one on the other (${far}).`,
    runs.flatMap((run) => [
      [`${run.name}, ${near}`, run.near],
      [`${run.name}, ${far}`, run.far],
    ]),
  );

export function linesOfHops(
  runs: readonly HopRun[],
  { words, placesIn, nats }: { words: Words; placesIn: (run: HopRun) => Places; nats?: string },
): string[] {
  const line = columns(36, 18);
  const each = (title: string, cell: (run: HopRun) => string) => line(title, ...runs.map(cell));
  const price = (title: string, of: (prices: RoundPrices) => number) =>
    each(title, (run) => us(quartiles(pricesOf(run.turns, placesIn(run)).map(of)).median));
  return [
    each('CPU of a frame', ({ name }) => name),
    price('inbound', ({ inbound }) => inbound),
    price('a delivery', ({ delivery }) => delivery),
    price(`passed on, ${words.near}`, ({ publish }) => publish),
    price(`taken, ${words.far}`, ({ receive }) => receive),
    ...(nats === undefined ? [] : [price('passed on, nats-server', ({ of }) => of(nats))]),
    each(`${words.near}, p50`, ({ near }) => ms(near.p50Ms)),
    each(`${words.far}, p50`, ({ far }) => ms(far.p50Ms)),
    each('difference for the same frame, p50', ({ hop }) => ms(hop.p50Ms)),
    each('difference for the same frame, p99', ({ hop }) => ms(hop.p99Ms)),
    each('forwarded frames', ({ hop }) => `${hop.count}`),
    each('generator', ({ generatorShare }) => percent(generatorShare)),
  ];
}
