// Real speech as encrypted radios send it: packets of a constant size, which tell nothing of what is said.
import { readOpus } from '../../../src/client/audio/ogg.js';
import { createDecoder, createEncoder } from '../../../src/client/sound/codec.js';

/** Behind the silence at the beginning of the recording. */
const FROM = 100;

/** So many packets of a recorded sentence, 20 ms and 60 bytes each. */
export async function sentence(count: number): Promise<Uint8Array[]> {
  const { packets } = await readOpus('bench/speech.ogg');
  const [decoder, encoder] = [await createDecoder(), await createEncoder()];
  const encoded = packets
    .slice(FROM, FROM + count)
    .map((packet) => Uint8Array.from(encoder.encode(decoder.decode(packet))));
  decoder.free();
  encoder.free();
  return encoded;
}
