// The chaos runner: episodes of faults under load against the real service, each judged by the invariants.
//
//   make chaos                       a random seed, two minutes
//   make chaos SEED=42 MINUTES=30    the schedules of seed 42, 43, 44, ...
//
// An episode's seed decides its faults, their particulars and their times; the next episode has the next seed, so that
// `SEED=n` with the seed of a broken one plays its schedule first. How load and faults meet is up to the machine: a
// schedule may have to be played several times to break the same thing again.
import { randomInt } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { randomFrom } from '../helpers/random.js';
import { type EpisodeReport, playEpisode } from './episode.js';
import { openLedger } from './ledger.js';
import { startLoad } from './load.js';
import { ADMIN, openScene, restingFootprint } from './scene.js';

const seed = numberFrom('SEED', randomInt(1_000_000_000));
const minutes = numberFrom('MINUTES', 2);
const episodeS = numberFrom('EPISODE_S', 30);

/** Breaches of one kind beyond this many are counted, not shown. */
const SHOWN_MAX = 8;
const LOG_LINES_SHOWN = 25;
/** Mending and judging an episode is bounded by less, unless the runner itself is broken. */
const BEYOND_MS_MAX = 180_000;

console.log(`chaos: SEED=${seed}, ${minutes} min in episodes of ${episodeS} s`);
const scene = await openScene({
  ...ADMIN,
  HOST: '127.0.0.1',
  JWT_SECRET: 'a chaotic secret of more than thirty-two bytes',
  LOG_LEVEL: 'info',
  DRAIN_MS: '1000',
  RELAY_THREADS: process.env.RELAY_THREADS ?? '1',
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void leave(signal));
try {
  process.exitCode = await play();
} finally {
  await scene.close();
}

/** Plays episodes until the time is up or something is broken; the exit code. */
async function play(): Promise<number> {
  const { crew, clerks, files: talkgroups, call, sql, adminToken, spareDevices } = scene;
  const random = randomFrom(seed);
  const ledger = await openLedger({
    call,
    sql,
    random,
    adminToken,
    people: clerks,
    talkgroups,
    spareDevices,
  });
  await warmUp();
  const baseline = await restingFootprint(scene.server, () => true);
  console.log(
    `${crew.length} radios; ${baseline.descriptors} descriptors, ${baseline.residentMiB} MiB before the first`,
  );

  const untilMs = performance.now() + minutes * 60_000;
  for (let episode = seed; performance.now() + episodeS * 1000 <= untilMs || episode === seed; episode++) {
    const late = setTimeout(
      () => void leave(`SEED=${episode} does not end`),
      episodeS * 1000 + BEYOND_MS_MAX,
    );
    const report = await playEpisode(scene, { seed: episode, ms: episodeS * 1000, ledger, baseline });
    clearTimeout(late);
    tell(episode, report);
    if (report.breaches.length > 0) return 1;
  }
  return 0;

  async function warmUp(): Promise<void> {
    const stop = startLoad(scene, { ledger, random });
    await pause(3000);
    await stop();
    await ledger.close();
  }
}

function tell(episode: number, { faults, breaches, figures }: EpisodeReport): void {
  console.log(`\nepisode SEED=${episode}: ${breaches.length === 0 ? 'all invariants held' : 'BROKEN'}`);
  for (const { name, detail, atMs, untilMs } of faults)
    console.log(`  ${seconds(atMs)} to ${seconds(untilMs)}  ${name} (${detail})`);
  console.log(`  ${figures}`);
  if (breaches.length === 0) return;
  for (const invariant of new Set(breaches.map((breach) => breach.invariant))) {
    const own = breaches.filter((breach) => breach.invariant === invariant);
    for (const { what } of own.slice(0, SHOWN_MAX)) console.log(`  ${invariant}: ${what}`);
    if (own.length > SHOWN_MAX) console.log(`  ${invariant}: and ${own.length - SHOWN_MAX} more`);
  }
  console.log(`  the service's last words:`);
  for (const line of scene.server.lastLines(LOG_LINES_SHOWN)) console.log(`    ${line}`);
  console.log(`  again: make chaos SEED=${episode} EPISODE_S=${episodeS}`);
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

/** Broken off: leaves nothing behind, not even the service. */
async function leave(why: string): Promise<never> {
  console.log(`chaos: broken off, ${why}`);
  await scene.close();
  process.exit(1);
}

/** A number from the environment; anything else ends the run before it begins. */
function numberFrom(name: string, preset: number): number {
  const text = process.env[name] ?? '';
  if (text === '') return preset;
  const value = Number(text);
  if (value > 0 && Number.isFinite(value)) return value;
  throw new Error(`${name} is a number above 0, not ${JSON.stringify(text)}`);
}
