// Plays calls that must come through whatever the load: radios that press for a single floor, and talkers in an emergency.
import { END, START } from '../../../../src/protocol/frame.js';
import { createRecorder, type Latency } from '../../../figures/histogram.js';
import { around, nowMs, until } from '../../../machine/clock.js';
import { readUsage, sharesOf, spent } from '../../../machine/conditions.js';
import type { Member } from '../../../radios/member.js';
import { RawRadio, type Said, type Target } from '../../../radios/raw-radio.js';
import { joinAll, talkgroupNumberOf } from '../../../radios/swarm.js';
import { dueMsAt, isUntimedAt, timedFrame, UNTIMED } from '../../../radios/timed-frame.js';
import { type Busy, fail, type Performance, perform } from '../../player.js';

export interface CallsSetup {
  readonly server: Target;
  /** Those of one talkgroup with a single floor after the other. They press in turn. */
  readonly pressing: readonly Member[];
  readonly pressMembers: number;
  /** Those of one talkgroup after the other. The first member of each has an emergency. */
  readonly calling: readonly Member[];
  readonly callMembers: number;
  readonly payloadBytes: number;
}

export interface CallsPiece {
  readonly ms: number;
}

export interface CallsPlayed extends Busy {
  /** From when FLOOR_REQUEST was due to the first frame at a listener. The frame leaves with FLOOR_GRANTED. */
  readonly pressed: Latency;
  /** From when a first frame, which is the only request, was due to a listener. */
  readonly firstFrame: Latency;
  /** The same of each frame in an open emergency. */
  readonly emergency: Latency;
  /** By code. */
  readonly deniedBy: Readonly<Record<string, number>>;
  /** Presses without an answer. */
  readonly unanswered: number;
  /** Deliveries that never came. */
  readonly lost: number;
  readonly late: Latency;
}

const FRAME_MS = 20;
/** 25 presses a second. */
const TICKS_PER_PRESS = 2;
const PRESS_FRAMES = 5;
const CALL_FRAMES = 100;
const ARRIVAL_MS_MAX = 4_000;
const RAISE_MS_MAX = 5_000;
const NOTICE_MS = 100;

perform<CallsSetup, CallsPiece, CallsPlayed, null>(prepare);

/** A burst that is under way. */
interface Burst {
  readonly radio: number;
  /** Frames that have left. */
  sent: number;
}

async function prepare(setup: CallsSetup): Promise<Performance<CallsPiece, CallsPlayed, null>> {
  const { server, pressing, pressMembers, calling, callMembers, payloadBytes } = setup;
  const talkgroups = pressing.length / pressMembers;
  const talkers = Array.from({ length: calling.length / callMembers }, (_, i) => i * callMembers);
  let piece = newPiece();
  /** Whether the last press in this talkgroup began with FLOOR_REQUEST, by its number. */
  const asks = new Map<number, boolean>();
  let raised = 0;

  const pressers = await joinAll(pressing, (token, radio) => {
    const talkgroup = talkgroupNumberOf(pressing[radio]);
    const heard = (dueMs: number) =>
      (asks.get(talkgroup) === true ? piece.pressed : piece.firstFrame).record(nowMs() - dueMs);
    return new RawRadio({
      ...{ target: server, token, lost: fail, receive: receiver(heard) },
      told: (said) => hearPresser(radio, said),
    });
  });
  const callers = await joinAll(calling, (token) => {
    const heard = (dueMs: number) => piece.emergency.record(nowMs() - dueMs);
    const told = ({ type }: Said) => {
      if (type === 'OK') raised++;
    };
    return new RawRadio({ target: server, token, lost: fail, receive: receiver(heard), told });
  });
  for (const [ref, radio] of talkers.entries())
    callers[radio]?.say({
      ...{ type: 'EMERGENCY_RAISE', ref, talkgroup_id: calling[radio]?.talkgroups[0]?.id },
    });
  await until(() => raised === talkers.length, RAISE_MS_MAX);
  if (raised < talkers.length) throw new Error('an emergency was not raised');

  function receiver(heard: (dueMs: number) => void) {
    return (bytes: Buffer, start: number) => {
      piece.received++;
      if (!isUntimedAt(bytes, start)) heard(dueMsAt(bytes, start));
    };
  }

  function hearPresser(radio: number, { type, code }: Said): void {
    if (type === 'FLOOR_DENIED') piece.deny(String(code));
    if (type !== 'FLOOR_GRANTED' && type !== 'FLOOR_DENIED') return;
    const dueMs = piece.waiting.get(radio);
    piece.waiting.delete(radio);
    if (dueMs === undefined || type === 'FLOOR_DENIED') return;
    const burst = { radio, sent: 0 };
    piece.bursts.add(burst);
    speak(burst, dueMs);
  }

  /** The next frame of a press. */
  function speak(burst: Burst, dueMs: number): void {
    const flags = (burst.sent === 0 ? START : 0) | (burst.sent === PRESS_FRAMES - 1 ? END : 0);
    const talkgroup = talkgroupNumberOf(pressing[burst.radio]);
    pressers[burst.radio]?.send(timedFrame({ flags, sequence: burst.sent, talkgroup, payloadBytes, dueMs }));
    piece.expected += pressMembers - 1;
    burst.sent++;
    if (burst.sent === PRESS_FRAMES) piece.bursts.delete(burst);
  }

  /** Of two presses in a talkgroup, one asks first. */
  function press(count: number, dueMs: number): void {
    const round = Math.floor(count / talkgroups);
    const radio = (count % talkgroups) * pressMembers + (round % pressMembers);
    const [talkgroup] = pressing[radio]?.talkgroups ?? [];
    const isAsking = (count + round) % 2 === 0;
    asks.set(talkgroup?.number ?? 0, isAsking);
    if (isAsking) {
      piece.waiting.set(radio, dueMs);
      pressers[radio]?.say({ type: 'FLOOR_REQUEST', talkgroup_id: talkgroup?.id });
    } else {
      const burst = { radio, sent: 0 };
      piece.bursts.add(burst);
      speak(burst, dueMs);
    }
  }

  function call(flags: number, sequence: number, dueMs: number): void {
    for (const radio of talkers) {
      const talkgroup = talkgroupNumberOf(calling[radio]);
      callers[radio]?.send(timedFrame({ flags, sequence, talkgroup, payloadBytes, dueMs }));
      piece.expected += callMembers - 1;
    }
  }

  /** Calls and presses for so many frame periods, then the rest of the bursts. */
  async function play(ticks: number): Promise<void> {
    const fromMs = nowMs() + NOTICE_MS;
    for (let tick = 0; tick < ticks + PRESS_FRAMES; tick++) {
      const dueMs = fromMs + tick * FRAME_MS;
      await around(dueMs);
      piece.late.record(nowMs() - dueMs);
      for (const burst of piece.bursts) speak(burst, UNTIMED);
      if (tick >= ticks) continue;
      const at = tick % CALL_FRAMES;
      const isLast = at === CALL_FRAMES - 1 || tick === ticks - 1;
      call((at === 0 ? START : 0) | (isLast ? END : 0), at, dueMs);
      if (tick % TICKS_PER_PRESS === 0) press(tick / TICKS_PER_PRESS, dueMs);
    }
    await until(() => piece.received >= piece.expected && piece.waiting.size === 0, ARRIVAL_MS_MAX);
  }

  return {
    async play({ ms }) {
      piece = newPiece();
      const before = readUsage([]);
      await play(Math.round(ms / FRAME_MS));
      const { generatorShare } = sharesOf(spent(before, readUsage([])));
      return { ...piece.result(), generatorShare };
    },
    end: async () => null,
  };
}

function newPiece() {
  const times = {
    ...{ pressed: createRecorder(), firstFrame: createRecorder() },
    ...{ emergency: createRecorder(), late: createRecorder() },
  };
  const deniedBy: Record<string, number> = {};
  return {
    ...times,
    received: 0,
    expected: 0,
    bursts: new Set<Burst>(),
    /** When the press was due, by radio. */
    waiting: new Map<number, number>(),
    deny(code: string): void {
      deniedBy[code] = (deniedBy[code] ?? 0) + 1;
    },
    result() {
      const { pressed, firstFrame, emergency, late } = times;
      return {
        ...{ pressed: pressed.latency(), firstFrame: firstFrame.latency() },
        ...{ emergency: emergency.latency(), late: late.latency() },
        ...{ deniedBy, unanswered: this.waiting.size, lost: this.expected - this.received },
      };
    },
  };
}
