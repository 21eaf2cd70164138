// What the relay leaves to the garbage collector while one talks to a thousand: collections, and bytes for each frame.
import { playContest } from '../experiments/contest.js';
import { noiseOf } from '../figures/doubts.js';
import { columns, ms } from '../figures/figures.js';
import { atMost, watched } from '../figures/goals.js';
import { faultsOfDelivery, faultsOfGenerator } from '../figures/judge.js';
import type { Goal, Plot } from '../figures/result.js';
import type { Contest } from '../generator/loads/contest.js';
import { allocatedBytes, type Collection, createCollectionLog } from '../machine/collections.js';
import { linesOfConditions } from '../machine/conditions.js';
import type { Bench, Report } from '../scenario.js';
import type { Relay } from '../servers/relay.js';
import { enlist } from '../servers/users.js';

const AUDIENCE = { probeEvery: 20, framesPerSecond: 50, payloadBytes: 60 };
const LISTENERS = 1_000;
/** What a thousand handshakes left is collected in the lead. */
const PIECE = { talkers: 1, leadFrames: 500, frames: 3_000, isBurst: true };
const QUICK_PIECE = { ...PIECE, leadFrames: 25, frames: 250 };
const SETTINGS = { LOG_LEVEL: 'warn' };
/** In the order of their first collections (collections.ts). */
const THREADS = ['main thread', "relay's thread", 'hashing thread'];
const RELAY_THREAD = 1;

export function garbage({ isQuick, ...bench }: Bench): Promise<Report> {
  const log = createCollectionLog();
  const piece = isQuick ? QUICK_PIECE : PIECE;
  const options = { nodeFlags: ['--trace-gc'], onOutput: log.take };
  const play = async (relay: Relay) => {
    const { url, dialect, pid } = relay;
    const users = await enlist(relay, { users: LISTENERS + 1 });
    bench.progress(`${piece.frames / AUDIENCE.framesPerSecond} s of talk`);
    const contest = await playContest(bench, {
      servers: [{ target: { url, dialect }, pid, users }],
      audience: AUDIENCE,
      piece,
      rounds: [[0]],
      warmUpRounds: 0,
    });
    return reportOf(contest, log.collections);
  };
  return bench.withRelay(SETTINGS, play, options);
}

function reportOf(contest: Contest, all: readonly Collection[]): Report {
  const [turn] = contest.turns;
  const [heard] = contest.heard;
  if (turn === undefined || heard === undefined) throw new RangeError('a contest has a turn');
  const { atMs, durationMs } = turn;
  const during = all.filter((one) => one.atMs >= atMs && one.atMs < atMs + durationMs);
  const faults = [...faultsOfDelivery(heard, 'relay'), ...faultsOfGenerator(contest)];
  const goals = goalsOf(
    during.filter(({ thread }) => thread === RELAY_THREAD),
    faults,
  );
  const line = columns(24, 16);
  const each = (name: string, cell: (own: readonly Collection[]) => string) =>
    line(name, ...THREADS.map((_, thread) => cell(during.filter((one) => one.thread === thread))));
  return {
    lines: [
      line('', ...THREADS),
      each('minor collections', (own) => `${own.filter(({ kind }) => kind === 'minor').length}`),
      each('major collections', (own) => `${own.filter(isMajor).length}`),
      each('  to give memory back', (own) => `${own.filter(({ isReducing }) => isReducing).length}`),
      each('longest pause', (own) => ms(Math.max(0, ...own.map(({ pauseMs }) => pauseMs)))),
      '',
      ...linesOfConditions(contest, 'frames'),
    ],
    faults,
    noise: [noiseOf(contest, 'frames', null)],
    goals,
    plots: [plotOf(all, atMs)],
    details: {
      load: { listeners: LISTENERS, ...AUDIENCE, frames: turn.frames, durationMs },
      settings: SETTINGS,
      collections: during.map((one) => ({ ...one, atMs: one.atMs - atMs, thread: THREADS[one.thread] })),
    },
  };
}

const isMajor = ({ kind }: Collection) => kind === 'major';

/** `own` are the collections of the relay's thread while it relayed. */
function goalsOf(own: readonly Collection[], faults: readonly string[]): Goal[] {
  const major = own.filter(isMajor).length;
  const caused = own.filter((one) => isMajor(one) && !one.isReducing).length;
  const seconds = ((own.at(-1)?.atMs ?? 0) - (own[0]?.atMs ?? 0)) / 1000;
  const goals: Goal[] = [
    atMost(
      watched("major collections of the relay's thread, but those that give memory back", caused, ''),
      0,
      faults,
    ),
    watched("minor collections of the relay's thread", own.length - major, ''),
  ];
  // One collection alone does not say what was allocated before it.
  if (own.length < 2) return goals;
  const frames = seconds * AUDIENCE.framesPerSecond;
  // With what 1,000 listeners are pinged and answer, twenty times for a frame.
  const name = "allocated on the relay's thread, for each frame that comes in";
  return [...goals, watched(name, allocatedBytes(own) / frames, 'bytes')];
}

/** Saw-teeth: before and after each collection. */
function plotOf(collections: readonly Collection[], startMs: number): Plot {
  return {
    kind: 'curve',
    title: 'Heaps while one talks to 1,000',
    note: 'Used memory of each heap before and after each collection; talk is measured from second 0 on. A tooth is what was allocated in between.',
    x: { label: 'time', unit: 's', scale: 'linear' },
    y: { label: 'used', unit: 'MiB', scale: 'linear' },
    series: THREADS.map((name, wanted) => ({
      name,
      points: collections
        .filter(({ thread }) => thread === wanted)
        .flatMap(({ atMs, beforeMib, afterMib }) => {
          const s = (atMs - startMs) / 1000;
          return [[s, beforeMib] as const, [s, afterMib] as const];
        }),
    })),
  };
}
