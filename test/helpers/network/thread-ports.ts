// What the relay threads of one process share: a port for each two of them, and their ids.
import { MessageChannel, type MessagePort } from 'node:worker_threads';

/** The ends of the ports, by thread. */
export function portsOf(threads: number): MessagePort[][] {
  const ends = Array.from({ length: threads }, (): MessagePort[] => []);
  for (const [index, own] of ends.entries())
    for (const other of ends.slice(index + 1)) {
      const { port1, port2 } = new MessageChannel();
      own.push(port1);
      other.push(port2);
    }
  return ends;
}

/** No relay has an id yet. */
export const idsOf = (threads: number) =>
  new Uint32Array(new SharedArrayBuffer(threads * Uint32Array.BYTES_PER_ELEMENT));
