// Collects the messages of one turn of the loop, and hands them over together at its end.
//
// A library that writes to its socket after each callback of uWebSockets.js makes a system call per frame, the dearest
// part of a frame that is forwarded. One call for all frames of a turn costs a fifth of that.
import { MESSAGE_BYTES_MAX, type Subject } from '../bus.js';

/** Bytes of messages that wait for the end of the turn. A turn of 5,000 frames has 600 KiB. */
export const TURN_BYTES_MAX = 4 * 1024 * 1024;
const ARENA_BYTES = 64 * 1024;

/** Sends one message. The bytes are valid until the next turn of the loop. A throw drops this message alone. */
type Send = (subject: Subject, bytes: Uint8Array) => void;

interface Told {
  /** The messages of a turn were handed over. */
  readonly flushed: () => void;
  /** `send` threw: the message is dropped. */
  readonly failed: (error: unknown) => void;
}

export function createOutbox(send: Send, { flushed, failed }: Told) {
  /** Reused from turn to turn. A turn with more bytes takes further memory. */
  const arena = Buffer.allocUnsafe(ARENA_BYTES);
  let used = 0;
  let waitingBytes = 0;
  const subjects: Subject[] = [];
  const messages: Uint8Array[] = [];
  let isArmed = false;

  function room(bytes: number): Uint8Array {
    if (used + bytes > ARENA_BYTES) return Buffer.allocUnsafe(bytes);
    used += bytes;
    return arena.subarray(used - bytes, used);
  }

  /** Forgets what waits. The number of its messages. */
  function clear(): number {
    const forgotten = subjects.length;
    used = 0;
    waitingBytes = 0;
    subjects.length = 0;
    messages.length = 0;
    return forgotten;
  }

  /** Hands over what waits now. */
  function flush(): void {
    if (subjects.length === 0) return;
    const count = subjects.length;
    try {
      for (let at = 0; at < count; at++) {
        const [subject, message] = [subjects[at], messages[at]];
        if (subject !== undefined && message !== undefined) hand(subject, message);
      }
      flushed();
    } finally {
      clear(); // else the same message would fail in every turn
    }
  }

  function hand(subject: Subject, message: Uint8Array): void {
    try {
      send(subject, message);
    } catch (error) {
      failed(error); // Expected: a connection that takes no such message.
    }
  }

  function turnEnds(): void {
    isArmed = false;
    flush();
  }

  return {
    /** Copies the message. What it makes per message is the view of the copy that the library needs. false: too many bytes wait already. */
    put(subject: Subject, head: Uint8Array, body: Uint8Array): boolean {
      const bytes = head.byteLength + body.byteLength;
      if (bytes > MESSAGE_BYTES_MAX) throw new Error(`a message of ${bytes} bytes is too long for the bus`);
      if (waitingBytes + bytes > TURN_BYTES_MAX) return false;
      const message = room(bytes);
      message.set(head, 0);
      message.set(body, head.byteLength);
      waitingBytes += bytes;
      subjects.push(subject);
      messages.push(message);
      if (!isArmed) {
        isArmed = true;
        setImmediate(turnEnds);
      }
      return true;
    },
    flush,
    clear,
  };
}
