// Changes the rate of sound that comes in pieces, for audio devices that cannot run at 48 kHz.
import type { Samples } from './codec.js';

/** Products for one sample. 32 leave 60 dB between speech and its mirror images. */
const TAPS = 32;
const HALF = TAPS / 2;
/** Below half of the lower rate, to leave room for the slope of the filter. */
const PASSED = 0.92;

/** Creates the state of one stream. The function returns what the samples so far result in, 0.3 ms behind. */
export function createResampler(from: number, to: number): (samples: Float32Array) => Samples {
  const unit = greatestDivisor(from, to);
  const up = to / unit;
  const down = from / unit;
  const cutoff = Math.min(1, to / from) * PASSED;
  const kernels = Array.from({ length: up }, (_, phase) => kernelOf(phase / up, cutoff));
  let rest: Samples = new Float32Array(TAPS - 1);
  /** Place of the next result, in parts of `up` of an input sample, from the beginning of `rest`. */
  let at = 0;

  return (samples) => {
    const input = new Float32Array(rest.length + samples.length);
    input.set(rest);
    input.set(samples, rest.length);
    const count = Math.max(0, Math.ceil(((input.length - TAPS + 1) * up - at) / down));
    const output = new Float32Array(count);
    for (let i = 0; i < count; i++) {
      output[i] = sumOf(input, Math.floor(at / up), kernels[at % up] ?? []);
      at += down;
    }
    const used = Math.min(input.length, Math.floor(at / up));
    rest = input.slice(used);
    at -= used * up;
    return output;
  };
}

function sumOf(input: Samples, from: number, kernel: ArrayLike<number>): number {
  let sum = 0;
  for (let tap = 0; tap < TAPS; tap++) sum += (input[from + tap] ?? 0) * (kernel[tap] ?? 0);
  return sum;
}

/** A sinc under a cosine window, for a place of `fraction` behind the middle. Its sum is 1. */
function kernelOf(fraction: number, cutoff: number): Float32Array {
  const kernel = Float32Array.from({ length: TAPS }, (_, tap) => {
    const x = tap - (HALF - 1) - fraction;
    const window = Math.cos((Math.PI * x) / TAPS) ** 2;
    return window * sinc(x * cutoff);
  });
  const sum = kernel.reduce((total, value) => total + value, 0);
  return kernel.map((value) => value / sum);
}

const sinc = (x: number) => (x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x));

const greatestDivisor = (a: number, b: number): number => (b === 0 ? a : greatestDivisor(b, a % b));
