// Plays calls again: those that this console heard, from the memory of its radio, and recordings, of which the page has the
// speech. Loaded when there is a first one.
import type { Clock } from '../../client/clock.js';
import type { Radio } from '../../client/radio.js';
import type { RecalledFrame } from '../../client/recall/pages.js';
import { playBack } from '../../client/recall/play-back.js';
import type { Voices } from '../../client/sound/sound-types.js';
import type { Event, ReplayFrame, ReplayLine } from './messages.js';

export type Replay = {
  /** Ends the replay before. null: plays none. `frames`: of a recording, in their order. */
  play(callId: number | null, frames?: readonly ReplayFrame[]): void;
  /** Of a recording: pauses it, or goes on a second before the place where it was paused. */
  pause(isPaused: boolean): void;
  /** The user talks: a recording is paused, and another replay ends. */
  interrupt(): void;
};

export type ReplayParts = {
  radio: Pick<Radio, 'on' | 'recall'>;
  voices(): Voices | null;
  /** Of a packet. null: it is none. */
  packetMs(payload: Uint8Array): number | null;
  clock: Clock;
  send(event: Extract<Event, { kind: 'replay' }>): void;
};

type Call = { callId: number } & (
  | { isRecording: false; frames: readonly RecalledFrame[] }
  | { isRecording: true; frames: readonly ReplayFrame[] }
);

/** `atMs`: how much was played. `end` is for a call that is not paused. */
type Playing = { call: Call; isPaused: boolean; atMs(): number; end(): void };

/** Of packets that are not valid. */
const PACKET_MS = 20;
const REPLAY: ReplayLine = 'replay';
/** After a pause this much comes again (ms): the last word before the pause was cut. */
const AGAIN_MS = 1_000;

/** A new emergency interrupts a replay. One of a call that the user may not hear any more ends. */
export function createReplay({ radio, voices, packetMs, clock, send }: ReplayParts): Replay {
  let playing: Playing | null = null;
  let burst = 0;
  radio.on('emergency', ({ state }) => {
    if (state === 'raised') interrupt();
  });
  radio.on('forgotten', ({ ids, isRevoked }) => {
    if (isRevoked && playing !== null && ids.includes(playing.call.callId)) stop();
    tell(ids);
  });
  return {
    play(callId, recorded) {
      stop();
      if (callId === null) return;
      if (recorded !== undefined) return begin({ callId, frames: recorded, isRecording: true });
      const frames = radio.recall.get(callId)?.frames;
      if (frames === undefined) tell([callId]);
      else begin({ callId, frames, isRecording: false });
    },
    pause,
    interrupt,
  };

  function begin(call: Call): void {
    const ready = voices();
    if (ready === null) return over(); // without the codec nothing is heard
    burst += 1;
    const voice = { talkgroupId: REPLAY, session: 0, burst };
    const end = () => ready.ended(REPLAY, 0, voice.burst);
    const { frames } = call;
    const [first] = frames;
    const speech = playBack<RecalledFrame | ReplayFrame>({
      ...{ frames, clock, packetMs: (first && packetMs(first.payload)) ?? PACKET_MS },
      onFrame: (frame) => ready.hear({ ...voice, ...frame }, clock.nowMs()),
      onEnd() {
        end();
        over();
      },
    });
    playing = {
      ...{ call, isPaused: false, atMs: () => speech.atMs },
      end() {
        speech.stop();
        ready.lagged(REPLAY); // what is queued is not played
        end();
      },
    };
    tell();
  }

  function pause(isPaused: boolean): void {
    if (playing === null || !playing.call.isRecording || playing.isPaused === isPaused) return;
    const { call } = playing;
    if (!isPaused) return begin(call);
    const fromMs = Math.max(0, playing.atMs() - AGAIN_MS);
    playing.end();
    const left = call.frames.filter(({ atMs }) => atMs >= fromMs);
    const frames = left.map((frame) => ({ ...frame, atMs: frame.atMs - fromMs }));
    playing = { ...playing, call: { ...call, frames }, isPaused };
    tell();
  }

  function interrupt(): void {
    if (playing?.call.isRecording) pause(true);
    else stop();
  }

  function stop(): void {
    if (playing === null) return;
    if (!playing.isPaused) playing.end();
    over();
  }

  function over(): void {
    playing = null;
    tell();
  }

  function tell(forgotten: readonly number[] = []): void {
    const isPaused = playing?.isPaused ?? false;
    send({ kind: 'replay', playing: playing?.call.callId ?? null, forgotten, ...(isPaused && { isPaused }) });
  }
}
