// How soon does one who comes late hear the burst that is running? In 1, 100 and 1,000 talkgroups with a burst each.
import { noiseOf } from '../figures/doubts.js';
import { columns, ms } from '../figures/figures.js';
import { watched } from '../figures/goals.js';
import type { Latency } from '../figures/histogram.js';
import { faultsOfGenerator } from '../figures/judge.js';
import { percentilesOf } from '../figures/plots.js';
import type { Goal, Plot } from '../figures/result.js';
import type { Entry, LateEntry, LateEntryTask, Load } from '../generator/loads/late-entry.js';
import { linesOfRuns } from '../machine/conditions.js';
import type { Bench, Report } from '../scenario.js';
import { enlist } from '../servers/users.js';

/** In each a burst of 50 frames a second runs all the time. */
const TALKGROUPS = [1, 100, 1000];
const TALKGROUPS_QUICK = [100];
/** Of one talker, which sends a frame of each in one write, as a dispatcher's multi-select does. Eight are allowed. */
const TALKGROUPS_PER_TALKER = 8;
const CONNECTING = 500;
const CONNECTING_QUICK = 150;
const SUBSCRIBING = 50;
const LOAD: Load = { entriesPerSecond: 100, payloadBytes: 60 };
const SETTINGS = { LOG_LEVEL: 'warn' };

interface Run extends LateEntry {
  readonly name: string;
  readonly talkgroups: number;
}

export async function lateEntry(bench: Bench): Promise<Report> {
  const sizes = bench.isQuick ? TALKGROUPS_QUICK : TALKGROUPS;
  const entries = bench.isQuick ? CONNECTING_QUICK : CONNECTING;
  const runs: Run[] = [];
  for (const talkgroups of sizes) runs.push(await measure(bench, { talkgroups, entries }));
  const faults = runs.flatMap(faultsOf);
  const load = {
    ...LOAD,
    talkgroups: sizes,
    talkgroupsPerTalker: TALKGROUPS_PER_TALKER,
    entriesOfEachKind: entries,
  };
  return {
    lines: linesOf(runs),
    faults,
    noise: runs.map((run) => noiseOf(run, 'entries', run.connecting.heard.p99Ms, run.name)),
    goals: runs.flatMap(goalsOf),
    plots: plotsOf(runs),
    details: { load, settings: SETTINGS, runs },
  };
}

/** How many talkgroups, and entries of each kind. */
interface Size {
  readonly talkgroups: number;
  readonly entries: number;
}

function measure(bench: Bench, { talkgroups, entries }: Size): Promise<Run> {
  const name = talkgroups === 1 ? '1 talkgroup' : `${talkgroups.toLocaleString('en')} talkgroups`;
  bench.progress(name);
  return bench.withRelay(SETTINGS, async (relay) => {
    const talking = talkersIn(talkgroups);
    const memberships = [...talking, ...spread(entries, talkgroups), ...spread(SUBSCRIBING, talkgroups)];
    const users = await enlist(relay, {
      users: memberships.length,
      talkgroups: Array.from({ length: talkgroups }, () => 'open' as const),
      memberOf: (user) => memberships[user] ?? [],
    });
    const { url, dialect, pid } = relay;
    const measured = await bench.generate<LateEntryTask, LateEntry>(
      new URL('../generator/loads/late-entry.js', import.meta.url),
      {
        server: { url, dialect, pid },
        talkers: users.slice(0, talking.length),
        connecting: users.slice(talking.length, -SUBSCRIBING),
        subscribing: users.slice(-SUBSCRIBING),
        load: LOAD,
      },
    );
    return { name, talkgroups, ...measured };
  });
}

/** Memberships, by index of the talkgroup, of as many talkers as it takes. */
function talkersIn(talkgroups: number): number[][] {
  const all = Array.from({ length: talkgroups }, (_, talkgroup) => talkgroup);
  return Array.from({ length: Math.ceil(talkgroups / TALKGROUPS_PER_TALKER) }, (_, talker) =>
    all.slice(talker * TALKGROUPS_PER_TALKER, (talker + 1) * TALKGROUPS_PER_TALKER),
  );
}

/** Memberships of `count` radios, one each, spread over all talkgroups. */
const spread = (count: number, talkgroups: number): number[][] =>
  Array.from({ length: count }, (_, i) => [Math.floor((i * talkgroups) / count)]);

function faultsOf(run: Run): string[] {
  const unheard = run.connecting.unheard + run.subscribing.unheard;
  return [
    ...(unheard > 0 ? [`${run.name}: ${unheard} radios heard nothing`] : []),
    ...faultsOfGenerator(run, run.name),
  ];
}

/** Only watched: the radio link has most of the time that a system is given. */
function goalsOf({ name, connecting, subscribing }: Run): Goal[] {
  const p99 = (what: string, value: number) => watched(`${what} p99, ${name}`, value, 'ms');
  return [
    p99('connecting: first frame', connecting.heard.p99Ms),
    p99('connecting: WELCOME', connecting.ready.p99Ms),
    p99('subscribing: first frame', subscribing.heard.p99Ms),
    p99('subscribing: SUBSCRIBED', subscribing.ready.p99Ms),
  ];
}

function plotsOf(runs: readonly Run[]): Plot[] {
  const plot = (title: string, note: string, of: (run: Run) => Latency): Plot =>
    percentilesOf(
      title,
      note,
      runs.map((run) => [run.name, of(run)]),
    );
  const clock = 'Up to 20 ms of it is the wait for the next frame.';
  return [
    plot(
      'Connecting: first frame',
      `From the intended connect to the first audio frame in hand. ${clock}`,
      ({ connecting }) => connecting.heard,
    ),
    plot(
      'Connecting: WELCOME',
      'The part that is the server: TCP, handshake, token, memberships from PostgreSQL.',
      ({ connecting }) => connecting.ready,
    ),
    plot(
      'Subscribing: first frame',
      `From the intended SUBSCRIBE to the first audio frame in hand. ${clock}`,
      ({ subscribing }) => subscribing.heard,
    ),
    plot('Subscribing: SUBSCRIBED', 'The part that is the server.', ({ subscribing }) => subscribing.ready),
  ];
}

function linesOf(runs: readonly Run[]): string[] {
  const line = columns(36, 18);
  const each = (name: string, cell: (run: Run) => string) => line(name, ...runs.map(cell));
  const latency = (name: string, of: (run: Run) => Latency) => [
    each(`${name} p50`, (run) => ms(of(run).p50Ms)),
    each(`${name} p95`, (run) => ms(of(run).p95Ms)),
    each(`${name} p99`, (run) => ms(of(run).p99Ms)),
  ];
  const entry = (ready: string, of: (run: Run) => Entry) => [
    ...latency('  first frame', (run) => of(run).heard),
    ...latency(`  ${ready}`, (run) => of(run).ready),
    ...latency('  wait for the next frame', (run) => of(run).waited),
  ];
  return [
    each('', ({ name }) => name),
    'connecting, from the first SYN',
    ...entry('WELCOME', ({ connecting }) => connecting),
    'subscribing, from SUBSCRIBE',
    ...entry('SUBSCRIBED', ({ subscribing }) => subscribing),
    each(
      'entries',
      ({ connecting, subscribing }) => `${connecting.heard.count} + ${subscribing.heard.count}`,
    ),
    each('frames a second into the server', ({ talkgroups }) => `${50 * talkgroups}`),
    each('frames left late, p99', ({ framesLate }) => ms(framesLate.p99Ms)),
    '',
    ...linesOfRuns(runs, 'entries'),
    '',
    'to compare: 3GPP TS 22.179 gives the whole system 350 ms for a late entry (KPI 4, R-6.15.4.2-004)',
    'the frame clock of 20 ms alone makes 10 ms on average and up to 20 ms, whatever the server does',
  ];
}
