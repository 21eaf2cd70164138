// Packs several frames of one burst into one message, and unpacks it (docs/protocol.md, section 2).
import {
  decodeFrame,
  FLAGS_AT,
  type Frame,
  type FrameFault,
  HEADER_BYTES,
  KIND_BUNDLE,
  KIND_MASK,
  PAYLOAD_BYTES_MAX,
  readBurst,
  readFlags,
  readSender,
  readTalkgroup,
} from './frame.js';

/** What a bundle's frames have in front of them: their length. */
const LENGTH_BYTES = 2;
/** A bundle of 60 ms. */
export const BUNDLE_FRAMES_MAX = 3;

/** Stamped frames of one burst, at least one, as one message: the first one's header, then each behind its length. */
export function encodeBundle(frames: readonly ArrayBuffer[]): ArrayBuffer {
  const length = frames.reduce((sum, { byteLength }) => sum + LENGTH_BYTES + byteLength, HEADER_BYTES);
  const bytes = new Uint8Array(length);
  const view = new DataView(bytes.buffer);
  let at = HEADER_BYTES;
  for (const frame of frames) {
    view.setUint16(at, frame.byteLength);
    bytes.set(new Uint8Array(frame), at + LENGTH_BYTES);
    at += LENGTH_BYTES + frame.byteLength;
  }
  bytes.copyWithin(0, HEADER_BYTES + LENGTH_BYTES, HEADER_BYTES + LENGTH_BYTES + HEADER_BYTES);
  view.setUint8(FLAGS_AT, readFlags(view) | KIND_BUNDLE);
  return bytes.buffer;
}

/** The frames of a message as a receiver gets it, one or a bundle's, payloads being views of it, or why it is none. */
export function decodeFrames(
  bytes: Uint8Array,
  payloadBytesMax = PAYLOAD_BYTES_MAX,
): Frame[] | FrameFault | 'bad_bundle' {
  const frame = decodeFrame(bytes, payloadBytesMax);
  if (typeof frame !== 'string') return [frame];
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const isBundle = frame === 'bad_kind' && (readFlags(view) & KIND_MASK) === KIND_BUNDLE;
  return isBundle ? decodeBundle(bytes, view, payloadBytesMax) : frame;
}

function decodeBundle(bytes: Uint8Array, view: DataView, payloadBytesMax: number): Frame[] | 'bad_bundle' {
  const frames: Frame[] = [];
  let at = HEADER_BYTES;
  while (at + LENGTH_BYTES <= bytes.byteLength && frames.length < BUNDLE_FRAMES_MAX) {
    const from = at + LENGTH_BYTES;
    at = from + view.getUint16(at);
    const frame =
      at > bytes.byteLength ? 'too_short' : decodeFrame(bytes.subarray(from, at), payloadBytesMax);
    if (typeof frame === 'string' || !isOfBurst(frame, view)) return 'bad_bundle';
    frames.push(frame);
  }
  return frames.length > 0 && at === bytes.byteLength ? frames : 'bad_bundle';
}

const isOfBurst = ({ talkgroup, sender, burst }: Frame, header: DataView) =>
  talkgroup === readTalkgroup(header) && sender === readSender(header) && burst === readBurst(header);
