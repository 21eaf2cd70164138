// Makes packets in place of missing ones, so that the time in a file is right.
import { concealment, opusMs } from './opus.js';

/** The server ends a burst after 2 s of silence, so no burst has a longer pause. A longer gap is left out. */
const GAP_MS_MAX = 2_000;

/** Packets for `missing` packets behind the packet `last`. A decoder conceals them like lost ones. */
export function packetsInGap(last: Uint8Array, missing: number): Uint8Array[] {
  const gapMs = missing * (opusMs(last) ?? 0);
  return gapMs > 0 && gapMs <= GAP_MS_MAX ? Array.from({ length: missing }, () => concealment(last)) : [];
}
