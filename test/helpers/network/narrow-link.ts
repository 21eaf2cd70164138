// A link of little bandwidth: a TCP proxy that passes on only so many bytes a second to the client.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

const STEP_MS = 20;

/** In front of `port` of this machine. Wide until it is narrowed. What waits in it is on its way, as in any network. */
export async function narrowLink(t: { teardown(end: () => void): unknown }, port: number) {
  let bytesPerStep = Number.POSITIVE_INFINITY;
  const sockets = new Set<Socket>();
  const server = createServer({ noDelay: true }, (client) => {
    const target = connect({ port, host: '127.0.0.1', noDelay: true });
    for (const socket of [client, target]) {
      sockets.add(socket);
      socket.on('error', () => {}); // a reset is an end. 'close' follows
      socket.on('close', () => {
        clearInterval(timer);
        client.destroy();
        target.destroy();
      });
    }
    client.pipe(target);
    target.on('readable', () => {}); // read by the timer alone
    const timer = setInterval(() => {
      const chunk = target.read(Math.min(bytesPerStep, target.readableLength));
      if (chunk !== null) client.write(chunk);
    }, STEP_MS);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.teardown(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return {
    port: (server.address() as AddressInfo).port,
    narrow(bytesPerSecond: number): void {
      bytesPerStep = Math.round((bytesPerSecond * STEP_MS) / 1000);
    },
  };
}
