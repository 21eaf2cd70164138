// Writes the figures of docs/performance.md from the result files: `node dist/bench/report/performance.js` (`make docs`).
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Goal } from '../figures/result.js';
import { figure, spreadOf, withUnit } from '../figures/wording.js';
import { type Answer, RELAY_ANSWERS } from './relay-answers.js';
import { type Result, type Results, readResults } from './results.js';
import { tableOf } from './table.js';

export const PAGE = 'docs/performance.md';
export const RESULTS = 'bench/results';

/** The result files as the page links to them. */
const LINK_BASE = '../bench/results/';

/** One talker's frames of 20 ms. */
const FRAMES_PER_SECOND = 50;
/** A frame on the network: 60 bytes of Opus, 16 of frame header, 2 of WebSocket, 52 of TCP/IP. */
const FRAME_BITS = 8 * (60 + 16 + 2 + 52);
/** The share of a core's capacity to plan with. The rest is for reconnects, uneven talkgroups and slower machines. */
const PLANNED_SHARE = 0.6;
/** CPU per delivery over TLS, relative to plain text. Measured with the bare engine and by no scenario. */
const TLS_FACTOR = 1.3;
/** Connected members of a talkgroup in the examples. */
const MEMBERS = 50;
const KIB = 2 ** 10;
const GIB = 2 ** 30;

const FLEETS: readonly { readonly radios: number; readonly talkingShare: number }[] = [
  { radios: 1000, talkingShare: 0.02 },
  { radios: 5000, talkingShare: 0.005 },
  { radios: 5000, talkingShare: 0.02 },
  { radios: 20_000, talkingShare: 0.005 },
  { radios: 20_000, talkingShare: 0.02 },
];

const CAPACITY = ['many-groups', 'capacity, relay'] as const;
const BUNDLED = ['bundles', 'CPU per delivered frame, bundles of 60 ms / live'] as const;
const MEMORY = ['idle-memory', 'server memory per idle radio, 10000 radios'] as const;

/** What a reader asks, and the goal that answers it. */
const ANSWERS: readonly Answer[] = [
  ['deliveries per second on one core, p99 within 20 ms', ...CAPACITY],
  ['one talker, 1,000 listeners: p99', 'one-talker-1000', 'p99 relay latency'],
  ['one talker, 1,000 listeners: CPU per delivery', 'one-talker-1000', 'CPU per delivery'],
  ['floor request to grant, 1,000 talkgroups: p99', 'floor-access', 'access time p99, 1,000 talkgroups'],
  ['connect to first audio: p99', 'late-entry', 'connecting: first frame p99, 1,000 talkgroups'],
  ['10,000 radios reconnect: the last hears after', 'reconnect-storm', 'last of 10000 radios hears again'],
  ['meanwhile, radios that stay: p99', 'reconnect-storm', 'p99 of those who stayed, during the storm'],
  ['CPU of a handshake, less the signature', 'idle-memory', 'CPU per handshake beyond the signature check'],
  ['server memory of an idle radio', ...MEMORY],
  ['positions stored per second, in time', 'gps-tide', 'positions per second acknowledged in time'],
  ['REST reads per second, p99 within 50 ms', 'rest-read', 'REST reads per second with p99 at most 50 ms'],
  ['REST writes per second, p99 within 50 ms', 'rest-write', 'REST writes per second with p99 at most 50 ms'],
  ['logins per second', 'login-storm', 'logins per second in a storm'],
  ['CPU per frame, 60 ms bundles over live', ...BUNDLED],
  ['CPU per frame, 10 ms windows over live', 'monitor', 'CPU per delivered frame, coalesced, 10 ms / live'],
];

/** Parts of the page by the name in their markers. */
const PARTS: Readonly<Record<string, (results: Results) => string[]>> = {
  conditions: ({ results }) => conditionsOf(results),
  answers: (results) => answersOf(results, ANSWERS),
  relays: (results) => answersOf(results, RELAY_ANSWERS),
  'one-core': oneCoreOf,
  fleets: fleetsOf,
  'other-servers': otherServersOf,
  'all-results': (results) => tableOf(results, LINK_BASE),
};

/** The page with each part between `<!-- results: NAME -->` and `<!-- end -->` drawn anew. Throws for an unknown name. */
export function withFigures(page: string, results: Results): string {
  return page.replace(/(<!-- results: (\S+) -->\n).*?(<!-- end -->)/gs, (_all, from, name, to) => {
    const part = PARTS[name];
    if (part === undefined) throw new RangeError(`${PAGE}: no results are called ${name}`);
    return `${from}\n${part(results).join('\n')}\n\n${to}`;
  });
}

function conditionsOf(results: readonly Result[]): string[] {
  const measured = results.filter(({ isQuick }) => !isQuick);
  const days = measured.map(({ startedAt }) => startedAt.slice(0, 10)).sort();
  const [first = 'unknown', last = first] = [days[0], days.at(-1)];
  const machines = new Set(measured.map(machineOf));
  return [
    `Measured ${first === last ? `on ${first}` : `from ${first} to ${last}`}.`,
    ...[...machines].sort().map((machine) => `- ${machine}: ${scenariosOn(machine, measured)}`),
  ].flatMap((line, i) => (i === 1 ? ['', line] : [line]));
}

function machineOf({ rest }: Result): string {
  const { cpu, cores, node } = (rest.machine ?? {}) as Record<string, unknown>; // as run.ts writes it
  return `${cores} cores of ${cpu}, Node ${String(node).replace(/^v/, '')}`;
}

function scenariosOn(machine: string, results: readonly Result[]): string {
  const [names = '', others = ''] = [true, false].map((isHere) =>
    results
      .filter((result) => (machineOf(result) === machine) === isHere)
      .map(({ scenario }) => scenario)
      .join(', '),
  );
  if (others === '') return 'all scenarios';
  return names.length > others.length ? `all scenarios but ${others}` : names;
}

function answersOf(results: Results, answers: typeof ANSWERS): string[] {
  const rows = answers.map(([question, scenario, name]) => {
    const goal = goalOf(results, [scenario, name]);
    return `| ${question} | ${goal === null ? NOT_MEASURED : said(goal)} | ${sourceOf(results, scenario)} |`;
  });
  return ['| question | measured, quartiles | scenario |', '|---|---|---|', ...rows];
}

const NOT_MEASURED = 'no valid run';
/** A link to the file, where there is one. */
const sourceOf = ({ results }: Results, scenario: string) =>
  results.some((one) => one.scenario === scenario) ? `[${scenario}](${LINK_BASE}${scenario}.json)` : scenario;
const said = (goal: Goal) => [withUnit(goal.value, goal.unit), spreadOf(goal)].filter(Boolean).join(', ');

/** The goal of that scenario. null when there is none, or its run was quick or had faults. */
function goalOf({ results }: Results, [scenario, name]: readonly [string, string]): Goal | null {
  const result = results.find((one) => one.scenario === scenario && !one.isQuick);
  if (result === undefined || result.faults.length > 0) return null;
  const goal = result.goals.find((one) => one.name === name);
  return goal === undefined || !Number.isFinite(goal.value) ? null : goal;
}

/** Listener streams of one core, for each way to send the audio. null without a valid run. */
function waysOf(results: Results): readonly Way[] | null {
  const capacity = goalOf(results, CAPACITY);
  const bundled = goalOf(results, BUNDLED);
  if (capacity === null || bundled === null) return null;
  const streams = capacity.value / FRAMES_PER_SECOND;
  const way = (name: string, cost: number) => ({
    name,
    most: twoDigits(streams / cost),
    planned: twoDigits((PLANNED_SHARE * streams) / cost),
  });
  return [
    way('live, plain text', 1),
    way('live, TLS', TLS_FACTOR),
    way('60 ms bundles, plain text', bundled.value),
    way('60 ms bundles, TLS', bundled.value * TLS_FACTOR),
  ];
}

interface Way {
  readonly name: string;
  readonly most: number;
  readonly planned: number;
}

function oneCoreOf(results: Results): string[] {
  const ways = waysOf(results);
  if (ways === null) return [NO_SIZING];
  return [
    '| audio | listener streams at most | plan with |',
    '|---|---|---|',
    ...ways.map(({ name, most, planned }) => `| ${name} | ${figure(most, '')} | ${figure(planned, '')} |`),
    ...memoryLines(results),
  ];
}

const NO_SIZING = `There is no valid run of ${CAPACITY[0]} and ${BUNDLED[0]}, so this table is empty.`;

/** More would say that it is known. */
const twoDigits = (value: number) => Number(value.toPrecision(2));

function memoryLines(results: Results): string[] {
  const perRadio = goalOf(results, MEMORY)?.atMost;
  const start = residentAtStart(results);
  if (perRadio === undefined || start === null) return [];
  const radios = (GIB - start) / (perRadio * KIB);
  return [
    '',
    `One GiB of memory: the service starts with ${figure(twoDigits(start / KIB / KIB), '')} MiB, without PostgreSQL. With ${perRadio} KiB for an idle radio, the target of the bench, the rest is enough for ${figure(twoDigits(radios), '')} radios.`,
  ];
}

/** Resident bytes of the service before a radio came (idle-memory). */
function residentAtStart({ results }: Results): number | null {
  const [run] = (results.find(({ scenario }) => scenario === MEMORY[0])?.rest.runs ?? []) as Run[];
  return run?.steps.find(({ radios }) => radios === 0)?.residentBytes ?? null;
}

/** As scenarios/idle-memory.ts writes it. */
interface Run {
  readonly steps: readonly { readonly radios: number; readonly residentBytes: number }[];
}

function fleetsOf(results: Results): string[] {
  const ways = waysOf(results);
  if (ways === null) return [NO_SIZING];
  const rows = FLEETS.map(({ radios, talkingShare }) => {
    const talkers = radios * talkingShare;
    const streams = talkers * (MEMBERS - 1);
    const cells = [
      figure(radios, ''),
      `${100 * talkingShare} %`,
      figure(talkers, ''),
      figure(streams, ''),
      `${figure(Math.round((streams * FRAMES_PER_SECOND * FRAME_BITS) / 1e6), '')} Mbit/s`,
      ...ways.map(({ planned }) => String(nodesFor(talkers, planned))),
    ];
    return `| ${cells.join(' | ')} |`;
  });
  return [
    '| radios | talking | talkers | streams | network, live | nodes, live | live, TLS | bundles | bundles, TLS |',
    '|---|---|---|---|---|---|---|---|---|',
    ...rows,
  ];
}

/** Each talker has a talkgroup of its own, and a talkgroup is on one node, so a node carries whole talkgroups. */
function nodesFor(talkgroups: number, plannedStreams: number): number {
  return Math.ceil(talkgroups / Math.floor(plannedStreams / (MEMBERS - 1)));
}

function otherServersOf({ results }: Results): string[] {
  const result = results.find(({ scenario, isQuick }) => scenario === 'one-talker-1000' && !isQuick);
  if (result === undefined || result.faults.length > 0)
    return ['There is no valid run of one-talker-1000, so this table is empty.'];
  const rows = result.goals.flatMap((goal) => {
    const [, pair] = /^CPU per delivery, ([^,]+(?:, no lag pings)? \/ [^,]+)$/.exec(goal.name) ?? [];
    return pair === undefined ? [] : [`| ${pair} | ${said(goal)} |`];
  });
  return ['| CPU per delivery | ratio, quartiles |', '|---|---|', ...rows];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await writeFile(PAGE, withFigures(await readFile(PAGE, 'utf8'), await readResults(RESULTS)));
}
