// Plays talkers whose number rises and falls, and accounts for each frame and each event that a listener is given.
import { constants, setPriority } from 'node:os';
import { BURST_AT, SEQUENCE_AT } from '../../../../src/protocol/frame.js';
import { createRecorder, type Latency, type Recorder } from '../../../figures/histogram.js';
import { around, nowMs, until } from '../../../machine/clock.js';
import { type Conditions, readUsage, sharesOf, spent, type Usage } from '../../../machine/conditions.js';
import type { Audience } from '../../../radios/channel.js';
import type { Member } from '../../../radios/member.js';
import { RawRadio, type Said, type Target } from '../../../radios/raw-radio.js';
import { newReceipts, Receipt, type Receipts } from '../../../radios/receipts.js';
import { FRAMES_MAX, joinAll, sinksOf, sipping, talkgroupNumberOf } from '../../../radios/swarm.js';
import { dueMsAt, timedFrame } from '../../../radios/timed-frame.js';
import { fail, type Performance, perform } from '../../player.js';
import { type Passage, passagesOf } from './passages.js';

export interface SurgesSetup {
  readonly server: Target & { readonly pid: number };
  /** Those of one talkgroup after the other. The first member of each is its talker. */
  readonly users: readonly Member[];
  readonly members: number;
  readonly audience: Audience;
}

export interface SurgesPiece {
  readonly passages: readonly Passage[];
  /** From here on this process leaves its core to others that want it. */
  readonly isBehind: boolean;
}

/** All passages of one name. */
export interface Passed extends Conditions {
  readonly name: string;
  readonly ms: number;
  /** Deliveries that the frames of these passages make, sent in that time. */
  readonly deliveries: number;
  /** From when a frame was due to a probe. */
  readonly latency: Latency;
}

export interface SurgesPlayed extends Receipts {
  readonly passed: readonly Passed[];
  readonly sent: number;
  /** Frames in all TALK_ENDED of the talkers. */
  readonly relayed: number;
  /** FLOOR_DENIED, FLOOR_REVOKED and ERROR. Each is a frame that the relay did not take. */
  readonly rejected: number;
  readonly bursts: number;
  /** How often a listener stopped reading. */
  readonly stalls: number;
  /** All of it. */
  readonly conditions: Conditions;
}

/** Moments of a frame period at which frames leave. */
const PHASES = 10;
/** From now to the first frame. */
const NOTICE_MS = 20;
/** One listener in so many talkgroups stalls. */
const STALLING_EVERY = 5;
/** A paused receiver is back within this time, when it reads at all. */
const ACCOUNT_MS_MAX = 10_000;

perform<SurgesSetup, SurgesPiece, SurgesPlayed, null>(prepare);

interface Talker {
  readonly radio: RawRadio;
  readonly talkgroup: number;
  readonly receipt: Receipt;
  sent: number;
}

/** Radios stay connected until the process ends. */
async function prepare(setup: SurgesSetup): Promise<Performance<SurgesPiece, SurgesPlayed, null>> {
  const { server, users, members, audience } = setup;
  const { probeEvery, framesPerSecond, payloadBytes } = audience;
  const periodMs = 1000 / framesPerSecond;
  const pids = [server.pid];
  const heard = newReceipts();
  const own = newReceipts();
  const counts = { sent: 0, relayed: 0, rejected: 0, bursts: 0, stalls: 0 };
  /** Takes the latency of a frame that was due then. */
  let record: (dueMs: number, latencyMs: number) => void = () => {};
  const receipts = users.map(
    ({ talkgroups: [talkgroup] }, user) =>
      new Receipt(talkgroup?.id ?? '', user % members === 0 ? own : heard),
  );
  const isTalker = (user: number) => user % members === 0;
  const isProbe = (user: number) => user % probeEvery === probeEvery - 1;
  const isStalling = (user: number) => user % (STALLING_EVERY * members) === 1;
  const radios = await joinAll(users, (token, user) => {
    const receipt = receipts[user];
    if (receipt === undefined) throw new RangeError('each user has a receipt');
    const told = (said: Said) => {
      receipt.told(said);
      if (isTalker(user)) hearTalker(said);
    };
    return new RawRadio({
      target: server,
      token,
      told,
      lost: fail,
      receive: receiver(receipt, isProbe(user)),
    });
  });
  const isSink = (user: number) => !isTalker(user) && !isProbe(user) && !isStalling(user);
  sipping(sinksOf(radios.filter((_, user) => isSink(user))), periodMs).hold();
  const stalling = radios.filter((_, user) => isStalling(user));
  const talkers = radios.flatMap((radio, user): Talker[] => {
    const receipt = receipts[user];
    if (!isTalker(user) || receipt === undefined) return [];
    return [{ radio, receipt, talkgroup: talkgroupNumberOf(users[user]), sent: 0 }];
  });

  function hearTalker({ type, frames }: Said): void {
    if (type === 'TALK_ENDED') {
      counts.relayed += Number(frames);
      counts.bursts++;
    }
    if (type === 'FLOOR_DENIED' || type === 'FLOOR_REVOKED' || type === 'ERROR') counts.rejected++;
  }

  function receiver(receipt: Receipt, isTimed: boolean) {
    return (bytes: Buffer, start: number) => {
      const atMs = nowMs();
      const dueMs = dueMsAt(bytes, start);
      receipt.take(
        bytes.readUInt16BE(start + SEQUENCE_AT),
        bytes.readUInt32BE(start + BURST_AT),
        dueMs,
        atMs,
      );
      if (isTimed) record(dueMs, atMs - dueMs);
    };
  }

  function say(talker: Talker, flags: number, dueMs: number): void {
    if (talker.sent >= FRAMES_MAX) throw new RangeError(`a talker has at most ${FRAMES_MAX} frames`);
    const { talkgroup, sent: sequence } = talker;
    talker.radio.send(timedFrame({ flags, sequence, talkgroup, payloadBytes, dueMs }));
    talker.sent++;
    counts.sent++;
  }

  function stall(ms: number): void {
    for (const radio of stalling) {
      counts.stalls++;
      radio.hold();
      setTimeout(() => radio.flow(), ms);
    }
  }

  async function speak({ passages }: SurgesPiece, log: Log): Promise<void> {
    const score = passagesOf(passages);
    const first = Math.ceil((nowMs() + NOTICE_MS) / periodMs);
    record = (dueMs, latencyMs) =>
      log.heard(score.passageAt(Math.floor(dueMs / periodMs - first + ROUNDING)), latencyMs);
    for (let frame = 0; frame < score.frames; frame++) {
      const passage = score.passageAt(frame);
      const { stallMs } = passages[passage] ?? {};
      if (stallMs !== undefined && (frame === 0 || score.passageAt(frame - 1) !== passage)) stall(stallMs);
      for (let phase = 0; phase < PHASES; phase++) {
        const dueMs = (first + frame + phase / PHASES) * periodMs;
        while (nowMs() < dueMs) await around(dueMs + 1);
        log.sends(passage, nowMs() - dueMs);
        for (let i = phase; i < talkers.length; i += PHASES) {
          const flags = score.flagsAt(i, frame);
          const talker = talkers[i];
          if (flags !== null && talker !== undefined) say(talker, flags, dueMs);
        }
      }
    }
  }

  /** Waits until all is accounted for. What is not then is lost. */
  async function account(): Promise<void> {
    const of = (user: number) => talkers[Math.floor(user / members)];
    await until(() => counts.relayed >= counts.sent, ACCOUNT_MS_MAX);
    const each = (use: (receipt: Receipt, frames: number, event: number) => void) => {
      for (const [user, receipt] of receipts.entries()) {
        const talker = of(user);
        if (!isTalker(user) && talker !== undefined) use(receipt, talker.sent, talker.receipt.event);
      }
    };
    await until(() => {
      let isComplete = true;
      each((receipt, frames, event) => {
        isComplete &&= receipt.isComplete(frames, event);
      });
      return isComplete;
    }, ACCOUNT_MS_MAX);
    each((receipt, frames, event) => receipt.close(frames, event));
  }

  return {
    async play(piece) {
      if (piece.isBehind) setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
      const before = { ...heard, ...counts };
      const log = createLog(piece.passages, {
        read: () => readUsage(pids),
        sent: () => counts.sent * (members - 1),
      });
      await speak(piece, log);
      const conditions = log.end();
      await account();
      const passed = log.passed();
      const now = { ...heard, ...counts };
      const played = Object.fromEntries(
        Object.entries(now).map(([name, count]) => [name, count - before[name as keyof typeof now]]),
      ) as typeof now; // the same names
      return { ...played, passed, conditions };
    },
    end: async () => null,
  };
}

/** A due time that went through a division is a whole number of periods but for this. */
const ROUNDING = 1e-6;

interface Gauges {
  readonly read: () => Usage;
  readonly sent: () => number;
}

/** Of one piece. */
interface Log {
  /** A moment of this passage has come: so late. */
  sends(passage: number, lateMs: number): void;
  heard(passage: number, latencyMs: number): void;
  /** The last frame has left. */
  end(): Conditions;
  passed(): readonly Passed[];
}

function createLog(passages: readonly Passage[], { read, sent }: Gauges): Log {
  interface Sum {
    readonly latency: Recorder;
    readonly late: Recorder;
    readonly used: { from: Usage; to: Usage }[];
    deliveries: number;
  }
  const sums = new Map<string, Sum>();
  for (const { name } of passages)
    sums.set(name, { latency: createRecorder(), late: createRecorder(), used: [], deliveries: 0 });
  const sumAt = (passage: number) => sums.get(passages[passage]?.name ?? '');
  const late = createRecorder();
  const begun = read();
  let at = 0;
  let from = begun;
  let sentBefore = sent();

  function leave(): void {
    const to = read();
    const sum = sumAt(at);
    sum?.used.push({ from, to });
    if (sum !== undefined) sum.deliveries += sent() - sentBefore;
    from = to;
    sentBefore = sent();
  }

  return {
    sends(passage, lateMs) {
      if (passage !== at) leave();
      at = passage;
      late.record(lateMs);
      sumAt(passage)?.late.record(lateMs);
    },
    heard(passage, latencyMs) {
      sumAt(passage)?.latency.record(latencyMs);
    },
    end() {
      leave();
      return { ...sharesOf(spent(begun, from)), late: late.latency() };
    },
    passed: () =>
      [...sums].map(([name, { latency, late: own, used, deliveries }]) => {
        const usage = used.map((one) => spent(one.from, one.to)).reduce(plus);
        const { atMs: ms } = usage;
        return { name, ms, deliveries, latency: latency.latency(), late: own.latency(), ...sharesOf(usage) };
      }),
  };
}

const plus = (one: Usage, other: Usage): Usage => ({
  atMs: one.atMs + other.atMs,
  serverUs: one.serverUs.map((us, i) => us + (other.serverUs[i] ?? 0)),
  generatorUs: one.generatorUs + other.generatorUs,
  machineUs: one.machineUs + other.machineUs,
});
