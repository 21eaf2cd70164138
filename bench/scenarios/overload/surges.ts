// A relay with its default settings, at half of what the engine sends in time and at three times it, in turns: is a frame
// lost, is LAG right, and do first frames and emergencies come through?
import { setTimeout } from 'node:timers/promises';
import type { CallsPiece, CallsPlayed, CallsSetup } from '../../generator/loads/surges/calls.js';
import type { Passage } from '../../generator/loads/surges/passages.js';
import type { SurgesPiece, SurgesPlayed, SurgesSetup } from '../../generator/loads/surges/surges.js';
import type { Player } from '../../generator/player.js';
import type { Member } from '../../radios/member.js';
import type { Bench } from '../../scenario.js';
import { readMetrics } from '../../servers/metrics.js';
import type { Relay } from '../../servers/relay.js';
import { enlist } from '../../servers/users.js';
import type { Plan } from './report.js';

interface Phase extends Pick<Passage, 'name' | 'stallMs'> {
  readonly load: number;
  readonly seconds: number;
}

export interface SurgesPlan {
  readonly cycles: number;
  /** Of one cycle, in order: so many times load 1 for so many seconds. */
  readonly cycle: readonly Phase[];
  /** The load beside calls, in multiples of load 1. */
  readonly callsLoad: number;
  /** Of calls alone, and of calls beside that load. */
  readonly callsMs: number;
}

/** 10 s, and below the load the relay goes back by a step after 5 s. A stall is longer than BACKLOG_MS, so LAG has to follow. */
const CYCLE: readonly Phase[] = [
  { name: 'calm', load: 0.5, seconds: 5 },
  { name: 'rise', load: 3, seconds: 1 },
  { name: 'surge', load: 3, seconds: 3, stallMs: 2_500 },
  { name: 'fall', load: 0.5, seconds: 1 },
];
export const SURGES: SurgesPlan = { cycles: 10, cycle: CYCLE, callsLoad: 2.5, callsMs: 20_000 };
export const SURGES_QUICK: SurgesPlan = { ...SURGES, cycles: 2, callsMs: 4_000 };

/** Seconds in which audio was held, by window (ms). */
type HeldSeconds = Readonly<Record<number, number>>;

export interface SurgesTold {
  readonly plan: SurgesPlan;
  /** Talkgroups of load 1, and of the largest load. */
  readonly talkers: number;
  readonly talkersMost: number;
  readonly perTalker: number;
  readonly surges: SurgesPlayed;
  readonly heldSeconds: HeldSeconds;
  readonly calls: { readonly alone: CallsPlayed; readonly loaded: CallsPlayed };
  /** The load beside the calls. */
  readonly beside: SurgesPlayed;
  /** The window at the end of it (ms). */
  readonly windowMs: number;
}

const SETTINGS = { LOG_LEVEL: 'warn' };
const PRESS = { talkgroups: 20, members: 8 };
const CALL = { talkgroups: 4, members: 10 };
/** The load begins before the calls, and ends after them. */
const BEFORE_MS = 3_000;
const BEHIND_MS = 1_000;

type Surges = Player<SurgesPiece, SurgesPlayed, null>;
type Calls = Player<CallsPiece, CallsPlayed, null>;

/** `talkers`: talkgroups of load 1. */
export function playSurges(
  bench: Bench,
  { members, audience, talkgroups }: Plan,
  plan: SurgesPlan,
  talkers: number,
): Promise<SurgesTold> {
  const perTalker = (members - 1) * audience.framesPerSecond;
  const talkersMost = Math.min(talkgroups, Math.ceil(talkers * most(plan)));
  return bench.withRelay(SETTINGS, async (relay) => {
    const fleet = await enlistAll(relay, talkersMost, members);
    const { url, dialect, pid } = relay;
    bench.progress(`surges: ${fleet.surging.length} radios connect`);
    return bench.withPlayer<SurgesSetup, SurgesPiece, SurgesPlayed, null, SurgesTold>(
      new URL('../../generator/loads/surges/surges.js', import.meta.url),
      { server: { url, dialect, pid }, users: fleet.surging, members, audience },
      (surges) =>
        bench.withPlayer<CallsSetup, CallsPiece, CallsPlayed, null, SurgesTold>(
          new URL('../../generator/loads/surges/calls.js', import.meta.url),
          {
            ...{ server: { url, dialect }, payloadBytes: audience.payloadBytes },
            ...{ pressing: fleet.pressing, pressMembers: PRESS.members },
            ...{ calling: fleet.calling, callMembers: CALL.members },
          },
          async (calls) => ({
            ...{ plan, talkers, talkersMost, perTalker },
            ...(await play({ bench, relay, plan, surges, calls, talkers, talkersMost })),
          }),
        ),
    );
  });
}

const most = ({ cycle, callsLoad }: SurgesPlan) => Math.max(callsLoad, ...cycle.map(({ load }) => load));

interface Cast {
  readonly bench: Bench;
  readonly relay: Relay;
  readonly plan: SurgesPlan;
  readonly surges: Surges;
  readonly calls: Calls;
  readonly talkers: number;
  readonly talkersMost: number;
}

async function play({ bench, relay, plan, surges, calls, talkers, talkersMost }: Cast) {
  const loaded = (load: number) => Math.min(talkersMost, Math.max(1, Math.round(load * talkers)));
  const passage = ({ load, seconds, ...rest }: Phase): Passage => ({
    ...{ ...rest, talkers: loaded(load), frames: Math.round(seconds * FRAMES_PER_SECOND) },
  });
  const { cycles, cycle, callsLoad, callsMs } = plan;
  await calmed(bench, relay);
  bench.progress('calls alone');
  const alone = await calls.play({ ms: callsMs });
  const before = await heldSecondsOf(relay);
  bench.progress(`${cycles} surges`);
  const once = cycle.map(passage);
  const passages = Array.from({ length: cycles }, () => once).flat();
  const surged = await surges.play({ passages, isBehind: false });
  const after = await heldSecondsOf(relay);
  bench.progress('calls under load');
  const seconds = (BEFORE_MS + callsMs + BEHIND_MS) / 1000;
  const [beside, [under, windowMs]] = await Promise.all([
    surges.play({ passages: [passage({ name: 'load', load: callsLoad, seconds })], isBehind: true }),
    setTimeout(BEFORE_MS, undefined, { signal: bench.signal }).then(async () => {
      const played = await calls.play({ ms: callsMs });
      return [played, await windowOf(relay)] as const;
    }),
  ]);
  const heldSeconds = Object.fromEntries(
    Object.entries(after).map(([ms, s]) => [ms, s - (before[Number(ms)] ?? 0)]),
  );
  return { surges: surged, heldSeconds, calls: { alone, loaded: under }, beside, windowMs };
}

const FRAMES_PER_SECOND = 50;

interface Fleet {
  readonly surging: readonly Member[];
  readonly pressing: readonly Member[];
  readonly calling: readonly Member[];
}

/** One talkgroup after the other: those of the load, those with a single floor, those with an emergency. */
async function enlistAll(relay: Relay, talkgroups: number, members: number): Promise<Fleet> {
  const kinds = [
    { talkgroups, members, mode: 'open' as const },
    { ...PRESS, mode: 'single' as const },
    { ...CALL, mode: 'open' as const },
  ];
  const places = kinds.flatMap(({ talkgroups, members, mode }) =>
    Array.from({ length: talkgroups }, () => ({ members, mode })),
  );
  const talkgroupOf = places.flatMap(({ members }, index) => Array.from({ length: members }, () => index));
  const users = await enlist(relay, {
    users: talkgroupOf.length,
    talkgroups: places.map(({ mode }) => mode),
    memberOf: (user) => [talkgroupOf[user] ?? 0],
  });
  const [surging, pressing] = [talkgroups * members, PRESS.talkgroups * PRESS.members];
  return {
    surging: users.slice(0, surging),
    pressing: users.slice(surging, surging + pressing),
    calling: users.slice(surging + pressing),
  };
}

const WINDOW = 'talkgroup_relay_load_window_seconds';
/** By window (ms). Those of the default setting. */
const HELD = {
  40: 'talkgroup_relay_load_seconds_total{window="0.04"}',
  60: 'talkgroup_relay_load_seconds_total{window="0.06"}',
} as const;

async function heldSecondsOf({ metricsUrl }: Relay): Promise<HeldSeconds> {
  const seconds = await readMetrics(metricsUrl, Object.values(HELD));
  return Object.fromEntries(Object.entries(HELD).map(([ms, name]) => [ms, seconds[name]]));
}

const windowOf = async ({ metricsUrl }: Relay): Promise<number> =>
  Math.round(1000 * (await readMetrics(metricsUrl, [WINDOW]))[WINDOW]);

/** Handshakes are a load, too. */
const CALMED_MS_MAX = 20_000;
const LOOK_MS = 250;

async function calmed({ signal }: Bench, relay: Relay): Promise<void> {
  for (let ms = 0; ms < CALMED_MS_MAX && (await windowOf(relay)) > 0; ms += LOOK_MS)
    await setTimeout(LOOK_MS, undefined, { signal });
}
