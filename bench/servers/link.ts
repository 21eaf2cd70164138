// Carries the connections of one client to a server, and cuts them off on request.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { nowMs } from '../machine/clock.js';

export interface Link {
  readonly port: number;
  /** Ends every connection with a reset, and refuses new ones until `heal`. */
  cut(): Promise<void>;
  /** Resolves with the moment, by nowMs(), at which the client was connected again. */
  heal(): Promise<number>;
  stop(): void;
}

export async function startLink(target: number): Promise<Link> {
  const sockets = new Set<Socket>();
  let connected: (atMs: number) => void = () => {};
  const server = createServer({ noDelay: true }, (client) => {
    const onward = connect({ port: target, host: '127.0.0.1', noDelay: true });
    for (const [from, to] of [
      [client, onward],
      [onward, client],
    ] as const) {
      sockets.add(from);
      from.on('error', () => {}); // 'close' follows
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
      from.pipe(to);
    }
    onward.once('connect', () => connected(nowMs()));
  });
  const listen = (port: number) => once(server.listen(port, '127.0.0.1'), 'listening');
  await listen(0);
  const { port } = server.address() as AddressInfo;
  const reset = () => {
    for (const socket of sockets) socket.resetAndDestroy();
  };
  return {
    port,
    async cut() {
      const closed = once(server, 'close');
      server.close();
      reset();
      await closed;
    },
    async heal() {
      const again = new Promise<number>((resolve) => {
        connected = resolve;
      });
      await listen(port);
      return again;
    },
    stop() {
      server.close();
      reset();
    },
  };
}
