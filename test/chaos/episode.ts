// One episode: faults by the schedule of its seed, load meanwhile, everything mended, and the invariants judged.
import { setTimeout as pause } from 'node:timers/promises';
import { type Random, randomFrom } from '../helpers/random.js';
import type { ScheduledFault } from './fault.js';
import type { Footprint, History, Span } from './history.js';
import { type Breach, isFootprintBack } from './invariants.js';
import { type Ledger, type LedgerPage, openLedger } from './ledger.js';
import { startLoad } from './load.js';
import { restingFootprint, type Scene } from './scene.js';

/** One node under load. */
export interface Part {
  readonly scene: Omit<Scene, 'links' | 'close'>;
  readonly ledger: Ledger;
  /** See LoadOptions. */
  readonly writers: number;
  /** Before the first episode. */
  readonly baseline: Footprint;
}

/** Opens its ledger, and has it under load for some seconds before it is measured. */
export async function openPart(
  scene: Part['scene'],
  { random, newcomers, writers }: { random: Random; newcomers: string; writers: number },
): Promise<Part> {
  const { call, sql, adminToken, clerks: people, files: talkgroups, spareDevices } = scene;
  const ledger = await openLedger({
    ...{ call, sql, random, adminToken, people, talkgroups, newcomers, spareDevices },
  });
  const stop = startLoad(scene, { ledger, random, writers });
  await pause(WARM_MS);
  await stop();
  await ledger.close();
  return { scene, ledger, writers, baseline: await restingFootprint(scene.server, () => true) };
}

const WARM_MS = 3000;

/** What is broken and judged: a node, or several as one service. `S`: what the faults break something of. */
export interface Subject<S> {
  readonly whole: S;
  readonly parts: readonly Part[];
  schedule(seed: number, ms: number): ScheduledFault<S>[];
  /** Resolves when all is well again, with what was measured. Throws, with what is not, when that takes too long. */
  recover(): Promise<string>;
  /** A history of each part, and when each fault was there. */
  judge(histories: readonly History[], broken: readonly PlayedFault[]): Promise<Breach[]>;
}

/** A fault, and when it was there. */
export interface PlayedFault extends Span {
  readonly name: string;
}

/** What the runner plays episodes with. */
export interface Run {
  /** Has it under load for some seconds. To be called once, before the first episode. What it has, in a line. */
  prepare(): Promise<string>;
  play(seed: number, ms: number): Promise<EpisodeReport>;
  /** What was last logged. */
  lastLines(count: number): string[];
  close(): Promise<void>;
}

export interface EpisodeReport {
  readonly fromMs: number;
  readonly faults: readonly Pick<ScheduledFault, 'name' | 'detail' | 'atMs' | 'untilMs'>[];
  readonly breaches: readonly Breach[];
  /** In a line, what went on. */
  readonly figures: string;
  readonly histories: readonly History[];
  /** When each fault was there. */
  readonly broken: readonly PlayedFault[];
}

/** T1 is 2 s: whatever burst was cut off has ended by then. */
const QUIET_MS = 2500;
/** What was said last arrives. */
const SETTLE_MS = 500;

/** Plays the episode of the seed. A fault that cannot be mended is a breach, too. */
export async function playEpisode<S>(
  { whole, parts, ...subject }: Subject<S>,
  { seed, ms }: { readonly seed: number; readonly ms: number },
): Promise<EpisodeReport> {
  const faults = subject.schedule(seed, ms);
  const stalls = watchStalls();
  for (const { scene } of parts) beginPage(scene);
  const troubles: Breach[] = [];
  const trouble = (invariant: string) => (error: unknown) => {
    troubles.push({ invariant, what: (error as Error).message });
  };
  const broken: PlayedFault[] = [];

  const stopLoads = parts.map(({ scene, ledger, writers }, at) =>
    startLoad(scene, { ledger, random: randomFrom(seed + 1 + at), writers }),
  );
  const fromMs = performance.now();
  const play = async ({ name, atMs, run }: ScheduledFault<S>) => {
    await pause(atMs);
    const beganAtMs = performance.now();
    await run(whole).catch(trouble(name));
    broken.push({ name, fromMs: beganAtMs, untilMs: performance.now() });
  };
  await Promise.all(faults.map(play));
  await pause(Math.max(0, fromMs + ms - performance.now()));
  await Promise.all(stopLoads.map((stop) => stop()));
  const measured = await subject.recover().catch((error) => {
    trouble('recovery')(error);
    return '';
  });
  await pause(Math.max(SETTLE_MS, fromMs + ms + QUIET_MS - performance.now()));

  const leftBehind = await Promise.all(
    parts.map(async ({ scene, ledger, baseline }) => {
      const page = await ledger.close().catch((error): LedgerPage => {
        trouble('I5')(error);
        return { entries: [], before: new Map(), surprises: [] };
      });
      const after = await restingFootprint(scene.server, (now) => isFootprintBack(baseline, now));
      return { scene, ...page, footprint: { baseline, after } };
    }),
  );
  const stoodStill = stalls.stop();
  const startsLate = parts.length > 1;
  const shared = startsLate ? (parts[0]?.scene.talkgroups.filter(({ mode }) => mode !== 'open') ?? []) : [];
  const sharedFloors = new Set(shared.map(({ number }) => number));
  const histories = leftBehind.map(({ scene, ...left }) =>
    historyOf(scene, { ...left, stalls: stoodStill, startsLate, sharedFloors }),
  );
  return {
    ...{ fromMs, faults, histories, broken },
    breaches: [...troubles, ...(await subject.judge(histories, broken))],
    figures: [...histories.map(figuresOf), ...(measured === '' ? [] : [measured])].join('\n  '),
  };
}

function beginPage({ notes, server, crew }: Part['scene']): void {
  notes.requests = [];
  notes.health = [];
  notes.withdrawals = [];
  notes.surprises = [];
  notes.touched = new Set();
  for (const list of [server.exits, server.absences, server.faults]) list.length = 0;
  for (const radio of crew) radio.takeLines();
}

function historyOf(
  { notes, server, crew }: Part['scene'],
  rest: Pick<
    History,
    'entries' | 'before' | 'surprises' | 'stalls' | 'footprint' | 'startsLate' | 'sharedFloors'
  >,
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
export function watchStalls() {
  const stalls: Span[] = [];
  let lastMs = performance.now();
  const timer = setInterval(() => {
    const nowMs = performance.now();
    if (nowMs - lastMs > STALL_LOOK_MS + STALL_MS_MIN) stalls.push({ fromMs: lastMs, untilMs: nowMs });
    lastMs = nowMs;
  }, STALL_LOOK_MS);
  return {
    /** So far. */
    stalls: stalls as readonly Span[],
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
