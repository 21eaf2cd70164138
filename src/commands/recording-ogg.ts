// Makes an Ogg Opus file of the stored frames of a recording, with concealment packets in the place of short gaps.
import { writeOpus } from '../client/audio/ogg.js';
import { concealment, opusMs } from '../client/audio/opus.js';
import { HEADER_BYTES, readSequence } from '../protocol/frame.js';

/** A longer gap is left out (ms). The relay ends a burst after 2 s of silence. */
const GAP_MS_MAX = 2_000;
/** The sequence of a frame has 16 bits. A recording has fewer frame periods. */
const SEQUENCES = 65_536;
/** The look-ahead of libopus at 48 kHz (samples), which its encoders announce. */
const PRE_SKIP = 312;

export interface OggFile {
  readonly bytes: Uint8Array;
  /** Packets in the place of missing ones. */
  readonly concealed: number;
  /** Payloads that are no Opus packets. */
  readonly left_out: number;
}

/** `framed`: of each frame u16 length and the frame. null: it has no Opus packet. */
export async function oggOf(framed: Buffer): Promise<OggFile | null> {
  const packets: Uint8Array[] = [];
  let [concealed, leftOut] = [0, 0];
  let last: { readonly sequence: number; readonly packet: Uint8Array } | null = null;
  for (const frame of framesIn(framed)) {
    const packet = frame.subarray(HEADER_BYTES);
    if (packet.length === 0) continue; // an END without speech
    const packetMs = opusMs(packet);
    if (packetMs === null) {
      leftOut++;
      continue;
    }
    const sequence = readSequence(new DataView(frame.buffer, frame.byteOffset));
    const missing = last === null ? 0 : (sequence - last.sequence - 1 + SEQUENCES) % SEQUENCES;
    if (last !== null && missing * packetMs <= GAP_MS_MAX)
      for (let i = 0; i < missing; i++, concealed++) packets.push(concealment(last.packet));
    packets.push(packet);
    last = { sequence, packet };
  }
  if (last === null) return null;
  return {
    bytes: await writeOpus({ channels: 1, preSkip: PRE_SKIP, packets }),
    concealed,
    left_out: leftOut,
  };
}

function* framesIn(framed: Buffer): Generator<Buffer> {
  for (let at = 0; at < framed.length; ) {
    const length = framed.readUInt16BE(at);
    yield framed.subarray(at + 2, at + 2 + length);
    at += 2 + length;
  }
}
