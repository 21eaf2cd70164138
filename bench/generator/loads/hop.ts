// Talks on one node and listens on two: the CPU time of a forwarded frame, and how much later it is heard there.
import { createRecorder, type Latency } from '../../figures/histogram.js';
import { around, nowMs } from '../../machine/clock.js';
import { cpuUs } from '../../machine/processes.js';
import type { Audience } from '../../radios/channel.js';
import type { Member } from '../../radios/member.js';
import type { Target } from '../../radios/raw-radio.js';
import { connectSwarm } from '../../radios/swarm.js';
import { seatTalkers, type Talkers } from '../../radios/talkers.js';
import { answer, type Busy, fail } from '../player.js';

export interface HopTask {
  readonly near: Target;
  readonly far: Target;
  /** The node of the talkers, the other one, and the nats-server between them. */
  readonly pids: Readonly<Record<Place, number>>;
  /** A talker in each talkgroup. */
  readonly sides: Readonly<Record<SideName, Seats>>;
  readonly audience: Audience;
  /** Of each talker in a turn. */
  readonly frames: number;
  /** Pairs of turns that count, after one that does not. */
  readonly rounds: number;
}

export type Place = 'talkers' | 'listeners' | 'nats';

/** `local`: all members are on the node of the talkers. `forwarded`: one of each talkgroup is on the other node. */
export type SideName = 'local' | 'forwarded';

/** One of each talkgroup, in the same order. */
export interface Seats {
  readonly talkers: readonly Member[];
  readonly near: readonly Member[];
  readonly far: readonly Member[];
}

/** One turn, from silence to silence. */
export interface HopTurn {
  readonly side: SideName;
  readonly frames: number;
  readonly cpuUs: Readonly<Record<Place, number>>;
  /** Frames that a listener did not get. */
  readonly lost: number;
}

export interface Hop extends Busy {
  readonly turns: readonly HopTurn[];
  /** Of the forwarded frames, on both nodes. */
  readonly near: Latency;
  readonly far: Latency;
  /** Of the same frame: remote less local latency (ms). */
  readonly hop: { readonly count: number; readonly p50Ms: number; readonly p99Ms: number };
}

/** Of silence around what is measured: what was sent has been accounted for. */
const SILENCE_MS = 100;
/** Frames that did not arrive by then are lost. */
const ARRIVAL_MS_MAX = 2000;

answer(play);

async function play(task: HopTask): Promise<Hop> {
  const times = { near: createRecorder(), far: createRecorder(), hops: [] as number[] };
  const local = await seat(task, task.sides.local, () => {});
  const forwarded = await seat(task, task.sides.forwarded, (nearMs, farMs) => {
    times.near.record(nearMs);
    times.far.record(farMs);
    times.hops.push(farMs - nearMs);
  });
  const turns: HopTurn[] = [];
  const used = process.cpuUsage();
  const fromMs = nowMs();
  for (let round = 0; round <= task.rounds; round++) {
    const isCounted = round > 0;
    const order = round % 2 === 0 ? (['local', 'forwarded'] as const) : (['forwarded', 'local'] as const);
    for (const side of order) {
      const turn = await playTurn(task, side, side === 'local' ? local : forwarded, isCounted);
      if (isCounted) turns.push(turn);
    }
  }
  const { user, system } = process.cpuUsage(used);
  const hops = Float64Array.from(times.hops).sort();
  const percentile = (share: number) => hops[Math.ceil(share * hops.length) - 1] ?? Number.NaN;
  return {
    turns,
    near: times.near.latency(),
    far: times.far.latency(),
    hop: { count: hops.length, p50Ms: percentile(0.5), p99Ms: percentile(0.99) },
    generatorShare: (user + system) / 1000 / (nowMs() - fromMs),
  };
}

/** The radios of one side. */
interface Side {
  readonly talkers: Talkers;
  readonly listeners: number;
  /** All that listeners have received. */
  received(): number;
}

/** `bothHeard` is called when both listeners of a talkgroup have the same timed frame, with its two latencies. */
async function seat(
  { near, far, audience }: HopTask,
  seats: Seats,
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
    await connectSwarm({ target: near, users: [user], probeEvery: 1, heard: hears(false), lost: fail });
    if (farUser !== undefined)
      await connectSwarm({ target: far, users: [farUser], probeEvery: 1, heard: hears(true), lost: fail });
  }
  const talkers = await seatTalkers({ target: near, users: seats.talkers, audience, lost: fail });
  return { talkers, listeners: seats.near.length + seats.far.length, received: () => received };
}

async function playTurn(
  { pids, frames }: HopTask,
  name: SideName,
  side: Side,
  isCounted: boolean,
): Promise<HopTurn> {
  const before = side.received();
  await around(nowMs() + SILENCE_MS);
  const used = usedBy(pids);
  await side.talkers.speak({
    ...{ talkers: side.talkers.count, frames, begins: true, ends: true },
    ...(isCounted && { late: () => {} }), // with it frames are timed
  });
  const expected = frames * side.listeners;
  const untilMs = nowMs() + ARRIVAL_MS_MAX;
  while (side.received() - before < expected && nowMs() < untilMs) await around(nowMs() + 2);
  await around(nowMs() + SILENCE_MS);
  const now = usedBy(pids);
  return {
    side: name,
    frames: frames * side.talkers.count,
    cpuUs: {
      talkers: now.talkers - used.talkers,
      listeners: now.listeners - used.listeners,
      nats: now.nats - used.nats,
    },
    lost: expected - (side.received() - before),
  };
}

const usedBy = ({ talkers, listeners, nats }: HopTask['pids']): HopTurn['cpuUs'] => ({
  talkers: cpuUs(talkers),
  listeners: cpuUs(listeners),
  nats: cpuUs(nats),
});
