// Ogg Opus files, packet by packet: what was spoken and what was heard, never decoded on the way.
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

/** The contents of an Ogg Opus file; `preSkip` in samples of 48 kHz, the part of the start a player cuts off. */
export type OpusRecording = {
  channels: number;
  preSkip: number;
  packetMs: number;
  packets: Uint8Array[];
};

/** An Ogg Opus file being written; `close` completes it, and one packet at least must have been written. */
export type OpusWriter = {
  write(packet: Uint8Array): Promise<void>;
  close(): Promise<void>;
};

// The look-ahead of libopus at 48 kHz, and what its encoders announce.
const PRE_SKIP_OF_LIBOPUS = 312;
const SAMPLES_PER_MS = 48;
// RFC 7845 section 6 wants pages of at most a second, and so much at most is lost when the process is killed.
const PAGE_SECONDS_MAX = 1;

/** Reads a whole file, from memory or (in Node) from a path; throws when it is no Ogg Opus or its packets differ in length. */
export async function readOpus(file: Uint8Array | string): Promise<OpusRecording> {
  const source: Source = typeof file === 'string' ? new FilePathSource(file) : new BufferSource(file);
  using input = new Input({ source, formats: [OGG] });
  const track = await input.getPrimaryAudioTrack();
  const header = (await track?.getDecoderConfig())?.description;
  if (!track || !header || (await track.getCodec()) !== 'opus') throw new Error('not an Ogg Opus file');

  const packets: Uint8Array[] = [];
  for await (const packet of new EncodedPacketSink(track).packets()) packets.push(packet.data);
  const packetMs = opusMs(packets[0]);
  // The sequence on the wire counts periods, so one burst has packets of one length.
  if (packets.some((packet) => opusMs(packet) !== packetMs)) throw new Error('the packets differ in length');
  return { ...readHead(header), packetMs, packets };
}

/** Opens a file for packets as they are heard: in memory (`BufferTarget`), or a path in Node. */
export async function createOpusWriter(
  target: Target | string,
  { channels = 1, preSkip = PRE_SKIP_OF_LIBOPUS }: Partial<Pick<OpusRecording, 'channels' | 'preSkip'>> = {},
): Promise<OpusWriter> {
  const track = new EncodedAudioPacketSource('opus');
  const output = new Output({
    format: new OggOutputFormat({ maximumPageDuration: PAGE_SECONDS_MAX }),
    target: typeof target === 'string' ? new FilePathTarget(target, { chunked: false }) : target,
  });
  output.addAudioTrack(track);
  await output.start();

  const decoderConfig = {
    codec: 'opus',
    sampleRate: 48_000,
    numberOfChannels: channels,
    description: writeHead(channels, preSkip),
  };
  let writtenMs = 0;
  return {
    async write(packet) {
      const durationMs = opusMs(packet);
      await track.add(new EncodedPacket(packet, 'key', writtenMs / 1000, durationMs / 1000), {
        decoderConfig,
      });
      writtenMs += durationMs;
    },
    close: () => output.finalize(),
  };
}

/** A whole file in memory, holding exactly these packets and this pre-skip. */
export async function writeOpus(
  recording: Pick<OpusRecording, 'channels' | 'preSkip' | 'packets'>,
): Promise<Uint8Array> {
  const target = new BufferTarget();
  const writer = await createOpusWriter(target, recording);
  for (const packet of recording.packets) await writer.write(packet);
  await writer.close();
  if (!target.buffer) throw new Error('the writer closed without a file');
  return new Uint8Array(target.buffer);
}
