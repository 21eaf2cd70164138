// Makes tones and finds them again: what the tests of sound speak and hear.
import type { Samples } from '../../../src/client/sound/codec.js';

export const RATE = 48_000;

/** A sine of this level (dBFS of its peak), from `from` on, in samples. */
export function sine(hz: number, samples: number, { peakDb = -12, from = 0, rate = RATE } = {}): Samples {
  const peak = 10 ** (peakDb / 20);
  return Float32Array.from(
    { length: samples },
    (_, i) => peak * Math.sin((2 * Math.PI * hz * (from + i)) / rate),
  );
}

/** The level (dBFS of the peak) of one frequency in the samples: the filter of Goertzel under a window of Hann. */
export function levelAt(hz: number, samples: Float32Array, rate = RATE): number {
  const turn = (2 * Math.PI * hz) / rate;
  const factor = 2 * Math.cos(turn);
  let [last, before] = [0, 0];
  for (const [i, sample] of samples.entries()) {
    const window = 0.5 - 0.5 * Math.cos((2 * Math.PI * i) / samples.length);
    const now = sample * window + factor * last - before;
    [last, before] = [now, last];
  }
  const power = last * last + before * before - factor * last * before;
  // The window halves the sum.
  return 20 * Math.log10((4 * Math.sqrt(Math.max(power, 1e-30))) / samples.length);
}

/** The largest step from one sample to the next. */
export function largestStep(samples: Float32Array): number {
  let largest = 0;
  for (let i = 1; i < samples.length; i++)
    largest = Math.max(largest, Math.abs((samples[i] ?? 0) - (samples[i - 1] ?? 0)));
  return largest;
}

export function joined(pieces: readonly Float32Array[]): Samples {
  const all = new Float32Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}

/** A WAV file, 16 bits, mono. */
export function wavOf(samples: Float32Array, rate = RATE): Uint8Array {
  const bytes = new Uint8Array(44 + samples.length * 2);
  const view = new DataView(bytes.buffer);
  const text = (at: number, name: string) => bytes.set(new TextEncoder().encode(name), at);
  text(0, 'RIFF');
  view.setUint32(4, bytes.length - 8, true);
  text(8, 'WAVEfmt ');
  view.setUint32(16, 16, true);
  view.setUint16(20, 1, true);
  view.setUint16(22, 1, true);
  view.setUint32(24, rate, true);
  view.setUint32(28, rate * 2, true);
  view.setUint16(32, 2, true);
  view.setUint16(34, 16, true);
  text(36, 'data');
  view.setUint32(40, samples.length * 2, true);
  for (const [i, sample] of samples.entries())
    view.setInt16(44 + i * 2, Math.round(Math.max(-1, Math.min(1, sample)) * 32_767), true);
  return bytes;
}
