// Do radios that do not keep up disturb the others? One talker. Some stop reading or read too slowly, phase by phase.
import { HEADER_BYTES } from '../../src/protocol/frame.js';
import { type Account, type Case, playPhases } from '../experiments/phases.js';
import type { Load, Played } from '../generator/loads/disturbance.js';
import type { DisturbanceKind } from '../radios/disturbance.js';
import type { Bench, Report } from '../scenario.js';

const AUDIENCE = { probeEvery: 4, framesPerSecond: 50, payloadBytes: 60 };
/** A frame of 76 bytes has two more in front of it. */
const BYTES_PER_SECOND = (2 + HEADER_BYTES + AUDIENCE.payloadBytes) * AUDIENCE.framesPerSecond;
/** Turns of 4 s in phases of 1 s. Both disturbed ones in a row: 8 s, for after 10 s without an answer a radio is closed. */
const PHASES = {
  phaseFrames: 50,
  pauseFrames: 50,
  turnPhases: 4,
  turns: Array.from({ length: 12 }, (_, turn) => ([1, 2].includes(turn % 4) ? 'with' : 'without')),
} as const;

/** One case, in turns of 1 s: a radio that stops is noticed after one to two. */
const QUICK_PHASES = { ...PHASES, turnPhases: 1, turns: PHASES.turns.slice(0, 4) };

const CASES: readonly Case[] = [
  caseOf('1 of 100 stops', { listeners: 99, disturbing: 1, disturbance: { kind: 'stopped' } }),
  caseOf('50 of 500 stop', {
    listeners: 450,
    disturbing: 50,
    disturbance: { kind: 'stopped' },
  }),
  caseOf('1 of 100 at half the rate', {
    listeners: 99,
    disturbing: 1,
    disturbance: { kind: 'slow', bytesPerSecond: BYTES_PER_SECOND / 2 },
  }),
  caseOf('1 of 100 stops 3 s of 4', {
    listeners: 99,
    disturbing: 1,
    disturbance: { kind: 'stop_and_go', stopMs: 3_000, readMs: 1_000 },
  }),
];

interface Some {
  readonly listeners: number;
  readonly disturbing: number;
  readonly disturbance: DisturbanceKind;
}

function caseOf(name: string, some: Some): Case {
  return { name, floorMode: 'open', isElsewhere: false, load: { ...AUDIENCE, ...PHASES, ...some } };
}

export function slowListeners(bench: Bench): Promise<Report> {
  return playPhases(bench, {
    cases: bench.isQuick ? CASES.slice(0, 1).map(quickly) : CASES,
    targets: { p50: 1.05, p99: 1.2 },
    settings: { LOG_LEVEL: 'warn' },
    accountOf,
  });
}

const quickly = (one: Case): Case => ({ ...one, load: { ...one.load, ...QUICK_PHASES } });

/** What a slow radio was not sent it must have been told of, to the frame. */
function accountOf({ disturbed, delivered }: Played, { disturbing }: Load): Account {
  const { heard, missed, lags, ends } = disturbed;
  const untold = delivered.sent * disturbing - heard - missed;
  return {
    cells: {
      'the slow ones: frames heard': `${heard}`,
      '  missed, as LAG says': `${missed} in ${lags}`,
      '  neither heard nor told of': `${untold}`,
      '  closed': `${ends.length}`,
    },
    goals: [
      { name: 'frames that a slow radio neither heard nor was told of', value: untold, unit: '', atMost: 0 },
    ],
  };
}
