// Plays the talkers of one server, one in each talkgroup, any number of them at the same time.
import { randomBytes } from 'node:crypto';
import { ENCRYPTED, END, START } from '../../src/protocol/frame.js';
import { around, exactly, nowMs } from '../machine/clock.js';
import type { Audience } from './channel.js';
import type { Sent } from './listeners.js';
import type { Member } from './member.js';
import { type ConnectionLost, RawRadio, type Target } from './raw-radio.js';
import { FRAMES_MAX, talkgroupNumberOf } from './swarm.js';
import { COUNTED, timedFrame } from './timed-frame.js';

/** What each of the first `talkers` says. */
export interface Words {
  readonly talkers: number;
  readonly frames: number;
  /** The first frame begins a burst, the last one ends it. */
  readonly begins?: boolean;
  readonly ends?: boolean;
  /** Called for each moment at which frames left, with how late that was. Without it nothing is timed. */
  readonly late?: (ms: number) => void;
}

export interface Talkers {
  readonly count: number;
  speak(words: Words): Promise<void>;
  sent(): Sent;
}

export interface TalkersOptions {
  readonly target: Target;
  readonly users: readonly Member[];
  /** By the index of the user. */
  readonly localPorts?: readonly number[];
  readonly audience: Audience;
  /** They announce their bursts as encrypted with epoch 0. What they send is as long as a seal, and none: no relay opens it. */
  readonly isSealed?: boolean;
  /** A talker lost its connection. */
  readonly lost: (loss: ConnectionLost) => void;
}

/** Resolves when all have joined. */
export async function seatTalkers(options: TalkersOptions): Promise<Talkers> {
  const { target, users, localPorts, audience, isSealed = false, lost } = options;
  const talkers = users.map((user, index) => {
    const localPort = localPorts?.[index];
    const room = talkgroupNumberOf(user);
    const place = { ...target, room, ...(localPort !== undefined && { localPort }) };
    return seat({ target: place, user, isSealed, lost });
  });
  await Promise.all(talkers.map(({ radio }) => radio.joined));
  return {
    count: talkers.length,
    speak: (words) => speak(talkers.slice(0, words.talkers), words, audience),
    sent: () => talkers.map(({ talkgroup, sent }) => [talkgroup, sent]),
  };
}

interface Talker {
  readonly radio: RawRadio;
  /** Where it talks. */
  readonly talkgroup: number;
  /** The id of it when bursts are encrypted, else null. */
  readonly sealedIn: string | null;
  /** Frames so far, which is the number of the next. */
  sent: number;
}

interface Seat extends Pick<TalkersOptions, 'target' | 'lost'> {
  readonly user: Member;
  readonly isSealed: boolean;
}

function seat({ target, user, isSealed, lost }: Seat): Talker {
  const radio = new RawRadio({ target, token: user.token, receive: () => {}, lost, isTalker: true });
  const sealedIn = isSealed ? (user.talkgroups[0]?.id ?? null) : null;
  return { radio, talkgroup: target.room ?? 0, sealedIn, sent: 0 };
}

/** Several talkers send spread over the frame period, as far as timers are exact. */
const PHASES_MAX = 10;
/** From now to the first frame: it is not late because of what was waited for. */
const NOTICE_MS = 1;

async function speak(talkers: readonly Talker[], words: Words, audience: Audience): Promise<void> {
  const { frames, begins = false, ends = false, late } = words;
  const periodMs = 1000 / audience.framesPerSecond;
  const phases = Math.min(talkers.length, audience.phases ?? PHASES_MAX);
  // To wait awake ten times in a short period would leave the generator no time for anything else.
  const isExact = phases === 1 || audience.phases !== undefined;
  const first = Math.ceil((nowMs() + NOTICE_MS) / periodMs);
  for (let frame = 0; frame < frames; frame++) {
    const flags = (begins && frame === 0 ? START : 0) | (ends && frame === frames - 1 ? END : 0);
    for (let phase = 0; phase < phases; phase++) {
      const dueMs = (first + frame + phase / phases) * periodMs;
      await (isExact ? exactly(dueMs) : soonAfter(dueMs));
      late?.(nowMs() - dueMs);
      for (let i = phase; i < talkers.length; i += phases) {
        say(talkers[i], flags, late === undefined ? COUNTED : dueMs, audience);
      }
    }
  }
}

/** Up to two milliseconds late, never early. */
async function soonAfter(dueMs: number): Promise<void> {
  while (nowMs() < dueMs) await around(dueMs + 1);
}

function say(talker: Talker | undefined, flags: number, dueMs: number, { payloadBytes }: Audience): void {
  if (talker === undefined) return;
  const { radio, talkgroup, sealedIn, sent: sequence } = talker;
  if (sequence >= FRAMES_MAX) throw new RangeError(`a talker has at most ${FRAMES_MAX} frames`);
  if (sealedIn !== null && (flags & START) !== 0) announce(radio, sealedIn);
  // A burst that was announced begins without START.
  const sent = sealedIn === null ? flags : (flags & ~START) | ENCRYPTED;
  radio.send(timedFrame({ flags: sent, sequence, talkgroup, payloadBytes, dueMs }));
  talker.sent++;
}

function announce(radio: RawRadio, talkgroup_id: string): void {
  const crypto = { suite: 4, epoch: 0, salt: randomBytes(16).toString('base64url') };
  radio.say({ type: 'FLOOR_REQUEST', talkgroup_id, crypto });
}
