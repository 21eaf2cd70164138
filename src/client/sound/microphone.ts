// Makes Opus packets of what the capture worklet sends while a talk runs, in a worker or in the page.
import { CODEC_RATE, createEncoder, type Encoder, FRAME_SAMPLES, type Samples } from './codec.js';
import { type FromCapture, listen, type Port, type ToCapture } from './ports.js';
import { createResampler } from './resample.js';
import type { Microphone } from './sound-types.js';

export type MicrophoneOptions = {
  /** Default: libopus. */
  createEncoder?: () => Promise<Encoder>;
};

/** Resolves when the codec is loaded. */
export async function createMicrophone({
  createEncoder: open = createEncoder,
}: MicrophoneOptions = {}): Promise<Microphone> {
  let port: Port | null = null;
  let isClosed = false;
  /** Counts the talks. A frame with the number of an earlier one was recorded before this one. */
  let talk = 0;
  let give: ((packet: Uint8Array) => void) | null = null;
  // null for the moment in which the next one is made.
  let encoder: Encoder | null = await open();
  let frames = createFrames();

  return {
    attach(next: Port) {
      port?.close();
      port = next;
      listen<FromCapture>(next, (frame) => receive(next, frame));
      if (give) send({ kind: 'talk', talk });
    },
    start(onPacket) {
      talk += 1;
      give = onPacket;
      frames = createFrames();
      send({ kind: 'talk', talk });
    },
    stop() {
      if (!give) return;
      give = null;
      send({ kind: 'silence' });
      renew();
    },
    close() {
      isClosed = true;
      give = null;
      port?.close();
      port = null;
      encoder?.free();
      encoder = null;
    },
  };

  function send(message: ToCapture): void {
    port?.postMessage(message, []);
  }

  function receive(from: Port, { talk: recorded, samples, rate }: FromCapture): void {
    const isWanted = give !== null && recorded === talk;
    if (isWanted) for (const frame of frames(samples, rate)) if (encoder) give?.(encoder.encode(frame));
    const back: ToCapture = { kind: 'return', samples };
    from.postMessage(back, [samples.buffer]);
  }

  /** An encoder holds the last 6.5 ms of what it was given. The next talk must not begin with the end of this one. */
  function renew(): void {
    encoder?.free();
    encoder = null;
    void open().then((opened) => {
      if (isClosed || encoder) opened.free();
      else encoder = opened;
    });
  }
}

/** Makes frames of 960 samples at 48 kHz of what comes, and keeps the rest for the next ones. */
function createFrames(): (samples: Samples, rate: number) => Float32Array[] {
  let resample: ((samples: Float32Array) => Samples) | null = null;
  let rest: Samples = new Float32Array(0);
  return (samples, rate) => {
    if (rate === CODEC_RATE && samples.length === FRAME_SAMPLES) return [samples];
    resample ??= createResampler(rate, CODEC_RATE);
    const more = resample(samples);
    const all = new Float32Array(rest.length + more.length);
    all.set(rest);
    all.set(more, rest.length);
    const count = Math.floor(all.length / FRAME_SAMPLES);
    rest = all.slice(count * FRAME_SAMPLES);
    return Array.from({ length: count }, (_, i) => all.subarray(i * FRAME_SAMPLES, (i + 1) * FRAME_SAMPLES));
  };
}
