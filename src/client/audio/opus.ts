// Reads the duration of an Opus packet from its first two bytes (RFC 6716 section 3.1), without decoding it.
import type { Codec } from '../../protocol/types.js';

/** Whether the payloads of a burst with this `codec` are Opus. Without one they are. */
export const isOpus = (codec: Codec | undefined): boolean =>
  codec === undefined || codec.name.toLowerCase() === 'opus';

// Duration of one frame (ms) by the upper five bits of the first byte, RFC 6716 table 2.
const FRAME_MS = [
  ...[10, 20, 40, 60, 10, 20, 40, 60, 10, 20, 40, 60], // SILK
  ...[10, 20, 10, 20], // hybrid
  ...[2.5, 5, 10, 20, 2.5, 5, 10, 20, 2.5, 5, 10, 20, 2.5, 5, 10, 20], // CELT
];
const CODE_MASK = 0x03;
const COUNTED = 3;
const COUNT_MASK = 0x3f;

/** Duration of a packet (ms). Null if it is too short to tell, or longer than the 120 ms that Opus allows. */
export function opusMs(packet: Uint8Array): number | null {
  const [toc] = packet;
  const frames = framesIn(packet);
  if (toc === undefined || frames === null) return null;
  const ms = (FRAME_MS[toc >> 3] ?? 0) * frames;
  return ms > 0 && ms <= 120 ? ms : null;
}

/** An empty packet of the same duration. Decoders conceal it like a lost one (RFC 7845 section 4.1). */
export function concealment(packet: Uint8Array): Uint8Array {
  const [toc = 0] = packet;
  const frames = framesIn(packet) ?? 1;
  // The same mode with empty frames. One frame needs no count, several need a count byte.
  return frames === 1 ? Uint8Array.of(toc & ~CODE_MASK) : Uint8Array.of(toc | COUNTED, frames);
}

function framesIn(packet: Uint8Array): number | null {
  const [toc, count] = packet;
  if (toc === undefined) return null;
  const code = toc & CODE_MASK;
  if (code !== COUNTED) return code === 0 ? 1 : 2;
  return count === undefined ? null : count & COUNT_MASK;
}
