// The chaos runner: episodes of faults under load against the real service, each judged by the invariants.
//
//   make chaos                       a random seed, two minutes
//   make chaos SEED=42 MINUTES=30    the schedules of seed 42, 43, 44, ...
//   make chaos NODES=3               three nodes over NATS, in episodes of 10 s with two faults each
//   make chaos NODES=3 OLD_BUILD=…   one of them runs the build in that folder, in each episode another one
//
// An episode's seed decides its faults, their particulars and their times. The next episode has the next seed, so that
// `SEED=n` with the seed of a broken one plays its schedule first. How load and faults meet is up to the machine: a
// schedule may have to be played several times to break the same thing again.
import { randomInt } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EpisodeReport, Run } from './episode.js';
import { openThreeNodes } from './nodes/three-nodes.js';
import { openOneNode } from './one-node.js';
import { ADMIN } from './staff.js';

const seed = numberFrom('SEED', randomInt(1_000_000_000));
const minutes = numberFrom('MINUTES', 2);
const nodes = numberFrom('NODES', 1);
const episodeS = numberFrom('EPISODE_S', nodes === 1 ? 30 : 10);
if (nodes !== 1 && nodes !== 3) throw new Error(`NODES is 1 or 3, not ${nodes}`);
const oldBuild = process.env.OLD_BUILD ?? '';
if (oldBuild !== '' && nodes !== 3) throw new Error('OLD_BUILD needs NODES=3');

/** Breaches of one kind beyond this many are counted, not shown. */
const SHOWN_MAX = 8;
const LOG_LINES_SHOWN = 25;
/** Mending and judging an episode is bounded by less, unless the runner itself is broken. */
const BEYOND_MS_MAX = 180_000;

console.log(`chaos: SEED=${seed}, ${minutes} min in episodes of ${episodeS} s, nodes: ${nodes}`);
const settings = {
  ...ADMIN,
  HOST: '127.0.0.1',
  JWT_SECRET: 'a chaotic secret of more than thirty-two bytes',
  LOG_LEVEL: 'info',
  DRAIN_MS: '1000',
  RELAY_THREADS: process.env.RELAY_THREADS ?? '1',
};
const run: Run = await (nodes === 1
  ? openOneNode(settings, seed)
  : openThreeNodes(settings, { seed, oldBuild }));
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void leave(signal));
try {
  process.exitCode = await play();
} finally {
  await run.close();
}

/** Plays episodes until the time is up or something is broken. The exit code. */
async function play(): Promise<number> {
  console.log(await run.prepare());
  const untilMs = performance.now() + minutes * 60_000;
  for (let episode = seed; performance.now() + episodeS * 1000 <= untilMs || episode === seed; episode++) {
    const late = setTimeout(
      () => void leave(`SEED=${episode} does not end`),
      episodeS * 1000 + BEYOND_MS_MAX,
    );
    const report = await run.play(episode, episodeS * 1000);
    clearTimeout(late);
    tell(episode, report);
    if (report.breaches.length > 0) return 1;
  }
  return 0;
}

function tell(episode: number, report: EpisodeReport): void {
  const { faults, breaches, figures } = report;
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
  for (const line of run.lastLines(LOG_LINES_SHOWN)) console.log(`    ${line}`);
  console.log(`  what each radio heard: ${writeRecord(episode, report)}`);
  const ofBuild = oldBuild === '' ? '' : ` OLD_BUILD=${oldBuild}`;
  const ofNodes = nodes === 1 ? '' : ` NODES=${nodes}${ofBuild}`;
  const threads = settings.RELAY_THREADS === '1' ? '' : `RELAY_THREADS=${settings.RELAY_THREADS} `;
  console.log(`  again: ${threads}make chaos SEED=${episode} EPISODE_S=${episodeS}${ofNodes}`);
}

/** A line of JSON for each message that a radio got, frames as well, and for each fault. The file's name. */
function writeRecord(episode: number, { fromMs, histories, broken }: EpisodeReport): string {
  const file = join(tmpdir(), `chaos-${episode}-${process.pid}.jsonl`);
  const at = (ms: number) => Math.round(ms - fromMs);
  const faults = broken.map(({ name, fromMs, untilMs }) => ({ ms: at(fromMs), until: at(untilMs), name }));
  const heard = histories.flatMap(({ lines }) =>
    lines.flatMap(({ radio, session, arrivals }) =>
      arrivals.map(({ heardAtMs, ...what }) => ({ ms: at(heardAtMs), radio, session, ...what })),
    ),
  );
  const all = [...faults, ...heard].sort((one, other) => one.ms - other.ms);
  writeFileSync(file, `${all.map((one) => JSON.stringify(one)).join('\n')}\n`);
  return file;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

/** Broken off: leaves nothing behind, not even the service. */
async function leave(why: string): Promise<never> {
  console.log(`chaos: broken off, ${why}`);
  await run.close();
  process.exit(1);
}

/** A number from the environment. Anything else ends the run before it begins. */
function numberFrom(name: string, preset: number): number {
  const text = process.env[name] ?? '';
  if (text === '') return preset;
  const value = Number(text);
  if (value > 0 && Number.isFinite(value)) return value;
  throw new Error(`${name} is a number above 0, not ${JSON.stringify(text)}`);
}
