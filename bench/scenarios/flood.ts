// Does a flooding radio disturb the others, in its own talkgroup and in another? It sends 100 times the permitted rate.
import { type Account, type Case, playPhases } from '../experiments/phases.js';
import type { Load, Played } from '../generator/loads/disturbance.js';
import type { Bench, Report } from '../scenario.js';

/** Phases of 3 s. A flood begins with every second one, and no radio has anything to catch up behind it. */
const LOAD: Load = {
  probeEvery: 4,
  framesPerSecond: 50,
  payloadBytes: 60,
  listeners: 100,
  disturbing: 1,
  disturbance: { kind: 'flood', framesPerSecond: 10_000 },
  phaseFrames: 150,
  pauseFrames: 0,
  turnPhases: 1,
  // 48 s in all: a single floor is taken away after 60.
  turns: Array.from({ length: 16 }, (_, turn) => (turn % 2 === 0 ? 'without' : 'with')),
};

/** One kind, once with and once without on either side. */
const QUICK_LOAD: Load = { ...LOAD, phaseFrames: 50, turns: LOAD.turns.slice(0, 4) };

const CASES: readonly Case[] = [
  { name: 'in another talkgroup', floorMode: 'open', isElsewhere: true, load: LOAD },
  { name: 'in theirs, floor taken', floorMode: 'single', isElsewhere: false, load: LOAD },
  { name: 'in theirs, floor open', floorMode: 'open', isElsewhere: false, load: LOAD },
];

export function flood(bench: Bench): Promise<Report> {
  return playPhases(bench, {
    cases: bench.isQuick ? CASES.slice(-1).map((one) => ({ ...one, load: QUICK_LOAD })) : CASES,
    targets: { p50: null, p99: 1.2 },
    settings: { LOG_LEVEL: 'warn' },
    accountOf,
  });
}

function accountOf({ disturbed: { ends } }: Played, { turns }: Load): Account {
  const all = <T>(of: (end: Played['disturbed']['ends'][number]) => T) =>
    [...new Set(ends.map(of))].join(', ');
  const last = Math.max(0, ...ends.map(({ afterMs }) => afterMs));
  const floods = turns.filter((turn) => turn === 'with').length;
  return {
    cells: {
      'floods that were closed': `${ends.length}: ${all(({ code }) => code ?? 'dropped')}`,
      '  messages to each before': all(({ told }) => told.length),
      '  after, at most': `${Math.round(last)} ms`,
      '  frames sent until then': all(({ framesSent }) => framesSent),
    },
    goals: [
      { name: 'floods not closed', value: floods - ends.length, unit: '', atMost: 0 },
      { name: 'a flood is closed after', value: last, unit: 'ms' },
    ],
  };
}
