// Talkers of one node and listeners of another while something between them breaks: the longest gap of each listener.
import { START, TALKGROUP_AT } from '../../../src/protocol/frame.js';
import { createRecorder, type Latency } from '../../figures/histogram.js';
import { exactly, nowMs, until } from '../../machine/clock.js';
import { readUsage, sharesOf, spent } from '../../machine/conditions.js';
import type { Member } from '../../radios/member.js';
import { RawRadio, type Target } from '../../radios/raw-radio.js';
import { joinAll } from '../../radios/swarm.js';
import { timedFrame } from '../../radios/timed-frame.js';
import { type Busy, fail, type Performance, perform } from '../player.js';

export interface GapsSetup {
  readonly talkers: Target;
  readonly listeners: Target;
  /** A talker and a listener for each talkgroup, those of the first talkgroup first. */
  readonly users: readonly Member[];
}

export interface GapsPiece {
  /** From when on gaps count, by nowMs(). */
  readonly fromMs: number;
  readonly ms: number;
}

/** A gap is the longest time between two frames of the same talker. */
export interface GapsPlayed extends Busy {
  readonly gaps: Latency;
  /** Frames that a listener did not hear. */
  readonly lost: number;
  /** Listeners that did not hear the last frame. */
  readonly silent: number;
  readonly late: Latency;
}

const FRAME_MS = 20;
/** Frames before `fromMs`: the first of a talker makes its burst known. */
const LEAD_FRAMES = 25;
const PAYLOAD_BYTES = 60;
const ARRIVAL_MS_MAX = 2_000;

perform<GapsSetup, GapsPiece, GapsPlayed, null>(prepare);

async function prepare({
  talkers,
  listeners,
  users,
}: GapsSetup): Promise<Performance<GapsPiece, GapsPlayed, null>> {
  /** By number of the talkgroup. */
  const ears = new Map<number, { lastMs: number; longestMs: number; heard: number }>();
  let fromMs = Number.POSITIVE_INFINITY;
  const radios = await joinAll(users, (token, index) => {
    const isTalker = index % 2 === 0;
    return new RawRadio({
      ...{ token, isTalker, lost: fail },
      target: isTalker ? talkers : listeners,
      receive(bytes, start) {
        const ear = ears.get(bytes.readUInt32BE(start + TALKGROUP_AT));
        if (ear === undefined) return;
        const atMs = nowMs();
        ear.heard++;
        if (atMs >= fromMs) ear.longestMs = Math.max(ear.longestMs, atMs - ear.lastMs);
        ear.lastMs = atMs;
      },
    });
  });
  const numbers = users
    .filter((_, index) => index % 2 === 0)
    .map(({ talkgroups }) => talkgroups[0]?.number ?? 0);
  let sequence = 0;

  return {
    async play(piece) {
      const [gaps, late] = [createRecorder(), createRecorder()];
      for (const number of numbers) ears.set(number, { lastMs: Number.NaN, longestMs: 0, heard: 0 });
      fromMs = piece.fromMs;
      const before = readUsage([]);
      const frames = LEAD_FRAMES + Math.ceil(piece.ms / FRAME_MS);
      const startMs = piece.fromMs - LEAD_FRAMES * FRAME_MS;
      for (let frame = 0; frame < frames; frame++) {
        const dueMs = startMs + frame * FRAME_MS;
        await exactly(dueMs);
        if (dueMs >= piece.fromMs) late.record(nowMs() - dueMs);
        for (const [index, talkgroup] of numbers.entries()) {
          const flags = frame === 0 ? START : 0;
          const sound = { flags, talkgroup, payloadBytes: PAYLOAD_BYTES, dueMs };
          radios[2 * index]?.send(timedFrame({ ...sound, sequence: sequence & 0xffff }));
        }
        sequence++;
      }
      const lastDueMs = startMs + (frames - 1) * FRAME_MS;
      const isThere = () => [...ears.values()].every(({ lastMs }) => lastMs >= lastDueMs);
      await until(isThere, ARRIVAL_MS_MAX);
      const { generatorShare } = sharesOf(spent(before, readUsage([])));
      for (const { longestMs } of ears.values()) gaps.record(longestMs);
      const heard = [...ears.values()].reduce((sum, ear) => sum + ear.heard, 0);
      return {
        ...{ gaps: gaps.latency(), late: late.latency(), generatorShare },
        lost: frames * numbers.length - heard,
        silent: [...ears.values()].filter(({ lastMs }) => !(lastMs >= lastDueMs)).length,
      };
    },
    end: async () => null,
  };
}
