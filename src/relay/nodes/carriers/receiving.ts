// Hands what comes over a bus to its subscriptions. One that throws neither ends the reader nor takes the others with it.
import type { BusCounts, Subject } from '../bus.js';
import { LineLimit, leaving } from '../peers/line-limit.js';

export interface Subscribed {
  readonly subject: Subject;
  readonly receive: (bytes: Uint8Array) => void;
}

export function createReceiver(
  counts: Pick<BusCounts, 'messagesIn' | 'bytesIn'>,
  log: { error(fields: object, message: string): void },
): (to: Subscribed, bytes: Uint8Array) => void {
  const bugs = new LineLimit();
  return ({ subject, receive }, bytes) => {
    counts.messagesIn++;
    counts.bytesIn += bytes.byteLength;
    try {
      receive(bytes);
    } catch (error) {
      bugs.line(0, performance.now(), (leftOut) =>
        log.error({ err: error, subject, ...leaving(leftOut) }, 'bus message failed'),
      );
    }
  };
}
