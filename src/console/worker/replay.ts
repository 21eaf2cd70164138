// Replays calls that this console heard, from the memory of its radio. Loaded when there is a first one.
import type { Clock } from '../../client/clock.js';
import type { Radio } from '../../client/radio.js';
import { playBack } from '../../client/recall/play-back.js';
import type { Voices } from '../../client/sound/sound-types.js';
import type { Event, ReplayLine } from './messages.js';

export type Replay = {
  /** Ends the replay before. null: plays none. */
  play(callId: number | null): void;
};

export type ReplayParts = {
  radio: Pick<Radio, 'on' | 'recall'>;
  voices(): Voices | null;
  /** Of a packet. null: it is none. */
  packetMs(payload: Uint8Array): number | null;
  clock: Clock;
  send(event: Extract<Event, { kind: 'replay' }>): void;
};

/** Of packets that are not valid. */
const PACKET_MS = 20;
const REPLAY: ReplayLine = 'replay';

/** A new emergency ends a replay, and so does a call that the user may not hear any more. */
export function createReplay({ radio, voices, packetMs, clock, send }: ReplayParts): Replay {
  let playing: { callId: number; end(): void } | null = null;
  let burst = 0;
  radio.on('emergency', ({ state }) => {
    if (state === 'raised') stop();
  });
  radio.on('forgotten', ({ ids, isRevoked }) => {
    if (isRevoked && playing !== null && ids.includes(playing.callId)) stop();
    tell(ids);
  });
  return { play };

  function play(callId: number | null): void {
    stop();
    if (callId === null) return;
    const call = radio.recall.get(callId);
    const ready = voices();
    if (call === null) return tell([callId]);
    if (ready === null) return; // without the codec nothing is heard
    burst += 1;
    const voice = { talkgroupId: REPLAY, session: 0, burst };
    const end = () => ready.ended(REPLAY, 0, voice.burst);
    const { frames } = call;
    const [first] = frames;
    const { stop: stopFrames } = playBack({
      ...{ frames, clock, packetMs: (first && packetMs(first.payload)) ?? PACKET_MS },
      onFrame: (frame) => ready.hear({ ...voice, ...frame }, clock.nowMs()),
      onEnd() {
        end();
        over();
      },
    });
    playing = {
      callId,
      end() {
        stopFrames();
        ready.lagged(REPLAY); // what is queued is not played
        end();
      },
    };
    tell();
  }

  function stop(): void {
    if (playing === null) return;
    playing.end();
    over();
  }

  function over(): void {
    playing = null;
    tell();
  }

  function tell(forgotten: readonly number[] = []): void {
    send({ kind: 'replay', playing: playing?.callId ?? null, forgotten });
  }
}
