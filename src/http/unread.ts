// Closes connections with a client that does not read its answer.
import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** What had left of a connection at the last look: bytes of whole writes, and bytes of the write under way to come. */
interface Look {
  readonly written: number;
  readonly queued: number;
}

/**
 * Checks all connections every `msMax`. Closes those with waiting bytes of which none was sent since the last check, so
 * after `msMax` to twice that. Bytes from the client do not count, unlike with the socket's own timer.
 * LIMIT: a byte counts as sent when the kernel takes it, and the kernel takes a large part of its buffer at once (4 MB
 * on the loopback). A client that reads less than that in twice the time is closed. A client that reads slightly more
 * keeps the answer in memory. A limit on the average rate would lift it.
 */
export function endUnread(
  server: Server,
  { event, msMax, onEnded }: { event: 'connection' | 'secureConnection'; msMax: number; onEnded: () => void },
): void {
  const looks = new Map<Socket, Look>();
  server.on(event, (socket: Socket) => {
    looks.set(socket, { written: 0, queued: 0 });
    socket.once('close', () => looks.delete(socket));
  });

  const timer = setInterval(() => {
    for (const [socket, last] of looks) {
      const now = lookAt(socket);
      looks.set(socket, now);
      const isWaiting = socket.writableLength > 0;
      if (!isWaiting || now.written !== last.written || now.queued !== last.queued) continue;
      onEnded();
      socket.destroy();
    }
  }, msMax);
  timer.unref();
  server.once('close', () => clearInterval(timer));
}

function lookAt(socket: Socket): Look {
  // Nothing else tells how far a write is. Node's own timer of a socket reads it, too.
  const { _handle: handle } = socket as unknown as { readonly _handle?: { readonly writeQueueSize: number } };
  return { written: socket.bytesWritten - socket.writableLength, queued: handle?.writeQueueSize ?? 0 };
}
