// Encodes and decodes Opus with libopus in WebAssembly: the same code in every browser and in Node.
import {
  Application,
  isOpusError,
  type OpusDecoderHandle,
  createDecoder as openDecoder,
  createEncoder as openEncoder,
  Signal,
} from 'libopus-wasm';

/** The rate of all sound between the codec and the worklets (Hz). */
export const CODEC_RATE = 48_000;
/** Samples of a frame: 20 ms. */
export const FRAME_SAMPLES = 960;

/** Samples with a buffer of their own, which can be transferred to another thread. */
export type Samples = Float32Array<ArrayBuffer>;

/** `free` releases the memory in WebAssembly. Without it the memory is lost until the worker ends. */
export type Encoder = {
  /** Exactly 960 samples become one packet of 60 bytes. */
  encode(samples: Float32Array): Uint8Array;
  free(): void;
};

export type Decoder = {
  /**
   * The samples of a packet, 960 for one of 20 ms. null conceals a lost packet of 20 ms. A packet that is not Opus is
   * concealed too.
   */
  decode(packet: Uint8Array | null): Samples;
  free(): void;
};

// 20 ms at 24 kbit/s are exactly 60 bytes. A constant size says nothing about the speech when the payload is encrypted.
const BITRATE = 24_000;
// 0.8 ms of a core of 2026 for 20 ms. Complexity 10 costs twice the time for a difference that speech does not show.
const COMPLEXITY = 5;

const WARM_UP_FRAMES = 5;

let warm: Promise<void> | null = null;

/** Loads the codec when it is the first call, and makes it ready for speech. */
export async function createEncoder(): Promise<Encoder> {
  await warmUp();
  return newEncoder();
}

/** Loads the codec when it is the first call, and makes it ready for speech. */
export async function createDecoder(): Promise<Decoder> {
  await warmUp();
  return newDecoder();
}

async function newEncoder(): Promise<Encoder> {
  const encoder = await openEncoder({
    channels: 1,
    sampleRate: CODEC_RATE,
    frameSize: FRAME_SAMPLES,
    application: Application.Voip,
    signal: Signal.Voice,
    bitrate: BITRATE,
    vbr: false,
    complexity: COMPLEXITY,
  });
  return {
    encode: (samples) => encoder.encodeFloat(samples),
    free: () => encoder.free(),
  };
}

async function newDecoder(): Promise<Decoder> {
  const decoder = await openDecoder({ channels: 1, sampleRate: CODEC_RATE });
  return {
    decode: (packet) => decodeWith(decoder, packet),
    free: () => decoder.free(),
  };
}

/** Once a thread. */
function warmUp(): Promise<void> {
  warm ??= codeSomeSound();
  return warm;
}

/** Browsers compile WebAssembly as it is called: the first packet of a session took 100 ms, and delayed the burst. */
async function codeSomeSound(): Promise<void> {
  const [encoder, decoder] = [await newEncoder(), await newDecoder()];
  for (let frame = 0; frame < WARM_UP_FRAMES; frame++) {
    const sound = Float32Array.from(
      { length: FRAME_SAMPLES },
      (_, i) => 0.3 * Math.sin((i * (1 + frame)) / 20),
    );
    decoder.decode(encoder.encode(sound));
  }
  decoder.decode(null);
  encoder.free();
  decoder.free();
}

function decodeWith(decoder: OpusDecoderHandle, packet: Uint8Array | null): Samples {
  if (packet !== null && packet.length > 0) {
    try {
      return ownOf(decoder.decodeFloat(packet));
    } catch (error) {
      if (!isOpusError(error)) throw error;
    }
  }
  return ownOf(decoder.decodePacketLossFloat(FRAME_SAMPLES));
}

/** The package copies the samples out of the memory of WebAssembly, so their buffer is not shared. */
function ownOf(samples: Float32Array): Samples {
  return samples as Samples;
}
