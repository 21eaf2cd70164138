// Opens and closes the sockets of one postgres.js client, so that none outlives its client or reconnects without pause.
//
// postgres.js 3.4.9 by itself ends a connection by closing its own half and waits for the other half: on a half-open
// link for ever. It connects again when its client was ended between two attempts, and without any pause when a server
// ends the connection before it was ready.
import { connect, type Socket } from 'node:net';

export interface OwnSockets {
  /** For the option `socket` of postgres.js, which its documentation has and its types lack. */
  readonly socket: (target: Target) => Promise<Socket>;
  /** Destroys all of them at once. From now on there are no new ones. */
  close(): void;
}

/** What postgres.js made of the connection string. */
interface Target {
  readonly host: readonly string[];
  readonly port: readonly number[];
  /** A unix socket, instead of host and port. */
  readonly path: string | false;
}

/** At most `max` are ever opened. */
export function ownSockets(max = Number.POSITIVE_INFINITY): OwnSockets {
  const open = new Set<Socket>();
  let opened = 0;
  let closed = false;

  return {
    async socket({ host, port, path }) {
      // postgres.js attaches its listeners right after this function. An error that `connect` itself finds would
      // come before them, were it called before the first await.
      await null;
      if (closed || opened >= max) throw new EndedError('the client was ended');
      for (const socket of open) if (socket.destroyed) open.delete(socket);
      const turn = opened++ % host.length;
      const socket = path
        ? connect(path)
        : // `host` is where postgres.js looks for the name that a certificate must have.
          Object.assign(connect(port[turn] ?? 5432, host[turn]), { host: host[turn] });
      open.add(socket);
      // A server never ends a connection in good order. As an error it reaches the caller at once.
      socket.once('end', () => socket.destroy(new EndedError('the server ended the connection')));
      return socket;
    },
    close() {
      closed = true;
      for (const socket of open) socket.destroy();
    },
  };
}

/** With the code postgres.js itself uses for a connection that is gone. */
class EndedError extends Error {
  override name = 'EndedError';
  readonly code = 'CONNECTION_CLOSED';
}
