// Loaded before the service (node --import): from SIGWINCH (which nothing else uses) on, its last relay thread has the
// fault that RELAY_FAULT names.
import { BroadcastChannel, isMainThread, workerData } from 'node:worker_threads';

/** How long a thread with the fault `stall` does nothing: longer than another one takes it for reachable. */
export const STALL_MS = 2500;

const faults: Readonly<Record<string, () => void>> = {
  throw() {
    throw new Error('a fault of one thread');
  },
  exit: () => process.exit(3),
  stall: () => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, STALL_MS),
};

const channel = new BroadcastChannel('relay faults');
channel.unref();
if (isMainThread) process.on('SIGWINCH', () => channel.postMessage('now'));
// The hashing thread is no relay.
else if (workerData?.config !== undefined && workerData.place?.index !== 0)
  channel.onmessage = () => faults[process.env.RELAY_FAULT ?? '']?.();
