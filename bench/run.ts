// `make bench`: runs scenarios, prints them and keeps each in a folder of results. `run.js [SCENARIO]`, or SCENARIO=... and QUICK=1,
// for `builds` AGAINST=FOLDER. REFERENCE=1 keeps it as a reference.
import { execFileSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { doubtsOf, linesOfDoubts, withDoubts } from './figures/doubts.js';
import { linesOfFaults, linesOfGoals } from './figures/judge.js';
import { choosePins, describeMachine, type Pins } from './machine/processes.js';
import { showProgress } from './progress.js';
import { RESULTS, writePage } from './report/page.js';
import { createBench, type Scenario } from './scenario.js';
import { builds } from './scenarios/builds.js';
import { bundles } from './scenarios/bundles.js';
import { recording } from './scenarios/database/recording.js';
import { silentDatabase } from './scenarios/database/silent-database.js';
import { encryption } from './scenarios/encryption/encryption.js';
import { flood } from './scenarios/flood.js';
import { floorAccess } from './scenarios/floor-access.js';
import { garbage } from './scenarios/garbage.js';
import { gpsTide } from './scenarios/gps-tide.js';
import { idleMemory } from './scenarios/idle-memory.js';
import { lagPings } from './scenarios/lag-pings.js';
import { lateEntry } from './scenarios/late-entry.js';
import { loginStorm } from './scenarios/login-storm.js';
import { manyGroups } from './scenarios/many-groups.js';
import { monitor } from './scenarios/monitor.js';
import { oneTalker1000, oneTalker5000 } from './scenarios/one-talker.js';
import { overload } from './scenarios/overload/overload.js';
import { positions } from './scenarios/positions.js';
import { reconnectStorm } from './scenarios/reconnect-storm.js';
import { cluster } from './scenarios/relays/cluster.js';
import { clusterFaults } from './scenarios/relays/cluster-faults.js';
import { threads } from './scenarios/relays/threads.js';
import { restNeighbour } from './scenarios/rest-neighbour.js';
import { restRead } from './scenarios/rest-read.js';
import { restUnderAudio } from './scenarios/rest-under-audio.js';
import { restWrite } from './scenarios/rest-write.js';
import { slowListeners } from './scenarios/slow-listeners.js';
import { soak } from './scenarios/soak.js';
import { whereTimeGoes } from './scenarios/where-time-goes.js';
import { PEERS } from './servers/peers.js';

interface Entry {
  readonly play: Scenario;
  /** Roughly. A run that takes three times as long and a minute more hangs, and ends by itself. */
  readonly takesS: number;
  /** Has no quick form that says anything: left out where all are played. */
  readonly isLong?: boolean;
}

const CANONICAL = 'one-talker-1000';
const SCENARIOS: Readonly<Record<string, Entry>> = {
  [CANONICAL]: { play: oneTalker1000, takesS: 160 },
  'one-talker-5000': { play: oneTalker5000, takesS: 110 },
  'many-groups': { play: manyGroups, takesS: 430 },
  overload: { play: overload, takesS: 500 },
  /** Needs AGAINST: left out where all are played. */
  builds: { play: builds, takesS: 240, isLong: true },
  'lag-pings': { play: lagPings, takesS: 480 },
  'floor-access': { play: floorAccess, takesS: 65 },
  'late-entry': { play: lateEntry, takesS: 50 },
  encryption: { play: encryption, takesS: 130 },
  'slow-listeners': { play: slowListeners, takesS: 220 },
  flood: { play: flood, takesS: 165 },
  'rest-under-audio': { play: restUnderAudio, takesS: 115 },
  'rest-neighbour': { play: restNeighbour, takesS: 60 },
  'login-storm': { play: loginStorm, takesS: 40 },
  'silent-database': { play: silentDatabase, takesS: 140 },
  recording: { play: recording, takesS: 430, isLong: true },
  'gps-tide': { play: gpsTide, takesS: 70 },
  positions: { play: positions, takesS: 330 },
  'rest-read': { play: restRead, takesS: 45 },
  'rest-write': { play: restWrite, takesS: 40 },
  monitor: { play: monitor, takesS: 60 },
  bundles: { play: bundles, takesS: 60 },
  threads: { play: threads, takesS: 370 },
  /** These need nats-server: left out where all are played. */
  cluster: { play: cluster, takesS: 180, isLong: true },
  'cluster-faults': { play: clusterFaults, takesS: 220, isLong: true },
  garbage: { play: garbage, takesS: 85 },
  'where-time-goes': { play: whereTimeGoes, takesS: 60 },
  'reconnect-storm': { play: reconnectStorm, takesS: 60, isLong: true },
  'idle-memory': { play: idleMemory, takesS: 150 },
  soak: { play: soak, takesS: 1_820, isLong: true },
};
const QUICK_S = 15;
/** Not kept in the repository, and not over the reference, which other machines and days would otherwise replace. */
const OWN_RESULTS = `${RESULTS}/own`;
/** Not kept either: a quick run must not pass for a result. */
const QUICK_RESULTS = `${RESULTS}/quick`;

process.exitCode = await main();

/** 0: measured, whatever the figures say. 1: something could not be, or is not the reference that was wanted. */
async function main(): Promise<number> {
  const isQuick = process.env.QUICK === '1';
  const named = process.argv[2] ?? process.env.SCENARIO ?? '';
  const names = named !== '' ? [named] : isQuick ? quickNames() : [CANONICAL];
  const interrupt = onInterrupt();
  const tookS = stopwatch();
  let played = 0;
  let failures = 0;
  for (const name of names) {
    if (interrupt.aborted) break;
    played++;
    if (!(await run(name, isQuick, interrupt))) failures++;
  }
  if (played > 1) console.log(`${played} scenarios, ${failures} not measured: ${tookS()} s`);
  return failures > 0 || interrupt.aborted ? 1 : 0;
}

function quickNames(): string[] {
  return Object.keys(SCENARIOS).filter((name) => SCENARIOS[name]?.isLong !== true);
}

/** true: measured. */
async function run(name: string, isQuick: boolean, interrupt: AbortSignal): Promise<boolean> {
  const scenario = Object.hasOwn(SCENARIOS, name) ? SCENARIOS[name] : undefined;
  if (scenario === undefined || process.platform !== 'linux') {
    console.error(
      scenario ? 'the bench reads /proc: Linux only' : `scenarios: ${Object.keys(SCENARIOS).join(', ')}`,
    );
    return false;
  }
  const isReference = process.env.REFERENCE === '1';
  if (isReference && (isQuick || readCommit()?.srcChanged !== false || isBenchChanged())) {
    console.error(
      'a reference is a full run of what is committed: commit src and bench first, and leave out QUICK',
    );
    return false;
  }
  const takesS = isQuick && scenario.isLong !== true ? QUICK_S : scenario.takesS;
  const signal = AbortSignal.any([interrupt, timeLimit(takesS)]);
  const cores = choosePins(process.env);
  const against = (process.env.AGAINST ?? '').split(',').filter((folder) => folder !== '');
  const startedAt = new Date().toISOString();
  console.log(`${name}${isQuick ? ', quick' : ''}: about ${takesS} s`);
  const tookS = stopwatch();
  const progress = showProgress(name, takesS, process.stdout);
  try {
    const { tell, note } = progress;
    const played = await scenario.play(
      createBench({ cores, isQuick, against, signal, progress: tell, note }),
    );
    progress.end();
    const { lines, limits, details, noise = [], ...said } = played;
    const doubts = doubtsOf(noise);
    const goals = withDoubts(said.goals, doubts);
    const isKept = !isReference || said.faults.length + doubts.length === 0;
    const folder = isQuick ? QUICK_RESULTS : isReference && isKept ? RESULTS : OWN_RESULTS;
    const files = await keep(name, folder, {
      scenario: name,
      startedAt,
      commit: readCommit(),
      machine: describeMachine(),
      versions: readVersions(),
      cores,
      isQuick,
      ...said,
      ...{ goals, doubts, noise },
      ...details,
    });
    const all = [
      ...linesOfFaults(said.faults),
      ...linesOfDoubts(doubts),
      ...linesOfGoals(goals),
      '',
      ...lines,
      `limits raised: none${limits === undefined ? '' : `; ${limits}`}`,
      lineOfCores(cores),
      `${tookS()} s; written to ${files}`,
      ...(isKept ? [] : ['NOT the reference: a run with faults or doubts is none']),
    ];
    console.log(`\n${all.join('\n')}\n`);
    return isKept;
  } catch (error) {
    progress.end();
    console.error(
      `not measured: ${signal.aborted ? signal.reason : error instanceof Error ? error.message : error}`,
    );
    return false;
  }
}

/** Aborted by a signal. Each further Ctrl-C is ignored, for all that is left to do is bounded. */
function onInterrupt(): AbortSignal {
  const end = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => end.abort(signal));
  return end.signal;
}

function timeLimit(takesS: number): AbortSignal {
  const end = new AbortController();
  setTimeout(() => end.abort('it took too long'), (3 * takesS + 60) * 1000).unref();
  return end.signal;
}

/** What it returns tells the seconds since. */
function stopwatch(): () => string {
  const startedMs = performance.now();
  return () => ((performance.now() - startedMs) / 1000).toFixed(0);
}

function lineOfCores({ server, generator }: Pins): string {
  return `cores: server ${server ?? 'not pinned'}, generator ${generator ?? 'not pinned'}`;
}

async function keep(name: string, folder: string, result: object): Promise<string> {
  await mkdir(folder, { recursive: true });
  const file = `${folder}/${name}.json`;
  await writeFile(file, `${JSON.stringify(result, null, 2)}\n`);
  return `${file}, shown in ${await writePage(folder)}`;
}

/** What was measured, as far as git knows: null outside a repository. */
function readCommit(): { readonly hash: string; readonly srcChanged: boolean } | null {
  try {
    return { hash: git('rev-parse', 'HEAD'), srcChanged: isChanged('src') };
  } catch {
    // Expected: no git, or no repository.
    return null;
  }
}

/** Whether goals or loads differ from the commit. Results do not count. */
function isBenchChanged(): boolean {
  return isChanged('bench', ':!bench/results', 'package-lock.json');
}

function isChanged(...paths: string[]): boolean {
  return git('status', '--porcelain', ...paths) !== '';
}

/** What git prints. Throws without git, and outside of a repository. */
function git(...args: string[]): string {
  return execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
}

/** Of what servers are made of. null: not installed. */
function readVersions() {
  return {
    node: process.version,
    'uWebSockets.js': PEERS.bare.version(),
    ws: PEERS.ws.version(),
    '@fastify/websocket': PEERS['fastify-websocket'].version(),
    'socket.io': PEERS['socket.io'].version(),
    mosquitto: PEERS.mosquitto.version(),
    'nats-server': PEERS.nats.version(),
  };
}
