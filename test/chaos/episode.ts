// One episode: faults by the schedule of its seed, load meanwhile, everything mended, and the invariants judged.
import { setTimeout as pause } from 'node:timers/promises';
import { randomFrom } from '../helpers/random.js';
import { type ScheduledFault, schedule } from './faults.js';
import type { Footprint, History } from './history.js';
import { type Breach, breaches, isFootprintBack } from './invariants.js';
import type { Ledger, LedgerPage } from './ledger.js';
import { startLoad } from './load.js';
import { recover } from './recovery.js';
import { restingFootprint, type Scene } from './scene.js';

export interface EpisodeReport {
  readonly faults: readonly ScheduledFault[];
  readonly breaches: readonly Breach[];
  /** In a line, what went on. */
  readonly figures: string;
}

export interface EpisodeOptions {
  readonly seed: number;
  readonly ms: number;
  readonly ledger: Ledger;
  readonly baseline: Footprint;
}

/** T1 is 2 s: whatever burst was cut off has ended by then. */
const QUIET_MS = 2500;
/** What was said last arrives. */
const SETTLE_MS = 500;

/** Plays the episode of the seed. A fault that cannot be mended is a breach, too. */
export async function playEpisode(scene: Scene, options: EpisodeOptions): Promise<EpisodeReport> {
  const { seed, ms, ledger, baseline } = options;
  const random = randomFrom(seed);
  const faults = schedule(random, ms);
  const stalls = watchStalls();
  beginPage(scene);
  const troubles: Breach[] = [];
  const trouble = (invariant: string) => (error: unknown) => {
    troubles.push({ invariant, what: (error as Error).message });
  };

  const stopLoad = startLoad(scene, { ledger, random: randomFrom(seed + 1) });
  const fromMs = performance.now();
  await Promise.all(faults.map((fault) => play(fault, scene).catch(trouble(fault.name))));
  await pause(Math.max(0, fromMs + ms - performance.now()));
  await stopLoad();
  await recover(scene).catch(trouble('recovery'));
  await pause(Math.max(SETTLE_MS, fromMs + ms + QUIET_MS - performance.now()));

  const page = await ledger.close().catch((error): LedgerPage => {
    trouble('I5')(error);
    return { entries: [], before: new Map(), surprises: [] };
  });
  const after = await restingFootprint(scene.server, (now) => isFootprintBack(baseline, now));
  const history = historyOf(scene, { ...page, stalls: stalls.stop(), footprint: { baseline, after } });
  return { faults, breaches: [...troubles, ...breaches(history)], figures: figuresOf(history) };
}

async function play(fault: ScheduledFault, scene: Scene): Promise<void> {
  await pause(fault.atMs);
  await fault.run(scene);
}

function beginPage({ notes, server, crew }: Scene): void {
  notes.requests = [];
  notes.health = [];
  notes.withdrawals = [];
  notes.surprises = [];
  notes.touched = new Set();
  for (const list of [server.exits, server.absences, server.faults]) list.length = 0;
  for (const radio of crew) radio.takeLines();
}

function historyOf(
  { notes, server, crew }: Scene,
  rest: Pick<History, 'entries' | 'before' | 'surprises' | 'stalls' | 'footprint'>,
): History {
  return {
    ...rest,
    ...notes,
    surprises: [...rest.surprises, ...notes.surprises],
    lines: crew.flatMap((radio) => radio.takeLines()),
    absences: [...server.absences],
    exits: [...server.exits],
    faults: [...server.faults],
  };
}

const STALL_LOOK_MS = 20;
const STALL_MS_MIN = 50;

/** When this process itself did not get on: what it then measured of others is its own delay. */
function watchStalls() {
  const stalls: { fromMs: number; untilMs: number }[] = [];
  let lastMs = performance.now();
  const timer = setInterval(() => {
    const nowMs = performance.now();
    if (nowMs - lastMs > STALL_LOOK_MS + STALL_MS_MIN) stalls.push({ fromMs: lastMs, untilMs: nowMs });
    lastMs = nowMs;
  }, STALL_LOOK_MS);
  return {
    stop() {
      clearInterval(timer);
      return stalls;
    },
  };
}

function figuresOf({ lines, requests, entries, withdrawals, footprint: { after } }: History): string {
  const arrivals = lines.flatMap((line) => line.arrivals);
  const frames = arrivals.filter(({ kind }) => kind === 'frame').length;
  const bursts = arrivals.filter(({ kind }) => kind === 'ended').length;
  const lags = arrivals.filter(({ kind }) => kind === 'lag').length;
  const entriesThat = (is: string) => entries.filter(({ outcome }) => outcome === is).length;
  const longestMs = Math.max(0, ...requests.map(({ startedAtMs, endedAtMs }) => endedAtMs - startedAtMs));
  return [
    `${frames} frames heard, ${bursts} ends of bursts, ${lags} LAG, ${lines.length} sockets`,
    `${requests.length} requests, the longest ${Math.round(longestMs)} ms`,
    `${entriesThat('stored')} writes stored, ${entriesThat('unknown')} unknown, ${withdrawals.length} rights withdrawn`,
    `${after.descriptors} descriptors, ${after.residentMiB} MiB`,
  ].join('; ');
}
