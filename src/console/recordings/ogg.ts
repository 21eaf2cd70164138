// Makes an Ogg Opus file of a recording, and gives it to the browser.
import { opusPackets } from '../../client/recordings/packets.js';
import type { OpenedRecording } from '../../client/recordings/types.js';
import { builtFile } from '../built.js';

/** The whole file. Rejects when the worker does not come. */
export async function oggOf(
  opened: Pick<OpenedRecording, 'recording' | 'frames' | 'packetMs'>,
): Promise<Uint8Array<ArrayBuffer>> {
  const worker = new Worker(builtFile('recordings/ogg-worker.ts'), { type: 'module' });
  try {
    return await new Promise((resolve, reject) => {
      worker.addEventListener('message', ({ data }) => resolve(data));
      worker.addEventListener('error', () => reject(new TypeError('the worker did not come')));
      worker.postMessage(opusPackets(opened).packets);
    });
  } finally {
    worker.terminate();
  }
}

/** The browser asks for a place, or uses its folder. */
export function saveFile(name: string, bytes: Uint8Array<ArrayBuffer>): void {
  const address = URL.createObjectURL(new Blob([bytes], { type: 'audio/ogg' }));
  const link = document.createElement('a');
  Object.assign(link, { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
