// Makes the packets of an Ogg Opus file from the frames of a recording.
import { packetsInGap } from '../audio/gaps.js';
import { isOpus, opusMs } from '../audio/opus.js';
import type { OpenedRecording } from './types.js';

/** `concealed`: those in place of missing packets and pauses. `leftOut`: frames that are no Opus packets. */
export type OpusPackets = { packets: Uint8Array[]; concealed: number; leftOut: number };

/**
 * The packets for a file, as writeOpus and createOpusWriter of the package's `ogg` take them. Gaps of up to 2 s are filled with
 * packets that a decoder conceals, so the time in the file is right. A longer gap is left out.
 */
export function opusPackets({
  recording,
  frames,
  packetMs,
}: Pick<OpenedRecording, 'recording' | 'frames' | 'packetMs'>): OpusPackets {
  if (!isOpus(recording.codec)) return { packets: [], concealed: 0, leftOut: frames.length };
  const made: OpusPackets = { packets: [], concealed: 0, leftOut: 0 };
  let last: { packet: Uint8Array; atMs: number } | null = null;
  for (const { payload: packet, atMs } of frames) {
    if (opusMs(packet) === null) {
      made.leftOut += 1;
      continue;
    }
    if (last !== null) {
      const filling = packetsInGap(last.packet, Math.round((atMs - last.atMs) / packetMs) - 1);
      made.concealed += filling.length;
      made.packets.push(...filling);
    }
    made.packets.push(packet);
    last = { packet, atMs };
  }
  return made;
}
