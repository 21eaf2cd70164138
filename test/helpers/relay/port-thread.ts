// A thread with a bus over a port, for tests: it subscribes, and stands still when it is told to.
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import type { Subject } from '../../../src/relay/nodes/bus.js';
import { openPorts } from '../../../src/relay/nodes/carriers/ports.js';

export interface PortThreadData {
  readonly port: MessagePort;
  /** It subscribes to the first one, and says what it hears about the second one, too. */
  readonly subjects: readonly [Subject, Subject];
  /** The thread stands still while this is 1, from a message to it on. */
  readonly still: Int32Array<SharedArrayBuffer>;
}

const { port, subjects, still } = workerData as PortThreadData;
const bus = openPorts({
  ports: [port],
  log: {
    error(fields) {
      throw new Error(JSON.stringify(fields));
    },
  },
});
const [heard, said] = subjects;
bus.subscribe(heard, (bytes) => {
  parentPort?.postMessage({ heard: Buffer.from(bytes).toString() });
  bus.publish(said, bytes, new Uint8Array(0));
});
parentPort?.on('message', () => {
  parentPort?.postMessage({ heard: 'still' });
  Atomics.wait(still, 0, 1);
});
