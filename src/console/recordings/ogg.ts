// Makes an Ogg Opus file of a recording, and gives it to the browser.
import { writeOpus } from '../../client/audio/ogg.js';
import { opusPackets } from '../../client/recordings/packets.js';
import type { OpenedRecording } from '../../client/recordings/types.js';

/** The look-ahead of libopus, which its encoders announce. */
const HEAD = { channels: 1, preSkip: 312 };

/** The whole file. */
export const oggOf = (opened: Pick<OpenedRecording, 'recording' | 'frames' | 'packetMs'>) =>
  writeOpus({ ...HEAD, packets: opusPackets(opened).packets });

/** The browser asks for a place, or uses its folder. */
export function saveFile(name: string, bytes: Uint8Array): void {
  const address = URL.createObjectURL(new Blob([bytes as Uint8Array<ArrayBuffer>], { type: 'audio/ogg' }));
  const link = document.createElement('a');
  Object.assign(link, { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
