// Talks on one relay and listens on two, nodes or threads: the CPU time of a forwarded frame, and how much later it is heard.
import { createRecorder, type Latency } from '../../figures/histogram.js';
import { around, nowMs } from '../../machine/clock.js';
import { type Conditions, readUsage, sharesOf, spent } from '../../machine/conditions.js';
import { cpuUs, threadTimes, timesBetween } from '../../machine/processes.js';
import type { Audience } from '../../radios/channel.js';
import type { Member } from '../../radios/member.js';
import type { Target } from '../../radios/raw-radio.js';
import { scoutPorts } from '../../radios/scouts.js';
import { connectSwarm } from '../../radios/swarm.js';
import { seatTalkers, type Talkers } from '../../radios/talkers.js';
import { answer, fail } from '../player.js';

export interface HopTask {
  /** Two nodes, or twice the same one, whose two threads share its port. */
  readonly near: Target;
  readonly far: Target;
  /** Tokens of users without talkgroups, who find out where connections lead. null: `near` and `far` are two nodes. */
  readonly scouts: readonly string[] | null;
  /** Whose CPU time is read: of processes by name, or of all threads of one process. */
  readonly cpuOf: { readonly processes: Readonly<Record<string, number>> } | { readonly threadsOf: number };
  /** A talker in each talkgroup. */
  readonly sides: Readonly<Record<SideName, Seats>>;
  readonly audience: Audience;
  /** Of each talker in a turn. */
  readonly frames: number;
  /** Turns of each side that count, after one that does not. */
  readonly rounds: number;
}

/**
 * `unheard`: no radio listens. `local`: one listener in each talkgroup, on the relay of the talkers. `forwarded`: also one on
 * the other relay.
 */
export type SideName = 'unheard' | 'local' | 'forwarded';

/** One of each talkgroup, in the same order. Empty where no radio listens. */
export interface Seats {
  readonly talkers: readonly Member[];
  readonly near: readonly Member[];
  readonly far: readonly Member[];
}

/** One turn, from silence to silence. */
export interface HopTurn {
  readonly side: SideName;
  readonly round: number;
  readonly frames: number;
  /** By the name of the process, or the number of the thread. */
  readonly cpuUs: Readonly<Record<string, number>>;
  /** Frames that a listener did not get. */
  readonly lost: number;
}

export interface Hop extends Conditions {
  readonly turns: readonly HopTurn[];
  /** Of the forwarded frames, on both relays. */
  readonly near: Latency;
  readonly far: Latency;
  /** Of the same frame: remote less local latency (ms). */
  readonly hop: { readonly count: number; readonly p50Ms: number; readonly p99Ms: number };
}

const SIDES: readonly SideName[] = ['unheard', 'local', 'forwarded'];
/** Of silence around what is measured: what was sent has been accounted for. */
const SILENCE_MS = 100;
/** Frames that did not arrive by then are lost. */
const ARRIVAL_MS_MAX = 2000;

answer(play);

async function play(task: HopTask): Promise<Hop> {
  const times = { near: createRecorder(), far: createRecorder(), hops: [] as number[] };
  const late = createRecorder();
  const doors = await openDoors(task);
  const sides: Partial<Record<SideName, Side>> = {};
  for (const name of SIDES)
    sides[name] = await seat(task.sides[name], { task, doors }, (nearMs, farMs) => {
      times.near.record(nearMs);
      times.far.record(farMs);
      times.hops.push(farMs - nearMs);
    });
  const turns: HopTurn[] = [];
  const pids = [...new Set(Object.values(processesOf(task)))];
  let usage = readUsage(pids);
  for (let round = 0; round <= task.rounds; round++) {
    const isCounted = round > 0;
    if (round === 1) usage = readUsage(pids);
    for (const name of round % 2 === 0 ? SIDES : SIDES.toReversed()) {
      const side = sides[name];
      if (side === undefined) continue;
      const turn = await playTurn(task, side, isCounted ? late.record : null);
      if (isCounted) turns.push({ side: name, round, ...turn });
    }
  }
  const hops = Float64Array.from(times.hops).sort();
  const percentile = (share: number) => hops[Math.ceil(share * hops.length) - 1] ?? Number.NaN;
  return {
    turns,
    near: times.near.latency(),
    far: times.far.latency(),
    hop: { count: hops.length, p50Ms: percentile(0.5), p99Ms: percentile(0.99) },
    late: late.latency(),
    ...sharesOf(spent(usage, readUsage(pids))),
  };
}

const processesOf = ({ cpuOf }: HopTask): Readonly<Record<string, number>> =>
  'processes' in cpuOf ? cpuOf.processes : { service: cpuOf.threadsOf };

/** Where the next radio connects to be on one relay or the other. */
interface Doors {
  near(): Target;
  far(): Target;
}

async function openDoors({ near, far, scouts, sides }: HopTask): Promise<Doors> {
  if (scouts === null) return { near: () => near, far: () => far };
  const all = Object.values(sides);
  const nearRadios = all.reduce((sum, seats) => sum + seats.talkers.length + seats.near.length, 0);
  const [here = [], there = []] = await scoutPorts(near, scouts, nearRadios);
  const next = (ports: Iterator<number>): Target => {
    const { value, done } = ports.next();
    if (done === true) throw new RangeError('more radios than local ports');
    return { ...near, localPort: value };
  };
  const [nearPorts, farPorts] = [here.values(), there.values()];
  return { near: () => next(nearPorts), far: () => next(farPorts) };
}

/** The radios of one side. */
interface Side {
  readonly talkers: Talkers;
  readonly listeners: number;
  /** All that listeners have received. */
  received(): number;
}

interface Seating {
  readonly task: HopTask;
  readonly doors: Doors;
}

/** `bothHeard` is called when both listeners of a talkgroup have the same timed frame, with its two latencies. */
async function seat(
  seats: Seats,
  { task: { near, audience }, doors }: Seating,
  bothHeard: (nearMs: number, farMs: number) => void,
): Promise<Side> {
  let received = 0;
  for (const [index, user] of seats.near.entries()) {
    const farUser = seats.far[index];
    /** By sequence number: the latency of the listener that was first. */
    const waiting = new Map<number, { isFar: boolean; ms: number }>();
    const hears = (isFar: boolean) => (sequence: number, ms: number) => {
      received++;
      if (Number.isNaN(ms) || farUser === undefined) return;
      const other = waiting.get(sequence);
      if (other === undefined) waiting.set(sequence, { isFar, ms });
      else {
        waiting.delete(sequence);
        bothHeard(isFar ? other.ms : ms, isFar ? ms : other.ms);
      }
    };
    const join = (target: Target, one: Member, heard: (sequence: number, ms: number) => void) =>
      connectSwarm({ target, users: [one], probeEvery: 1, heard, lost: fail });
    await join(doors.near(), user, hears(false));
    if (farUser !== undefined) await join(doors.far(), farUser, hears(true));
  }
  const localPorts = seats.talkers.flatMap(() => doors.near().localPort ?? []);
  const talkers = await seatTalkers({ target: near, users: seats.talkers, localPorts, audience, lost: fail });
  return { talkers, listeners: seats.near.length + seats.far.length, received: () => received };
}

/** Frames are timed when it is noted how late they left. */
async function playTurn(
  task: HopTask,
  side: Side,
  late: ((ms: number) => void) | null,
): Promise<Omit<HopTurn, 'side' | 'round'>> {
  const { frames } = task;
  const before = side.received();
  await around(nowMs() + SILENCE_MS);
  const used = readCpu(task);
  await side.talkers.speak({
    ...{ talkers: side.talkers.count, frames, begins: true, ends: true },
    ...(late !== null && { late }),
  });
  const expected = frames * side.listeners;
  const untilMs = nowMs() + ARRIVAL_MS_MAX;
  while (side.received() - before < expected && nowMs() < untilMs) await around(nowMs() + 2);
  await around(nowMs() + SILENCE_MS);
  return {
    frames: frames * side.talkers.count,
    cpuUs: timesBetween(used, readCpu(task)),
    lost: expected - (side.received() - before),
  };
}

const readCpu = ({ cpuOf }: HopTask): ReadonlyMap<string, number> =>
  'processes' in cpuOf
    ? new Map(Object.entries(cpuOf.processes).map(([name, pid]) => [name, cpuUs(pid)]))
    : threadTimes(cpuOf.threadsOf);
