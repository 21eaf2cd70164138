// Ten thousand radios lose their connection at once and come back, while others talk on. The load: talkgroups of 50 with
// a frame each second in each, and one talkgroup of 100 listeners with 50 frames/s that is not cut. Constant are who
// talks and the client library's waits. The numbers: until the last one hears again, and p99 of those who stayed.
import { setTimeout } from 'node:timers/promises';
import { AUDIENCE, type AudiencePlayer, targetOf, watch, withAudience } from '../experiments/beside.js';
import type { CallersEnded, CallersSetup } from '../generator/loads/callers.js';
import type { StormPiece, StormPlayed, StormSetup } from '../generator/loads/storm.js';
import { type Player, soon } from '../generator/player.js';
import { around } from '../machine/clock.js';
import type { Member } from '../radios/member.js';
import type { Bench, Report } from '../scenario.js';
import { COUNTED_MS, countTransactions } from '../servers/database.js';
import type { Relay } from '../servers/relay.js';
import { enlist } from '../servers/users.js';
import { LISTENERS, MEMBERS, type Plan, type Played, report, SETTINGS } from './reconnect-storm-report.js';

const PLAN: Plan = { radios: 10_000, calmMs: COUNTED_MS, windowsMs: [5_000, 17_000] };
/** A rehearsal. */
const QUICK: Plan = { radios: 500, calmMs: 1_000, windowsMs: [2_000, 2_000] };
/** Each is a process, so that one can set out while another reads. */
const GENERATORS = 2;
/** Callers talk in the talkgroups of the others, as dispatchers do. Eight at once are allowed. */
const TALKGROUPS_PER_CALLER = 8;
const ARRIVALS_PER_SECOND = 2_000;

interface Fleet {
  readonly radios: readonly Member[];
  /** Who talk in the talkgroups of the radios. */
  readonly callers: readonly Member[];
}

export async function reconnectStorm(bench: Bench): Promise<Report> {
  const plan = bench.isQuick ? QUICK : PLAN;
  const played = await bench.withRelay(SETTINGS, async (relay) => {
    const fleet = await enlistFleet(relay, plan);
    return withPlayers(bench, relay, fleet, (players) => play(bench, plan, relay, players));
  });
  return report(plan, played);
}

async function enlistFleet(relay: Relay, { radios }: Plan): Promise<Fleet> {
  const groups = Math.ceil(radios / MEMBERS);
  const callers = Math.ceil(groups / TALKGROUPS_PER_CALLER);
  const users = await enlist(relay, {
    users: radios + callers,
    talkgroups: Array.from({ length: groups }, () => 'open' as const),
    memberOf(user) {
      if (user < radios) return [Math.floor(user / MEMBERS)];
      const first = (user - radios) * TALKGROUPS_PER_CALLER;
      return Array.from({ length: Math.min(TALKGROUPS_PER_CALLER, groups - first) }, (_, i) => first + i);
    },
  });
  return { radios: users.slice(0, radios), callers: users.slice(radios) };
}

interface Players {
  readonly audience: AudiencePlayer;
  readonly callers: Player<never, never, CallersEnded>;
  readonly storms: readonly Storm[];
}

type Storm = Player<StormPiece, StormPlayed, null>;

/** Calls `use` when all have joined. */
function withPlayers<T>(
  bench: Bench,
  relay: Relay,
  { radios, callers }: Fleet,
  use: (players: Players) => Promise<T>,
): Promise<T> {
  const server = targetOf(relay);
  const each = Math.ceil(radios.length / GENERATORS);

  /** Those from `firstIndex` on, beside others. */
  function withStorms(
    firstIndex: number,
    others: readonly Storm[],
    then: (storms: readonly Storm[]) => Promise<T>,
  ): Promise<T> {
    const users = radios.slice(firstIndex, firstIndex + each);
    if (users.length === 0) return then(others);
    bench.progress(`${users.length} radios join`);
    return bench.withPlayer<StormSetup, StormPiece, StormPlayed, null, T>(
      new URL('../generator/loads/storm.js', import.meta.url),
      { server, users, firstIndex, arrivalsPerSecond: ARRIVALS_PER_SECOND },
      (storm) => withStorms(firstIndex + each, [...others, storm], then),
    );
  }

  return withAudience(bench, { relay, listeners: LISTENERS }, (audience) =>
    bench.withPlayer<CallersSetup, never, never, CallersEnded, T>(
      new URL('../generator/loads/callers.js', import.meta.url),
      { server, callers, payloadBytes: AUDIENCE.payloadBytes },
      (callers) => withStorms(0, [], (storms) => use({ audience, callers, storms })),
    ),
  );
}

async function play(
  { signal, isQuick, progress }: Bench,
  { calmMs, windowsMs }: Plan,
  relay: Relay,
  { audience, callers, storms }: Players,
): Promise<Played> {
  const [firstMs, secondMs] = windowsMs;
  progress('calm');
  const calm = await audience.play({ fromMs: soon(), ms: calmMs });
  const before = isQuick ? null : await countTransactions(relay);
  progress('all are cut');
  const cutAtMs = soon();
  const endAtMs = cutAtMs + firstMs + secondMs;
  const watched = watch(relay);
  const listen = async () => {
    const first = await audience.play({ fromMs: cutAtMs, ms: firstMs });
    const fromMs = soon();
    return [first, await audience.play({ fromMs, ms: endAtMs - fromMs })];
  };
  const [windows, played] = await Promise.all([
    listen(),
    Promise.all(storms.map((storm) => storm.play({ cutAtMs, ms: firstMs + secondMs }))),
  ]);
  await around(endAtMs);
  const surroundings = watched(played);
  const [delivered, calls] = [await audience.end(), await callers.end()];
  if (before !== null) await setTimeout(COUNTED_MS, undefined, { signal });
  const transactions = before === null ? null : (await countTransactions(relay)) - before;
  return { storms: played, calm, windows, delivered, calls, surroundings, transactions };
}
