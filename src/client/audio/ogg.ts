// Reads and writes Ogg Opus files packet by packet, without decoding.
import {
  BufferSource,
  BufferTarget,
  EncodedAudioPacketSource,
  EncodedPacket,
  EncodedPacketSink,
  FilePathSource,
  FilePathTarget,
  Input,
  OGG,
  OggOutputFormat,
  Output,
  type Source,
  type Target,
} from 'mediabunny';
import { opusMs } from './opus.js';

/** The contents of an Ogg Opus file. `preSkip`: number of samples at 48 kHz that a player skips at the start. */
export type OpusRecording = {
  channels: number;
  preSkip: number;
  packetMs: number;
  packets: Uint8Array[];
};

type Head = Pick<OpusRecording, 'channels' | 'preSkip'>;

/** An open Ogg Opus file. `write` throws TypeError if the bytes are not an Opus packet. `close` completes the file. */
export type OpusWriter = {
  write(packet: Uint8Array): Promise<void>;
  close(): Promise<void>;
};

// The look-ahead of libopus at 48 kHz, which its encoders announce as pre-skip.
const PRE_SKIP_OF_LIBOPUS = 312;
const SAMPLE_RATE = 48_000;
// RFC 7845 section 6 requires pages of at most 1 s. That is also the most that is lost when the process is killed.
const PAGE_SECONDS_MAX = 1;

/** Reads a whole file from memory or, in Node, from a path. Throws if it is not Ogg Opus or its packets differ in duration. */
export async function readOpus(file: Uint8Array | string): Promise<OpusRecording> {
  const source: Source = typeof file === 'string' ? new FilePathSource(file) : new BufferSource(file);
  using input = new Input({ source, formats: [OGG] });
  const track = await input.getPrimaryAudioTrack();
  const header = (await track?.getDecoderConfig())?.description;
  if (!track || !header || (await track.getCodec()) !== 'opus') throw new Error('not an Ogg Opus file');

  const packets: Uint8Array[] = [];
  for await (const packet of new EncodedPacketSink(track).packets()) packets.push(packet.data);
  const [first] = packets;
  const packetMs = first ? opusMs(first) : null;
  if (packetMs === null) throw new Error('the Ogg Opus file contains no audio');
  // The sequence on the wire counts periods, so one burst has packets of one length.
  if (packets.some((packet) => opusMs(packet) !== packetMs))
    throw new Error('all Opus packets must have the same duration');
  return { ...readHead(header), packetMs, packets };
}

/** Opens a file at a path for packets as they arrive. In Node only. */
export function createOpusWriter(path: string, head: Partial<Head> = {}): Promise<OpusWriter> {
  // Unchunked: pages reach the disk as they fill, so a killed process leaves a file that plays.
  return openWriter(new FilePathTarget(path, { chunked: false }), head);
}

async function openWriter(
  target: Target,
  { channels = 1, preSkip = PRE_SKIP_OF_LIBOPUS }: Partial<Head>,
): Promise<OpusWriter> {
  const track = new EncodedAudioPacketSource('opus');
  const output = new Output({
    format: new OggOutputFormat({ maximumPageDuration: PAGE_SECONDS_MAX }),
    target,
  });
  // Set here and not with the first packet, so that a file without packets has a header too.
  output.addAudioTrack(track, {
    decoderConfig: {
      codec: 'opus',
      sampleRate: SAMPLE_RATE,
      numberOfChannels: channels,
      description: writeHead(channels, preSkip),
    },
  });
  await output.start();

  let writtenMs = 0;
  return {
    async write(packet) {
      const durationMs = opusMs(packet);
      if (durationMs === null) throw new TypeError('not an Opus packet');
      const startMs = writtenMs;
      writtenMs += durationMs;
      await track.add(new EncodedPacket(packet, 'key', startMs / 1000, durationMs / 1000));
    },
    close: () => output.finalize(),
  };
}

/** Returns a whole file with exactly these packets and this pre-skip. */
export async function writeOpus(
  recording: Pick<OpusRecording, 'channels' | 'preSkip' | 'packets'>,
): Promise<Uint8Array> {
  const target = new BufferTarget();
  const writer = await openWriter(target, recording);
  for (const packet of recording.packets) await writer.write(packet);
  await writer.close();
  if (!target.buffer) throw new Error('the writer closed without a file');
  return new Uint8Array(target.buffer);
}

// The identification header of RFC 7845 section 5.1, mapping family 0 (one stream, mono or stereo).
const HEAD_BYTES = 19;
const CHANNELS_AT = 9;
const PRE_SKIP_AT = 10;
const SAMPLE_RATE_AT = 12;

function writeHead(channels: number, preSkip: number): Uint8Array {
  const head = new Uint8Array(HEAD_BYTES);
  head.set(new TextEncoder().encode('OpusHead'));
  head[8] = 1; // version
  head[CHANNELS_AT] = channels;
  const view = new DataView(head.buffer);
  view.setUint16(PRE_SKIP_AT, preSkip, true);
  view.setUint32(SAMPLE_RATE_AT, SAMPLE_RATE, true);
  return head;
}

function readHead(head: ArrayBufferView | ArrayBufferLike): Head {
  const view = ArrayBuffer.isView(head)
    ? new DataView(head.buffer, head.byteOffset, head.byteLength)
    : new DataView(head);
  return { channels: view.getUint8(CHANNELS_AT), preSkip: view.getUint16(PRE_SKIP_AT, true) };
}
