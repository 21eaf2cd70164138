// A link that can be made slow, half-open or dead: a TCP proxy between any client and any server.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type NetConnectOpts, type Socket } from 'node:net';

export interface ChaosProxy {
  /** On 127.0.0.1; stays the same over `refuse` and `listen`. */
  readonly port: number;
  /** Connections accepted so far. */
  accepted(): number;
  /** Connections that the client has neither ended nor lost. */
  open(): number;
  /** From now on every byte arrives `ms` later, in both directions. */
  delay(ms: number): void;
  /**
   * Makes the link half-open: whatever is sent is lost, the end of a connection included, and neither side hears
   * about it. New connections are accepted and stay as silent.
   */
  hole(): void;
  /** New connections work again. Those that were in the hole have lost bytes and stay silent for ever. */
  heal(): void;
  /** Ends every connection in an orderly way. */
  close(): void;
  /** Ends every connection by a reset, as a crashed machine does after its restart. */
  reset(): void;
  /** From now on every new connection is ended as soon as it is accepted, until `listen`. */
  slam(): void;
  /** Stops listening, so that new connections are refused; those that exist go on. */
  refuse(): void;
  /** Listens again after `refuse`, or stops slamming. */
  listen(): Promise<void>;
  /** Ends everything. */
  stop(): Promise<void>;
}

/** Starts a proxy that forwards to `target`, a port or a unix socket. */
export async function startChaosProxy(target: NetConnectOpts): Promise<ChaosProxy> {
  const links = new Set<Link>();
  let accepted = 0;
  let delayMs = 0;
  let isHole = false;
  let isSlamming = false;

  const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    accepted++;
    if (isSlamming) return void client.destroy();
    const link = join({ client, target, isHole, delayMs: () => delayMs });
    links.add(link);
    void link.gone.then(() => links.delete(link));
  });
  const listen = (port: number) => once(server.listen(port, '127.0.0.1'), 'listening');
  await listen(0);
  const { port } = server.address() as AddressInfo;

  return {
    port,
    accepted: () => accepted,
    open: () => [...links].filter((link) => link.isOpen()).length,
    delay(ms) {
      delayMs = ms;
    },
    hole() {
      isHole = true;
      for (const link of links) link.lose();
    },
    heal() {
      isHole = false;
    },
    close() {
      for (const link of links) link.end('orderly');
    },
    reset() {
      for (const link of links) link.end('reset');
    },
    slam() {
      isSlamming = true;
    },
    refuse() {
      server.close();
    },
    async listen() {
      isSlamming = false;
      if (!server.listening) await listen(port);
    },
    async stop() {
      server.close();
      for (const link of links) link.end('orderly');
      await Promise.all([...links].map((link) => link.gone));
    },
  };
}

/** One accepted connection and, unless it came into the hole, the connection to the target that belongs to it. */
interface Link {
  /** True until the client ends its side. */
  isOpen(): boolean;
  /** Forgets what is on its way and all that comes. */
  lose(): void;
  end(manner: 'orderly' | 'reset'): void;
  /** Resolves when both connections are gone. */
  readonly gone: Promise<unknown>;
}

function join(parts: {
  client: Socket;
  target: NetConnectOpts;
  isHole: boolean;
  delayMs: () => number;
}): Link {
  const { client, target, isHole, delayMs } = parts;
  const server = isHole ? null : connect({ ...target, allowHalfOpen: true });
  const sides = server === null ? [client] : [client, server];
  let isLost = isHole;
  let isOpen = true;

  for (const side of sides) {
    side.on('error', () => {}); // expected: resets are our trade; 'close' follows
    side.on('close', () => {
      // In the hole the other side must not hear of it.
      if (!isLost) for (const other of sides) other.destroy();
    });
  }
  for (const event of ['end', 'close']) {
    client.on(event, () => {
      isOpen = false;
    });
  }
  if (server === null) client.resume();
  else {
    forward({ from: client, to: server, delayMs, isLost: () => isLost });
    forward({ from: server, to: client, delayMs, isLost: () => isLost });
  }
  return {
    isOpen: () => isOpen,
    lose() {
      isLost = true;
      for (const side of sides) side.resume(); // one that waited for the other to drain
    },
    end(manner) {
      if (manner === 'reset') client.resetAndDestroy();
      for (const side of sides) side.destroy();
    },
    gone: Promise.all(sides.map((side) => new Promise((resolve) => side.once('close', resolve)))),
  };
}

/** Copies what `from` sends, and its end, each `delayMs` after it came; the receiver slows the sender down. */
function forward({ from, to, delayMs, isLost }: Forwarding): void {
  const onTheWay: { chunk: Buffer | null; dueAt: number }[] = [];
  let timer: NodeJS.Timeout | null = null;
  from.on('data', (chunk: Buffer) => send(chunk));
  from.on('end', () => send(null));
  to.on('drain', () => from.resume());
  to.on('close', () => timer !== null && clearTimeout(timer));

  function send(chunk: Buffer | null): void {
    onTheWay.push({ chunk, dueAt: performance.now() + delayMs() });
    if (timer === null) deliver();
  }

  function deliver(): void {
    timer = null;
    if (isLost()) onTheWay.length = 0;
    for (let next = onTheWay[0]; next !== undefined; next = onTheWay[0]) {
      const waitMs = next.dueAt - performance.now();
      if (waitMs > 0) {
        timer = setTimeout(deliver, waitMs);
        return;
      }
      onTheWay.shift();
      if (next.chunk === null) to.end();
      else if (!to.write(next.chunk)) from.pause();
    }
  }
}

interface Forwarding {
  readonly from: Socket;
  readonly to: Socket;
  readonly delayMs: () => number;
  readonly isLost: () => boolean;
}
