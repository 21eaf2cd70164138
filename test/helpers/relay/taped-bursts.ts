// Bursts as relays tape them, without floor and sockets, and the reading of what the tapes hand over.
import { EMERGENCY, HEADER_BYTES } from '../../../src/protocol/frame.js';
import type { Batch, Part } from '../../../src/protocol/recording-batch.js';
import { movedBurst, resume } from '../../../src/relay/floor/moved.js';
import { Talk } from '../../../src/relay/floor/talk.js';
import { Membership, Talkgroup, User } from '../../../src/relay/members/members.js';
import { BurstTape } from '../../../src/relay/taping/tape.js';
import { createTapes, type Tapes } from '../../../src/relay/taping/tapes.js';
import { accountRow, talkgroupRow } from './rows.js';

const RATES = { framesPerSecond: 110, userBytesPerSecond: 65_536, userDeliveriesPerSecond: 200_000 };
/** Unix time of the tests' clock at 0 ms. */
const UNIX_MS = 1_764_500_000_000;

export interface TapingRelay {
  readonly tapes: Tapes;
  readonly talkgroup: Talkgroup;
  readonly batches: Batch[];
  /** Fields of its lines in the log. */
  readonly told: object[];
  memberOf(name: string): Membership;
}

/** Relays with one clock and one talkgroup, which each of them holds for itself. */
export function tapingRelays(count: number, memoryBytes: number) {
  let nowMs = 1000;
  const clock = { nowMs: () => nowMs, unixMs: () => UNIX_MS + nowMs };
  const relays = Array.from({ length: count }, (): TapingRelay => {
    const batches: Batch[] = [];
    const told: object[] = [];
    const talkgroup = new Talkgroup(talkgroupRow({ recording_days: 30 }));
    const members = new Map<string, Membership>();
    return {
      tapes: createTapes({
        ...{ clock, memoryBytes, handOver: (batch) => void batches.push(batch) },
        log: { info: (fields) => void told.push(fields) },
      }),
      ...{ talkgroup, batches, told },
      memberOf(name) {
        const member = members.get(name) ?? new Membership(new User(accountRow(name)), talkgroup, '');
        members.set(name, member);
        return member;
      },
    };
  });
  return {
    relays,
    clock,
    pass(ms: number) {
      nowMs += ms;
    },
    tick() {
      for (const { tapes } of relays) tapes.tick(nowMs);
    },
    /** All that was handed over is stored. */
    store() {
      for (const { tapes, batches } of relays) {
        const bytes = batches
          .flatMap(({ parts }) => parts)
          .reduce((sum, one) => sum + one.bytes.byteLength, 0);
        tapes.stored(bytes - (storedBy.get(tapes) ?? 0));
        storedBy.set(tapes, bytes);
      }
    },
  };
}
const storedBy = new WeakMap<Tapes, number>();

export type Burst = ReturnType<typeof burstAt>;

/** A burst that begins at the relay, in a session and with a number of its own. `isUrgent`: in an open emergency. */
export function burstAt(
  relay: TapingRelay,
  { nowMs, unixMs }: { nowMs(): number; unixMs(): number },
  session: number,
  isUrgent = false,
) {
  const name = `user ${session % 3}`;
  const frames: Buffer[] = [];
  let at = relay;
  let talk = talkAt(relay);
  talk.burst = session + 100;
  talk.startedAt = unixMs();
  talk.startedAtMs = nowMs();
  if (isUrgent) talk.emergencyFlag = EMERGENCY;
  talk.tape = relay.tapes.begin(talk);
  const isTaped = talk.tape !== null;

  function talkAt({ memberOf }: TapingRelay): Talk {
    const ofSession = {
      ...{ number: session, isLive: true, socket: null, nextBurst: () => 1, mayBeTold: () => true },
      ...{ send() {}, refuse() {} },
    };
    const talk = new Talk(ofSession, memberOf(name), RATES, nowMs());
    talk.claim = 'talks';
    return talk;
  }

  return {
    session,
    frames,
    isTaped,
    /** Its frames are stored. */
    isStored: () => talk.tape instanceof BurstTape,
    talk: () => talk,
    relay: () => at,
    inEmergency() {
      talk.emergencyFlag = EMERGENCY;
    },
    /** A frame with so many bytes of payload, within a buffer that has more. */
    frame(bytes: number) {
      const before = frames.length % 5;
      const buffer = new Uint8Array(before + HEADER_BYTES + bytes + 3).fill(0xee);
      for (let index = 0; index < HEADER_BYTES + bytes; index++)
        buffer[before + index] = (frames.length * 31 + session * 7 + index) & 0xff;
      const view = new DataView(buffer.buffer, before, HEADER_BYTES + bytes);
      frames.push(Buffer.from(buffer.slice(before, before + HEADER_BYTES + bytes)));
      talk.relayed++;
      talk.tape?.frame(view, talk.frames);
    },
    end() {
      talk.tape?.ended('released', nowMs() - talk.startedAtMs, talk.frames);
      talk.tape = null;
    },
    /** Its session moves there. false: the burst may not go on. */
    move(to: TapingRelay, mayGoOn: boolean) {
      const moved = JSON.parse(JSON.stringify(movedBurst(talk, nowMs())));
      talk.tape?.left();
      talk.tape = null;
      talk = talkAt(to);
      at = to;
      talk.burst = moved.burst;
      if (!mayGoOn) return to.tapes.endMoved(talk, moved, 'disconnected');
      resume(talk, moved, nowMs());
      talk.tape = to.tapes.goOn(talk, moved.recording);
    },
  };
}

/** Of each frame in the part, the first four bytes of its header and its payload. */
export function framesOf({ bytes }: Part): Buffer[] {
  const found: Buffer[] = [];
  const all = Buffer.from(bytes);
  for (let at = 0; at < all.length; ) {
    const length = all.readUInt16BE(at + 4);
    found.push(Buffer.concat([all.subarray(at, at + 4), all.subarray(at + 6, at + 6 + length)]));
    at += 6 + length;
  }
  return found;
}

/** What of a frame is in a part. */
export const tapedOf = (frame: Buffer): Buffer =>
  Buffer.concat([frame.subarray(0, 4), frame.subarray(HEADER_BYTES)]);
