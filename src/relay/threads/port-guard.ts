// Keeps a second server of the same account from joining the port that the relay threads of this one share.
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Ends with the process, however that ends. */
export interface PortGuard {
  close(): void;
}

/**
 * Takes the name of the port, which only one process can have. The relay threads also make sure that no process listens yet,
 * so the name decides between two servers that start at the same moment. Rejects when another one has it.
 */
export async function guardPort(host: string, port: number): Promise<PortGuard> {
  const server = createServer((socket) => socket.destroy());
  server.listen(`\0talkgroup-radio:${host}:${port}`); // abstract, a name without a file: Linux alone has these
  try {
    await once(server, 'listening');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'EADDRINUSE') throw error;
    throw new Error(
      `cannot listen on WS_PORT ${port} of ${host}: another server of this service already uses it`,
    );
  }
  server.unref();
  return { close: () => void server.close() };
}
