// Cuts what the microphone gives, 128 samples at a time, into frames of 20 ms, while a talk runs.
import type { Samples } from './codec.js';
import type { FromCapture, Port, ToCapture } from './ports.js';

export type Framer = {
  receive(message: ToCapture): void;
  /** One quantum of the microphone. */
  push(samples: Float32Array): void;
};

/** Frames that may be on their way at once: 160 ms. */
const FRAMES = 8;

/** Creates the frames at once, so that the audio thread creates none while it runs. */
export function createFramer(rate: number, port: Pick<Port, 'postMessage'>): Framer {
  const length = Math.round(rate / 50);
  const free: Samples[] = Array.from({ length: FRAMES }, () => new Float32Array(length));
  const message: FromCapture = { talk: 0, samples: new Float32Array(0), rate };
  const transfer: ArrayBuffer[] = [];
  let isTalking = false;
  let frame: Samples | null = null;
  let filled = 0;

  return {
    receive(told) {
      if (told.kind === 'return') {
        if (told.samples.length === length && free.length < FRAMES) free.push(told.samples);
        return;
      }
      // A frame that is not full belongs to the talk before.
      filled = 0;
      isTalking = told.kind === 'talk';
      if (told.kind === 'talk') message.talk = told.talk;
    },
    push(samples) {
      if (!isTalking) return;
      for (let at = 0; at < samples.length; at++) {
        // When the worker stands still and has all frames, the sound of that time is lost.
        frame ??= free.pop() ?? null;
        if (frame === null) return;
        frame[filled] = samples[at] ?? 0;
        filled += 1;
        if (filled === length) give(frame);
      }
    },
  };

  function give(full: Samples): void {
    message.samples = full;
    transfer[0] = full.buffer;
    port.postMessage(message, transfer);
    frame = null;
    filled = 0;
  }
}
