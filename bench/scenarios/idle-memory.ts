// What an idle radio costs: the server's memory for each, at 10,000 and at as many as descriptors allow, and the CPU
// time of each handshake. The load: radios that join, each a user of its own, and say nothing. Constant are the rate
// of arrivals, the members of a talkgroup and the waits before memory is taken. The servers run one after the other.
import { readFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { columns, kib, mib, percent, us } from '../figures/figures.js';
import { atMost, watched } from '../figures/goals.js';
import { faultsOfGenerator } from '../figures/judge.js';
import type { Goal, Plot } from '../figures/result.js';
import type { Idle, IdleTask, Load, Step } from '../generator/loads/idle.js';
import type { Bench, Report } from '../scenario.js';
import { COUNTED_MS, countTransactions } from '../servers/database.js';
import { withPeer } from '../servers/peers.js';
import type { Server } from '../servers/start.js';
import { enlist } from '../servers/users.js';

/** The number of radios that the goals speak of. */
const RADIOS = 10_000;
/** Where descriptors allow more, time is the limit: 15 s of arrivals for each server. */
const RADIOS_MAX = 30_000;
const RADIOS_QUICK = 500;
/** Connections to REST, for what the bench asks there. A lower limit: by default they take a quarter from the radios. */
const REST_CONNECTIONS = 64;
/** What server and generator hold open beside radios: what the service keeps for other files, and its REST connections. */
const OTHER_DESCRIPTORS = 200 + REST_CONNECTIONS;
const MEMBERS = 50;
const KIB_MAX = 4;
/** What a handshake may cost of one of ws that asks for no login. */
const HANDSHAKE_RATIO_MAX = 1;
const SETTINGS = { LOG_LEVEL: 'warn', REST_CONNECTIONS: String(REST_CONNECTIONS) };

interface Run extends Idle {
  readonly name: string;
  /** Committed or not, the service's own call to itself each second included. null: not asked. */
  readonly transactions: number | null;
}

interface Plan {
  readonly load: Load;
  /** At which the goals are judged. */
  readonly radios: number;
  /** Why there are no more radios than the last step has. */
  readonly bound: string;
}

export async function idleMemory(bench: Bench): Promise<Report> {
  const plan = planOf(bench.isQuick);
  const relays: Measured[] = [];
  // Unless it must be quick also on one thread.
  for (const relayThreads of bench.isQuick ? ['1'] : ['1', '0']) {
    relays.push(await measureRelay(bench, plan, relayThreads));
  }
  const [shipped] = relays;
  if (shipped === undefined) throw new RangeError('the service as shipped is measured in every run');
  const ws = await measurePeer(bench, plan, shipped.fleet, 'ws');
  const bare = await measurePeer(bench, plan, shipped.fleet, 'bare');
  return report({ relays: relays.map(({ run }) => run), ws, bare }, plan);
}

function planOf(isQuick: boolean): Plan {
  if (isQuick) {
    return {
      load: { steps: [RADIOS_QUICK], arrivalsPerSecond: 2_000, settleMs: 1_000 },
      radios: RADIOS_QUICK,
      bound: 'the quick run',
    };
  }
  const descriptors = descriptorsMax();
  const most = Math.min(descriptors - OTHER_DESCRIPTORS, RADIOS_MAX);
  const steps = [1_000, 2_500, 5_000, RADIOS, most].filter((radios) => radios <= most);
  return {
    load: { steps: [...new Set(steps)], arrivalsPerSecond: 2_000, settleMs: 3_000 },
    radios: Math.min(RADIOS, most),
    bound: most === RADIOS_MAX ? 'the time of a run' : `${descriptors} descriptors of a process`,
  };
}

/** The hard limit: Node raises its own to it, and so do the servers and the generator, which are Node. */
function descriptorsMax(): number {
  const [, hard = ''] = /^Max open files +\S+ +(\S+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
  return hard === 'unlimited' ? Number.POSITIVE_INFINITY : Number(hard);
}

/** Users and what signed their tokens. */
type Fleet = Pick<IdleTask, 'users' | 'jwtSecret'>;

interface Measured {
  readonly run: Run;
  readonly fleet: Fleet;
}

function measureRelay(bench: Bench, plan: Plan, relayThreads: string): Promise<Measured> {
  const { signal, isQuick } = bench;
  const name = `RELAY_THREADS=${relayThreads}`;
  bench.progress(name);
  const settings = { ...SETTINGS, RELAY_THREADS: relayThreads };
  return bench.withRelay(settings, async (relay) => {
    const count = plan.load.steps.at(-1) ?? 0;
    const users = await enlist(relay, {
      users: count,
      talkgroups: Array.from({ length: Math.ceil(count / MEMBERS) }, () => 'open' as const),
      memberOf: (user) => [Math.floor(user / MEMBERS)],
    });
    const fleet = { users, jwtSecret: relay.jwtSecret };
    const before = await countTransactions(relay);
    const idle = await measure(bench, plan, relay, fleet);
    if (!isQuick) await setTimeout(COUNTED_MS, undefined, { signal });
    const transactions = isQuick ? null : (await countTransactions(relay)) - before;
    return { run: { name, ...idle, transactions }, fleet };
  });
}

/** Its radios bring the same tokens, which it does not look at: handshakes of the same length. */
function measurePeer(bench: Bench, plan: Plan, fleet: Fleet, peer: 'ws' | 'bare'): Promise<Run> {
  const name = peer === 'bare' ? 'bare engine' : peer;
  bench.progress(name);
  return withPeer(peer, { cores: bench.cores.server, signal: bench.signal }, async (server) => ({
    name,
    ...(await measure(bench, plan, server, fleet)),
    transactions: null,
  }));
}

function measure(bench: Bench, { load }: Plan, server: Server, fleet: Fleet): Promise<Idle> {
  return bench.generate<IdleTask, Idle>(new URL('../generator/loads/idle.js', import.meta.url), {
    server,
    ...fleet,
    load,
  });
}

/** What the lines, the goals and the plots say of one server. */
interface Figures extends Run {
  /** Growth of the resident set since there were no radios, at the number the goals speak of, and at the most. */
  readonly bytesPerRadio: number;
  readonly bytesPerRadioMost: number;
  readonly handshakeUs: number;
  readonly databaseUs: number;
  /** In the step in which it was highest. */
  readonly generatorShare: number;
  readonly othersShare: number;
}

function figuresOf(run: Run, { radios }: Plan): Figures {
  const [empty, first, ...later] = run.steps;
  // The first radios find code that was never compiled.
  const warm = later.length > 0 ? later : [first ?? empty].filter((step) => step !== undefined);
  const mean = (of: (step: Step) => number) => {
    const came = (step: Step) => step.radios - (run.steps[run.steps.indexOf(step) - 1]?.radios ?? 0);
    const all = warm.reduce((sum, step) => sum + came(step), 0);
    return warm.reduce((sum, step) => sum + of(step) * came(step), 0) / all;
  };
  const growth = (step: Step | undefined) =>
    step === undefined || empty === undefined
      ? Number.NaN
      : (step.residentBytes - empty.residentBytes) / step.radios;
  return {
    ...run,
    bytesPerRadio: growth(run.steps.find((step) => step.radios === radios)),
    bytesPerRadioMost: growth(run.steps.at(-1)),
    handshakeUs: mean((step) => step.handshakeUs),
    databaseUs: mean((step) => step.databaseUs),
    generatorShare: Math.max(...run.steps.map((step) => step.generatorShare)),
    othersShare: Math.max(...run.steps.map((step) => step.othersShare)),
  };
}

interface Runs {
  /** As shipped, then the others. */
  readonly relays: readonly Run[];
  readonly ws: Run;
  readonly bare: Run;
}

function report({ relays, ...peers }: Runs, plan: Plan): Report {
  const runs = [...relays, peers.ws, peers.bare];
  const figures = runs.map((run) => figuresOf(run, plan));
  const [shipped] = figures;
  if (shipped === undefined) throw new RangeError('the service as shipped is measured in every run');
  const [ws, bare] = [figuresOf(peers.ws, plan), figuresOf(peers.bare, plan)];
  const faults = figures.flatMap((one) => faultsOfGenerator(one, one.name));
  const goals = goalsOf({ figures, shipped, ws, bare, faults, plan });
  return {
    lines: linesOf(figures, plan),
    faults,
    goals,
    plots: [memoryPlot(runs)],
    details: {
      load: { ...plan.load, membersOfATalkgroup: MEMBERS },
      bound: plan.bound,
      settings: SETTINGS,
      runs,
    },
  };
}

interface Judged {
  readonly figures: readonly Figures[];
  readonly shipped: Figures;
  readonly ws: Figures;
  readonly bare: Figures;
  readonly faults: readonly string[];
  readonly plan: Plan;
}

/** The first two are promised, the others watched. */
function goalsOf({ figures, shipped, ws, bare, faults, plan: { radios } }: Judged): Goal[] {
  const memoryKib = shipped.bytesPerRadio / 1024;
  const handshakeUs = shipped.handshakeUs - shipped.signatureUs;
  const ratioToWs = shipped.handshakeUs / ws.handshakeUs;
  // What a server that has just started still learns and allocates weighs too much on a few.
  const judged = radios < RADIOS ? null : faults;
  return [
    atMost(watched(`server memory per idle radio, ${radios} radios`, memoryKib, 'KiB'), KIB_MAX, judged),
    atMost(
      watched('CPU per handshake, relay / ws without a login', ratioToWs, ''),
      HANDSHAKE_RATIO_MAX,
      judged,
    ),
    watched('CPU per handshake beyond the signature check', handshakeUs, 'µs'),
    watched(
      'CPU per handshake beyond the signature check and the bare engine',
      handshakeUs - bare.handshakeUs,
      'µs',
    ),
    watched('CPU of PostgreSQL per handshake', shipped.databaseUs, 'µs'),
    ...figures
      .slice(1)
      .map(({ name, bytesPerRadio }) =>
        watched(`server memory per idle radio, ${radios} radios, ${name}`, bytesPerRadio / 1024, 'KiB'),
      ),
  ];
}

function linesOf(figures: readonly Figures[], { load, radios, bound }: Plan): string[] {
  const most = load.steps.at(-1) ?? 0;
  const line = columns(34, 18);
  const each = (name: string, cell: (one: Figures) => string) => line(name, ...figures.map(cell));
  const resident = (count: number) =>
    each(`  ${count === 0 ? 'ready, no radio' : `${count} radios`}`, ({ steps }) =>
      mib(steps.find((step) => step.radios === count)?.residentBytes ?? Number.NaN),
    );
  return [
    each('', ({ name }) => name),
    each(`memory per radio, ${radios}`, ({ bytesPerRadio }) => kib(bytesPerRadio)),
    each('CPU per handshake', ({ handshakeUs }) => us(handshakeUs)),
    each('  of it the signature check', ({ signatureUs }) => us(signatureUs)),
    ...(most === radios
      ? []
      : [each(`memory per radio, ${most}`, ({ bytesPerRadioMost }) => kib(bytesPerRadioMost))]),
    'server memory (RSS)',
    ...[0, ...load.steps].map(resident),
    each('CPU of PostgreSQL per handshake', ({ databaseUs }) => us(databaseUs)),
    each('transactions, of all handshakes', ({ transactions }) => `${transactions ?? '-'}`),
    each('generator, busiest step', ({ generatorShare }) => percent(generatorShare)),
    each('all else on this machine, likewise', ({ othersShare }) => percent(othersShare)),
    '',
    `load: ${most} radios at most, bounded by ${bound}; ${load.arrivalsPerSecond} join a second, ${MEMBERS} in a talkgroup, and say nothing`,
    `memory: resident set ${load.settleMs / 1000} s after the last came, less that without radios; no collection is forced`,
  ];
}

/** Growth, so that servers of different size begin at one point. */
function memoryPlot(runs: readonly Run[]): Plot {
  return {
    kind: 'curve',
    title: 'Server memory with idle radios',
    note: 'Growth of the resident set since there were no radios; the slope is what a radio costs.',
    x: { label: 'radios', unit: '', scale: 'linear' },
    y: { label: 'memory', unit: 'MiB', scale: 'linear' },
    series: runs.map(({ name, steps }) => ({
      name,
      points: steps.map(
        (step) => [step.radios, (step.residentBytes - (steps[0]?.residentBytes ?? 0)) / 2 ** 20] as const,
      ),
    })),
  };
}
