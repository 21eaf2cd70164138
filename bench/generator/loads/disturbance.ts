// Plays one talker and its listeners in phases with and without a disturbance.
import { createRecorder, type Latency } from '../../figures/histogram.js';
import { around, nowMs } from '../../machine/clock.js';
import { type Conditions, readUsage, sharesOf, spent } from '../../machine/conditions.js';
import { residentBytes } from '../../machine/processes.js';
import { type Audience, type Delivered, openChannel } from '../../radios/channel.js';
import type { DisturbanceKind, Disturbed } from '../../radios/disturbance.js';
import { createDisturbance } from '../../radios/disturbers.js';
import type { Member } from '../../radios/member.js';
import type { Target } from '../../radios/raw-radio.js';
import { answer, fail } from '../player.js';

export interface Load extends Audience {
  /** Those that are heard of in the result. Who disturbs is none of them. */
  readonly listeners: number;
  readonly disturbing: number;
  readonly disturbance: DisturbanceKind;
  /** Of one phase, and of the pause behind a disturbance in which its radios catch up, measured with neither side. */
  readonly phaseFrames: number;
  readonly pauseFrames: number;
  /** Turns of so many phases, each with or without. In pairs. */
  readonly turnPhases: number;
  readonly turns: readonly ('with' | 'without')[];
}

export interface DisturbanceTask {
  readonly server: Target & { readonly pid: number };
  /** The talker, then the listeners. */
  readonly users: readonly Member[];
  readonly disturbing: readonly Member[];
  readonly load: Load;
}

export interface Phase {
  readonly turn: number;
  readonly isDisturbed: boolean;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Of the server, at the end of the phase. */
  readonly residentBytes: number;
}

export interface Played extends Conditions {
  /** In the order in which they were played. */
  readonly phases: readonly Phase[];
  /** Over all phases without and all with. */
  readonly without: Latency;
  readonly with: Latency;
  readonly delivered: Delivered;
  readonly disturbed: Disturbed;
  /** Of the server: when all had joined, and at the end of all phases. */
  readonly residentBytesBefore: number;
  readonly residentBytesAfter: number;
}

/** Before the first phase. */
const WARM_UP_FRAMES = 50;

answer(play);

async function play({ server, users, disturbing, load }: DisturbanceTask): Promise<Played> {
  const plan = planOf(load);
  const record = createRecord(plan, load);
  const frames = plan.reduce((sum, step) => sum + step.frames, 0);
  const { heard } = record;
  const channel = await openChannel({ target: server, users, audience: load, frames, heard, lost: fail });
  const { payloadBytes } = load;
  const options = { target: server, users: disturbing, payloadBytes };
  const disturbance = await createDisturbance(options, load.disturbance);
  const late = createRecorder();
  const periodMs = 1000 / load.framesPerSecond;
  let dueMs = nowMs() + periodMs;
  await around(dueMs - periodMs / 2);
  const resident = [residentBytes(server.pid).all];
  const usage = readUsage([server.pid]);
  for (const step of plan) {
    if (step.change === 'begin') disturbance.begin();
    if (step.change === 'end') disturbance.end();
    for (let i = 0; i < step.frames; i++) {
      late.record(await channel.speak(dueMs));
      dueMs += periodMs;
    }
    resident.push(residentBytes(server.pid).all);
  }
  const shares = sharesOf(spent(usage, readUsage([server.pid])));
  const delivered = await channel.finish();
  return {
    ...record.result(resident.slice(1)),
    delivered,
    disturbed: await disturbance.finish(delivered.sent),
    residentBytesBefore: resident[0] ?? 0,
    residentBytesAfter: resident.at(-1) ?? 0,
    late: late.latency(),
    ...shares,
  };
}

/** Latencies by the phase in which a frame was due, however late it was heard. */
function createRecord(plan: readonly Step[], { turns }: Load) {
  const steps = plan.map((step) => ({ ...step, recorder: createRecorder() }));
  const stepOf = steps.flatMap((step) => Array.from({ length: step.frames }, () => step));
  const pooled = { without: createRecorder(), with: createRecorder() };
  return {
    heard(sequence: number, latencyMs: number): void {
      const { turn, recorder } = stepOf[sequence] ?? {};
      if (turn === undefined) return;
      recorder?.record(latencyMs);
      pooled[turns[turn] ?? 'without'].record(latencyMs);
    },
    /** `resident` is of the server, at the end of each step. */
    result(resident: readonly number[]) {
      const phases = steps.flatMap(({ turn, recorder }, i): Phase[] => {
        if (turn === undefined) return [];
        const { p50Ms, p99Ms } = recorder.latency();
        return [{ turn, isDisturbed: turns[turn] === 'with', p50Ms, p99Ms, residentBytes: resident[i] ?? 0 }];
      });
      return { phases, without: pooled.without.latency(), with: pooled.with.latency() };
    },
  };
}

interface Step {
  readonly frames: number;
  /** What happens before its first frame. */
  readonly change: 'begin' | 'end' | null;
  /** undefined: not measured. */
  readonly turn?: number;
}

function planOf({ turns, turnPhases, phaseFrames, pauseFrames }: Load): Step[] {
  const plan: Step[] = [{ frames: WARM_UP_FRAMES, change: null }];
  for (const [turn, kind] of turns.entries()) {
    const before = turns[turn - 1] ?? 'without';
    if (before === 'with' && kind === 'without') plan.push({ frames: pauseFrames, change: 'end' });
    for (let phase = 0; phase < turnPhases; phase++) {
      const begins = phase === 0 && before === 'without' && kind === 'with';
      plan.push({ frames: phaseFrames, change: begins ? 'begin' : null, turn });
    }
  }
  return plan;
}
