// Listeners who are given the same audio by the same relay in different ways, turn by turn: what each way costs it.
import {
  FLAGS_AT,
  HEADER_BYTES,
  KIND_BUNDLE,
  KIND_MASK,
  SEQUENCE_AT,
  TALKGROUP_AT,
} from '../../../src/protocol/frame.js';
import { createRecorder } from '../../figures/histogram.js';
import { around, nowMs, until } from '../../machine/clock.js';
import { type Conditions, readUsage, sharesOf, spent } from '../../machine/conditions.js';
import { cpuUs } from '../../machine/processes.js';
import type { Audience } from '../../radios/channel.js';
import type { Receive } from '../../radios/dialects/dialect.js';
import type { Heard } from '../../radios/listeners.js';
import type { Member } from '../../radios/member.js';
import { RawRadio, type Said, type Target } from '../../radios/raw-radio.js';
import { joinAll, probing } from '../../radios/swarm.js';
import { seatTalkers } from '../../radios/talkers.js';
import { COUNTED, dueMsAt } from '../../radios/timed-frame.js';
import { answer, fail } from '../player.js';

/** Plain data. */
export interface WaysTask {
  readonly target: Target;
  readonly pid: number;
  readonly ways: readonly WayTask[];
  readonly audience: Audience;
  /** Before those that count, of each talker in each turn. One more ends the burst. */
  readonly leadFrames: number;
  readonly frames: number;
  /** Which way has its turn, and in which order. The first rounds warm up. */
  readonly rounds: readonly (readonly number[])[];
  readonly warmUpRounds: number;
}

/** One way of being given audio: its own talkers, each in a talkgroup of its own, and listeners who hear them all. */
export interface WayTask {
  readonly talkers: readonly Member[];
  readonly listeners: readonly Member[];
  /** What SUBSCRIBE says beside the ids. */
  readonly subscribe: Readonly<Record<string, unknown>>;
}

export interface WayTurn extends Heard {
  readonly way: number;
  readonly round: number;
  /** Of the server, for the frames that count. */
  readonly cpuUs: number;
  readonly durationMs: number;
  /** Frames of these that listeners received. */
  readonly delivered: number;
}

export interface WaysPlayed extends Conditions {
  readonly turns: readonly WayTurn[];
}

/** A sink reads so often: soon enough to answer pings. */
const SIP_MS = 200;
const ARRIVAL_MS_MAX = 4_000;
/** Behind the last frame that a probe heard: by then the server has written the same to the others. */
const CALM_MS = 2;

answer(play);

async function play({ rounds, warmUpRounds, ...task }: WaysTask): Promise<WaysPlayed> {
  const late = createRecorder();
  const sides: Side[] = [];
  for (const way of task.ways) sides.push(await seat(task, way, late.record));
  const turns: WayTurn[] = [];
  let usage = readUsage([task.pid]);
  for (const [round, order] of rounds.entries()) {
    if (round === warmUpRounds) usage = readUsage([task.pid]);
    for (const way of order) {
      const turn = await sides[way]?.turn();
      if (turn !== undefined && round >= warmUpRounds) turns.push({ way, round, ...turn });
    }
  }
  return { turns, late: late.latency(), ...sharesOf(spent(usage, readUsage([task.pid]))) };
}

/** The talkers and listeners of one way. */
interface Side {
  turn(): Promise<Omit<WayTurn, 'way' | 'round'>>;
}

type Late = (ms: number) => void;

async function seat(
  task: Omit<WaysTask, 'rounds' | 'warmUpRounds'>,
  way: WayTask,
  late: Late,
): Promise<Side> {
  const { target, pid, audience, leadFrames, frames } = task;
  const { listeners, subscribe } = way;
  const isProbe = probing({ users: listeners, probeEvery: audience.probeEvery });
  const ears = createEars();
  const radios = await joinAll(
    listeners,
    (token, i) => new RawRadio({ target, token, lost: fail, told: ears.told, receive: ears.of(isProbe(i)) }),
  );
  const ids = way.talkers.flatMap(({ talkgroups }) => talkgroups.map(({ id }) => id));
  for (const radio of radios)
    radio.say({ type: 'SUBSCRIBE', talkgroup_ids: ids, mode: 'listen', ...subscribe, ref: 1 });
  await until(() => ears.subscribed() === radios.length, ARRIVAL_MS_MAX);
  const talkers = await seatTalkers({ target, users: way.talkers, audience, lost: fail });
  const sinks = radios.filter((_, i) => !isProbe(i));
  const perFrame = talkers.count * radios.length;
  const perFrameProbed = talkers.count * (radios.length - sinks.length);
  /** Frames of each talker since the beginning. */
  let said = 0;

  async function speak(count: number, words: { begins?: boolean; ends?: boolean; late?: Late }) {
    await talkers.speak({ talkers: talkers.count, frames: count, ...words });
    said += count;
    const givenUpMs = nowMs() + ARRIVAL_MS_MAX;
    while (ears.probed() < said * perFrameProbed && nowMs() < givenUpMs) await around(nowMs() + 1);
    await around(nowMs() + CALM_MS);
  }

  return {
    async turn() {
      const sipping = sip(sinks);
      const before = ears.heard();
      await speak(leadFrames, { begins: true });
      const start = { us: cpuUs(pid), atMs: nowMs() };
      await speak(frames, { late });
      const used = { cpuUs: cpuUs(pid) - start.us, durationMs: nowMs() - start.atMs };
      await speak(1, { ends: true });
      sipping.stop();
      await until(() => ears.heard().received >= said * perFrame, ARRIVAL_MS_MAX);
      const { received, duplicated, outOfOrder, latency } = ears.heard();
      ears.forget();
      const unmeasured = (leadFrames + 1) * perFrame;
      return {
        ...used,
        delivered: received - before.received - unmeasured,
        received: received - before.received,
        lost: unmeasured + frames * perFrame - (received - before.received),
        duplicated: duplicated - before.duplicated,
        outOfOrder: outOfOrder - before.outOfOrder,
        latency,
      };
    },
  };
}

/** From now on they read a few times a second, and from `stop` on as they like. */
function sip(sinks: readonly RawRadio[]) {
  for (const sink of sinks) sink.hold();
  let isOn = true;
  void (async () => {
    while (isOn) {
      for (const sink of sinks) sink.sip();
      await around(nowMs() + SIP_MS);
    }
  })();
  return {
    stop() {
      isOn = false;
      for (const sink of sinks) sink.flow();
    },
  };
}

/** What all listeners of a way hear, frame by frame, in bundles or not. */
function createEars() {
  let received = 0;
  let duplicated = 0;
  let probed = 0;
  let subscribed = 0;
  let recorder = createRecorder();

  /** Of one listener. Runs for each of tens of thousands of deliveries a second. */
  function of(isProbe: boolean): Receive {
    /** The next sequence in each talkgroup. What is skipped is lost, for one TCP connection keeps the order. */
    const next = new Map<number, number>();

    function hear(bytes: Buffer, start: number): void {
      const talkgroup = bytes.readUInt32BE(start + TALKGROUP_AT);
      const sequence = bytes.readUInt16BE(start + SEQUENCE_AT);
      if (sequence < (next.get(talkgroup) ?? 0)) {
        duplicated++;
        return;
      }
      next.set(talkgroup, sequence + 1);
      received++;
      if (!isProbe) return;
      probed++;
      const dueMs = dueMsAt(bytes, start);
      if (dueMs !== COUNTED) recorder.record(nowMs() - dueMs);
    }

    return (bytes, start, end) => {
      if (((bytes[start + FLAGS_AT] ?? 0) & KIND_MASK) !== KIND_BUNDLE) return hear(bytes, start);
      for (let at = start + HEADER_BYTES; at < end; at += 2 + bytes.readUInt16BE(at)) hear(bytes, at + 2);
    };
  }

  return {
    of,
    told({ type }: Said) {
      if (type === 'SUBSCRIBED') subscribed++;
    },
    subscribed: () => subscribed,
    probed: () => probed,
    heard: (): Omit<Heard, 'lost'> => ({ received, duplicated, outOfOrder: 0, latency: recorder.latency() }),
    /** The latencies of the next turn are its own. */
    forget() {
      recorder = createRecorder();
    },
  };
}
