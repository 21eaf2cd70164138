// The processors of the audio thread: the player of all talkgroups, and the capture of the microphone.
import { createFramer, type Framer } from './framer.js';
import { createPeaks } from './level.js';
import { createMixer, type ToMixer } from './mixer.js';
import { listen, type Port, type ToCapture } from './ports.js';

// What an AudioWorkletGlobalScope has. The types of browsers do not declare it.
declare const sampleRate: number;
declare class AudioWorkletProcessor {
  readonly port: Port;
}
declare function registerProcessor(name: string, processor: new () => AudioWorkletProcessor): void;

/** 43 ms at 48 kHz: the page shows levels 23 times a second. */
const QUANTA_PER_LEVEL = 16;
const NOTHING: ArrayBuffer[] = [];
const NO_CHANNELS: readonly Float32Array[] = [];

class Player extends AudioWorkletProcessor {
  readonly #mixer = createMixer(sampleRate);
  #quanta = 0;

  constructor() {
    super();
    listen<ToMixer>(this.port, this.#mixer.receive);
  }

  process(_inputs: unknown, [first, second]: readonly (readonly Float32Array[])[]): boolean {
    this.#mixer.mix(first ?? NO_CHANNELS, second ?? NO_CHANNELS);
    this.#quanta += 1;
    if (this.#quanta % QUANTA_PER_LEVEL === 0) {
      const powers = this.#mixer.powers();
      if (powers) this.port.postMessage(powers, NOTHING);
    }
    return true;
  }
}

class Capture extends AudioWorkletProcessor {
  readonly #peaks = createPeaks(sampleRate);
  #framer: Framer | null = null;

  constructor() {
    super();
    listen<{ port: Port }>(this.port, ({ port }) => {
      const framer = createFramer(sampleRate, port);
      this.#framer = framer;
      listen<ToCapture>(port, framer.receive);
    });
  }

  process([input]: readonly (readonly Float32Array[])[]): boolean {
    // Without a connected input there are no channels.
    const samples = input?.[0];
    if (!samples) return true;
    this.#framer?.push(samples);
    const peak = this.#peaks(samples);
    if (peak !== null) this.port.postMessage(peak, NOTHING);
    return true;
  }
}

registerProcessor('talkgroup-player', Player);
registerProcessor('talkgroup-capture', Capture);
