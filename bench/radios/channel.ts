// Plays one talker and its listeners in one talkgroup of one server, frame by frame.
import { END, START } from '../../src/protocol/frame.js';
import { around, exactly, nowMs, until } from '../machine/clock.js';
import type { Member } from './member.js';
import { type ConnectionLost, RawRadio, type Target } from './raw-radio.js';
import { connectSwarm, FRAMES_MAX, talkgroupNumberOf } from './swarm.js';
import { timedFrame } from './timed-frame.js';

/** What is said and who hears it. */
export interface Audience {
  /** Every so many-th listener is a probe. */
  readonly probeEvery: number;
  readonly framesPerSecond: number;
  readonly payloadBytes: number;
  /** Moments of a frame period at which frames of several talkers leave, each waited for awake. Without it ten, by timers. */
  readonly phases?: number;
}

export interface ChannelOptions {
  readonly target: Target;
  /** The talker, then the listeners. The talker talks in its first talkgroup. */
  readonly users: readonly Member[];
  readonly audience: Audience;
  /** Of the whole burst but its end, which is one frame more. */
  readonly frames: number;
  /** Called by probes: the frame's number, and milliseconds from when it was due to heard. */
  readonly heard: (sequence: number, latencyMs: number) => void;
  /** The talker or a listener lost its connection. */
  readonly lost: (loss: ConnectionLost) => void;
}

/** Over all frames and all listeners. */
export interface Delivered {
  readonly sent: number;
  readonly lost: number;
  /** Heard twice, or never sent. */
  readonly duplicated: number;
  readonly outOfOrder: number;
}

export interface Channel {
  /** Speaks the next frame at `dueMs`, lets sinks read, and resolves halfway to the one after. Says how late it left. */
  speak(dueMs: number): Promise<number>;
  /** Ends the burst and waits for what is under way. */
  finish(): Promise<Delivered>;
}

/** A sink reads once in so many frames: at 50 frames/s five times a second. */
const SIP_FRAMES = 10;
/** What is still under way after the last frame may take so long to arrive. */
const ARRIVAL_MS_MAX = 2_000;

/** Resolves when all have joined. */
export async function openChannel(options: ChannelOptions): Promise<Channel> {
  const { target, audience, frames, heard, lost } = options;
  const { probeEvery, framesPerSecond, payloadBytes } = audience;
  const [talking, ...listening] = options.users;
  const talkgroup = talking?.talkgroups[0]?.number ?? 0;
  if (talking === undefined) throw new RangeError('a channel has a talker');
  if (frames >= FRAMES_MAX) throw new RangeError(`a run has at most ${FRAMES_MAX} frames`);
  const swarm = await connectSwarm({ target, users: listening, probeEvery, heard, lost });
  const talker = new RawRadio({
    target: { ...target, room: talkgroupNumberOf(talking) },
    token: talking.token,
    receive: () => {},
    lost,
    isTalker: true,
  });
  await talker.joined;
  let sequence = 0;

  function send(dueMs: number): void {
    const flags = (sequence === 0 ? START : 0) | (sequence === frames ? END : 0);
    talker.send(timedFrame({ flags, sequence, talkgroup, payloadBytes, dueMs }));
    sequence++;
  }

  return {
    async speak(dueMs) {
      await exactly(dueMs);
      const lateMs = nowMs() - dueMs;
      send(dueMs);
      // Halfway to the next frame this one has long been heard: what is done here delays no probe.
      await around(dueMs + 500 / framesPerSecond);
      swarm.sip(sequence, SIP_FRAMES);
      return lateMs;
    },
    async finish() {
      send(nowMs());
      swarm.flow();
      const { tally } = swarm;
      const expected = sequence * listening.length;
      await until(() => tally.received >= expected, ARRIVAL_MS_MAX);
      const { received, duplicated, outOfOrder } = tally;
      return { sent: sequence, lost: expected - received, duplicated, outOfOrder };
    },
  };
}
