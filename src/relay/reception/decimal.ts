// Reads the time in the answer to a lag ping.

/** Digits of an integer number of milliseconds. More digits are not ours. */
const DIGITS_MAX = 15;

/** NaN: the payload is not a number. Written by hand, because the library call would make a text of each answer. */
export function readDecimal(payload: ArrayBuffer): number {
  const bytes = new Uint8Array(payload);
  if (bytes.length > DIGITS_MAX) return Number.NaN;
  let value = 0;
  for (const byte of bytes) {
    if (byte < ZERO || byte > NINE) return Number.NaN;
    value = 10 * value + byte - ZERO;
  }
  return value;
}

const ZERO = 0x30;
const NINE = 0x39;
