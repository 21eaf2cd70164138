// Writes an Ogg Opus file of packets, in a worker: ten minutes of speech would keep the page busy.
import { writeOpus } from '../../client/audio/ogg.js';

/** Samples at 48 kHz. The look-ahead of libopus, which its encoders announce. */
const PRE_SKIP = 312;

/** The part of the worker's global object that is used here. The page's types declare it as a window. */
type Scope = {
  postMessage(file: Uint8Array): void;
  addEventListener(type: 'message', listener: (event: { data: Uint8Array[] }) => void): void;
};

const scope = self as unknown as Scope; // this file runs in a worker alone
scope.addEventListener('message', async ({ data: packets }) => {
  scope.postMessage(await writeOpus({ channels: 1, preSkip: PRE_SKIP, packets }));
});
