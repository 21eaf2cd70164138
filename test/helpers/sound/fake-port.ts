// A MessagePort without threads: the test is the other end.
import type { Port } from '../../../src/client/sound/ports.js';

export type FakePort<Sent, Received> = Port & {
  /** What the code under test sent, as a copy, in order. */
  readonly sent: Sent[];
  isClosed: boolean;
  /** The other end says something. */
  says(message: Received): void;
  /** Everything since the last call. */
  take(): Sent[];
};

export function fakePort<Sent, Received>(): FakePort<Sent, Received> {
  const listeners: ((event: unknown) => void)[] = [];
  const sent: Sent[] = [];
  return {
    sent,
    isClosed: false,
    // A real port moves the buffers. Here the sender's arrays become empty as well.
    postMessage(message, transfer) {
      sent.push(structuredClone(message, { transfer }) as Sent);
    },
    addEventListener(_type, listener) {
      listeners.push(listener);
    },
    start() {},
    close() {
      this.isClosed = true;
    },
    says(message) {
      for (const listener of listeners) listener({ data: message });
    },
    take: () => sent.splice(0),
  };
}
