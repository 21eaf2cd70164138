// The 16 bytes in front of every audio payload: the one definition shared by relay, client, bench and tests.
// It uses DataView alone, so it runs in a browser as it does in Node.

export const HEADER_BYTES = 16;
// An Opus packet of 60 ms stays below this, ciphertext overhead included.
export const PAYLOAD_BYTES_MAX = 1024;

export const FLAGS_AT = 0;
export const EPOCH_AT = 1;
export const SEQUENCE_AT = 2;
export const TALKGROUP_AT = 4;
export const SENDER_AT = 8;
export const BURST_AT = 12;

export const VERSION_MASK = 0xc0;
export const VERSION_1 = 0x40;
export const KIND_MASK = 0x30;
export const KIND_AUDIO = 0x00;
/** Several frames in one message. Sent by the server alone. */
export const KIND_BUNDLE = 0x10;
export const START = 0x08;
export const END = 0x04;
export const EMERGENCY = 0x02;
export const ENCRYPTED = 0x01;

export type FrameFault = 'too_short' | 'bad_version' | 'bad_kind' | 'empty' | 'too_long';

/** Names what is structurally wrong with a frame, or null. Allocates nothing and never throws. */
export function checkFrame(view: DataView, payloadBytesMax: number): FrameFault | null {
  if (view.byteLength < HEADER_BYTES) return 'too_short';
  const flags = view.getUint8(FLAGS_AT);
  if ((flags & VERSION_MASK) !== VERSION_1) return 'bad_version';
  if ((flags & KIND_MASK) !== KIND_AUDIO) return 'bad_kind';
  const payloadBytes = view.byteLength - HEADER_BYTES;
  if (payloadBytes === 0 && (flags & END) === 0) return 'empty';
  return payloadBytes > payloadBytesMax ? 'too_long' : null;
}

/** Writes the server's nine bytes (the whole flags byte, sender, burst) in place. Plain numbers, for it runs once per frame. */
export function stampFrame(view: DataView, flags: number, session: number, burst: number): void {
  view.setUint8(FLAGS_AT, flags);
  view.setUint32(SENDER_AT, session);
  view.setUint32(BURST_AT, burst);
}

// The readers expect a frame that passed checkFrame. On fewer than 16 bytes they throw RangeError.

/** The flags byte: version, kind, START, END, EMERGENCY, ENCRYPTED. */
export const readFlags = (view: DataView): number => view.getUint8(FLAGS_AT);
/** The low byte of the rotation counter of the key, 0 when the payload is clear. */
export const readEpoch = (view: DataView): number => view.getUint8(EPOCH_AT);
/** The flags byte and the epoch byte as one number. */
export const readFlagsAndEpoch = (view: DataView): number => view.getUint16(FLAGS_AT);
/** Frame periods since the START of the burst, modulo 65,536. */
export const readSequence = (view: DataView): number => view.getUint16(SEQUENCE_AT);
/** The talkgroup's number, not its UUID. */
export const readTalkgroup = (view: DataView): number => view.getUint32(TALKGROUP_AT);
/** The talker's session number. True only after the server stamped it. */
export const readSender = (view: DataView): number => view.getUint32(SENDER_AT);
/** The number of the talk burst in the talker's session. True only after the server stamped it. */
export const readBurst = (view: DataView): number => view.getUint32(BURST_AT);

/** A frame taken apart. `flags` holds START, END, EMERGENCY and ENCRYPTED, version and kind are fixed. */
export type Frame = {
  flags: number;
  epoch: number;
  sequence: number;
  talkgroup: number;
  sender: number;
  burst: number;
  payload: Uint8Array;
};

/** A new buffer with header and a copy of the payload. What a client need not know (epoch, sender, burst) is 0. */
export function encodeFrame(
  frame: Partial<Frame> & Pick<Frame, 'sequence' | 'talkgroup' | 'payload'>,
): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(HEADER_BYTES + frame.payload.byteLength);
  const view = new DataView(bytes.buffer);
  stampFrame(view, VERSION_1 | KIND_AUDIO | (frame.flags ?? 0), frame.sender ?? 0, frame.burst ?? 0);
  view.setUint8(EPOCH_AT, frame.epoch ?? 0);
  // Takes the running number: setUint16 keeps the low 16 bits, which is the wrap the wire asks for.
  view.setUint16(SEQUENCE_AT, frame.sequence);
  view.setUint32(TALKGROUP_AT, frame.talkgroup);
  bytes.set(frame.payload, HEADER_BYTES);
  return bytes;
}

/** The frame in `bytes`, its payload a view of the same memory, or the fault that makes it none. */
export function decodeFrame(bytes: Uint8Array, payloadBytesMax = PAYLOAD_BYTES_MAX): Frame | FrameFault {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const fault = checkFrame(view, payloadBytesMax);
  if (fault) return fault;
  return {
    flags: readFlags(view) & (START | END | EMERGENCY | ENCRYPTED),
    epoch: readEpoch(view),
    sequence: readSequence(view),
    talkgroup: readTalkgroup(view),
    sender: readSender(view),
    burst: readBurst(view),
    payload: bytes.subarray(HEADER_BYTES),
  };
}

/** The running number nearest to `last` that has these low 16 bits. May lie before `last`, and below 0 only for a stray early frame. */
export function unwrapSequence(last: number, sequence: number): number {
  // Shifting left then right sign-extends the 16-bit difference: half the range back, half ahead.
  return last + (((sequence - last) << 16) >> 16);
}
