// Measures a talker and its listeners beside another load on the same relay, and what both cost.
import { percent, type Quartiles, quartiles } from '../figures/figures.js';
import { type Latency, mergeLatencies } from '../figures/histogram.js';
import type { AudienceHeard, AudiencePiece, AudienceSetup } from '../generator/loads/audience.js';
import { type Busy, type Player, soon } from '../generator/player.js';
import { around, nowMs } from '../machine/clock.js';
import { type Conditions, linesOfConditions, readUsage, sharesOf, spent } from '../machine/conditions.js';
import { descendantsCpuUs } from '../machine/descendants.js';
import type { Audience, Delivered } from '../radios/channel.js';
import type { Target } from '../radios/raw-radio.js';
import type { Bench } from '../scenario.js';
import type { Relay } from '../servers/relay.js';
import { enlist } from '../servers/users.js';

/** A frame of 76 bytes each 20 ms. A quarter of the listeners are probes. */
export const AUDIENCE = { probeEvery: 4, framesPerSecond: 50, payloadBytes: 60 };

export type AudiencePlayer = Player<AudiencePiece, AudienceHeard, Delivered>;

export interface AudienceOptions {
  readonly relay: Relay;
  readonly listeners: number;
  /** Of their talkgroup. Without it nothing is recorded. */
  readonly recordingDays?: number;
  /** Without it AUDIENCE. */
  readonly audience?: Audience;
}

/** Listeners in a talkgroup of their own, and one who talks to them from here on. */
export async function withAudience<T>(
  bench: Bench,
  { relay, listeners, recordingDays = 0, audience = AUDIENCE }: AudienceOptions,
  use: (audience: AudiencePlayer) => Promise<T>,
): Promise<T> {
  const users = await enlist(relay, { users: listeners + 1, recordingDays });
  return bench.withPlayer<AudienceSetup, AudiencePiece, AudienceHeard, Delivered, T>(
    new URL('../generator/loads/audience.js', import.meta.url),
    { server: targetOf(relay), users, audience },
    use,
  );
}

/** What a generator is told of a relay. */
export const targetOf = ({ url, dialect }: Target): Target => ({ url, dialect });

/** Of one server and all that ran beside it. */
export interface Surroundings extends Conditions {
  /** Of the server's PostgreSQL. */
  readonly databaseShare: number;
}

/** One of several generators, in one piece. */
export type Generated = Busy & { readonly late: Latency };

/** Reads the clocks. What it returns reads them again and says what passed, `generators` being all that was played. */
export function watch(relay: Relay): (generators: readonly Generated[]) => Surroundings {
  const read = () => ({
    usage: readUsage([relay.pid]),
    databaseUs: descendantsCpuUs(relay.pid),
    // Servers, databases and generators are all processes of ours.
    benchUs: descendantsCpuUs(process.pid),
  });
  const before = read();
  return (generators) => {
    const generatorShares = generators.map(({ generatorShare }) => generatorShare);
    const after = read();
    const passed = spent(before.usage, after.usage);
    const share = (us: number) => Math.max(0, us / 1000 / passed.atMs);
    return {
      serverShare: sharesOf(passed).serverShare,
      databaseShare: share(after.databaseUs - before.databaseUs),
      generatorShare: Math.max(0, ...generatorShares),
      generatorShares,
      othersShare: share(passed.machineUs - passed.generatorUs - (after.benchUs - before.benchUs)),
      late: mergeLatencies(generators.map(({ late }) => late)),
    };
  };
}

/** For the terminal. `what` left the generators. */
export function linesOfSurroundings(surroundings: Surroundings, what: string): string[] {
  const { serverShare, databaseShare } = surroundings;
  return [
    `server: ${percent(serverShare)} of a core, its PostgreSQL ${percent(databaseShare)}`,
    ...linesOfConditions(surroundings, what),
  ];
}

export interface Phase<Load> {
  readonly heard: AudienceHeard;
  /** null: nothing but the talker. */
  readonly load: Load | null;
}

export interface PhasesOptions<Load> {
  readonly audience: AudiencePlayer;
  readonly pairs: number;
  readonly phaseMs: number;
  /** Plays the load of one phase. Resolves when all of it is over. */
  readonly play: (fromMs: number) => Promise<Load>;
}

/** Between what a load leaves behind and the next phase. */
const PAUSE_MS = 300;

/** Phases with nothing but the talker, and with a load beside. */
export function alternate<Load>(options: PhasesOptions<Load>): Promise<readonly Phase<Load>[]> {
  const { audience, pairs, phaseMs, play } = options;
  return inTurns(pairs, async (isWith) => {
    const fromMs = soon();
    const [heard, load] = await Promise.all([
      audience.play({ fromMs, ms: phaseMs }),
      isWith ? play(fromMs) : null,
    ]);
    return { heard, load };
  });
}

/**
 * Plays twice as many phases as pairs, in order without, with, with, without: of what drifts both sides have their half.
 * The phases of a pair are neighbours.
 */
export async function inTurns<Played>(
  pairs: number,
  play: (isWith: boolean) => Promise<Played>,
): Promise<readonly Played[]> {
  const phases: Played[] = [];
  for (let i = 0; i < 2 * pairs; i++) {
    phases.push(await play(i % 4 === 1 || i % 4 === 2));
    await around(nowMs() + PAUSE_MS);
  }
  return phases;
}

/** For `watched`: the talker's process in every phase, and that of a load which sends requests. */
export const generatorsOf = (
  phases: readonly Phase<Busy & { readonly sent: Pick<Generated, 'late'> }>[],
): Generated[] =>
  phases.flatMap(({ heard, load }) => [
    heard,
    ...(load === null ? [] : [{ generatorShare: load.generatorShare, late: load.sent.late }]),
  ]);

/** p99 with the load over p99 without it, pair by pair. */
export function ratiosOf(phases: readonly Phase<unknown>[]): Quartiles {
  const ratios = phases.flatMap(({ heard, load }, i) => {
    const without = phases[i ^ 1];
    return load === null || without === undefined ? [] : [heard.latency.p99Ms / without.heard.latency.p99Ms];
  });
  // On a machine that stalls, a phase may pass without a delivery.
  return quartiles(ratios.filter(Number.isFinite));
}

/** Over all phases of each side. */
export function latenciesOf(phases: readonly Phase<unknown>[]) {
  const of = (isWith: boolean) =>
    mergeLatencies(phases.filter(({ load }) => (load !== null) === isWith).map(({ heard }) => heard.latency));
  return { without: of(false), with: of(true) };
}
