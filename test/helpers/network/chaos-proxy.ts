// A link that can be made slow, half-open or dead: a TCP proxy between any client and any server.
import { once } from 'node:events';
import { connect, createServer, type NetConnectOpts, type Socket } from 'node:net';
import { freePort } from '../programs.js';

export interface ChaosProxy {
  /** On 127.0.0.1. Stays the same over `refuse` and `listen`. */
  readonly port: number;
  /** Connections accepted so far. */
  accepted(): number;
  /** Connections that the client has neither ended nor lost. */
  open(): number;
  /** From now on every byte arrives `ms` later, in both directions. */
  delay(ms: number): void;
  /** From now on each direction of a connection carries so many bytes a second. Infinity for as many as there are. */
  limit(bytesPerSecond: number): void;
  /** From now on whatever is sent arrives in pieces of so many bytes, each written by itself. Infinity for whole. */
  slice(bytes: number): void;
  /** Nothing moves any more, as on a radio link that fades. false: it goes on, and nothing was lost. */
  stall(isStalled: boolean): void;
  /** The next `bytes` of every connection, both directions together, still arrive. Then it is reset. Infinity: never. */
  resetAfter(bytes: number): void;
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
  /** Stops listening, so that new connections are refused. Those that exist go on. */
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
  const shape: Shape = {
    delayMs: 0,
    bytesPerSecond: Number.POSITIVE_INFINITY,
    sliceBytes: Number.POSITIVE_INFINITY,
    isStalled: false,
    resetAfterBytes: Number.POSITIVE_INFINITY,
  };
  let isHole = false;
  let isSlamming = false;

  const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    accepted++;
    if (isSlamming) return void client.destroy();
    const link = join({ client, target, isHole, shape });
    links.add(link);
    void link.gone.then(() => links.delete(link));
  });
  const listen = (port: number) => once(server.listen(port, '127.0.0.1'), 'listening');
  const port = await freePort(); // one that stays free while the link refuses
  await listen(port);

  return {
    port,
    accepted: () => accepted,
    open: () => [...links].filter((link) => link.isOpen()).length,
    delay(ms) {
      shape.delayMs = ms;
    },
    limit(bytesPerSecond) {
      shape.bytesPerSecond = bytesPerSecond;
    },
    slice(bytes) {
      shape.sliceBytes = bytes;
    },
    stall(isStalled) {
      shape.isStalled = isStalled;
    },
    resetAfter(bytes) {
      shape.resetAfterBytes = bytes;
      for (const link of links) link.countAnew();
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

/** What the link does to bytes on their way. Changed while they are. */
interface Shape {
  delayMs: number;
  bytesPerSecond: number;
  sliceBytes: number;
  isStalled: boolean;
  resetAfterBytes: number;
}

/** One accepted connection and, unless it came into the hole, the connection to the target that belongs to it. */
interface Link {
  /** True until the client ends its side. */
  isOpen(): boolean;
  /** Forgets what is on its way and all that comes. */
  lose(): void;
  /** Bytes before this do not count for `resetAfter`. */
  countAnew(): void;
  end(manner: 'orderly' | 'reset'): void;
  /** Resolves when both connections are gone. */
  readonly gone: Promise<unknown>;
}

function join(parts: { client: Socket; target: NetConnectOpts; isHole: boolean; shape: Shape }): Link {
  const { client, target, isHole, shape } = parts;
  const server = isHole ? null : connect({ ...target, allowHalfOpen: true }).setNoDelay(true);
  const sides = server === null ? [client] : [client, server];
  let isLost = isHole;
  let isOpen = true;
  let passedBytes = 0;

  for (const side of sides) {
    side.on('error', () => {}); // expected: resets are our trade. 'close' follows
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
  const end = (manner: 'orderly' | 'reset') => {
    if (manner === 'reset') client.resetAndDestroy();
    if (manner === 'reset' && 'port' in target) server?.resetAndDestroy(); // a unix socket knows no reset
    for (const side of sides) side.destroy();
  };
  const passed = (bytes: number) => {
    passedBytes += bytes;
    if (passedBytes > shape.resetAfterBytes) end('reset');
  };
  if (server === null) client.resume();
  else {
    forward({ from: client, to: server, shape, passed, isLost: () => isLost });
    forward({ from: server, to: client, shape, passed, isLost: () => isLost });
  }
  return {
    isOpen: () => isOpen,
    lose() {
      isLost = true;
      for (const side of sides) side.resume(); // one that waited for the other to drain
    },
    countAnew() {
      passedBytes = 0;
    },
    end,
    gone: Promise.all(sides.map((side) => new Promise((resolve) => side.once('close', resolve)))),
  };
}

/** Of a link that is narrow or stalled. What comes beyond waits at the sender, as in any network. */
const QUEUE_BYTES_MAX = 64 * 1024;
/** How often a stalled link is looked at. */
const STALL_MS = 20;

/** Copies what `from` sends, and its end, in the shape of the link. The receiver slows the sender down. */
function forward({ from, to, shape, passed, isLost }: Forwarding): void {
  const onTheWay: { chunk: Buffer | null; dueAt: number }[] = [];
  let queuedBytes = 0;
  let freeAt = 0;
  let wake = () => {};
  let isWaiting = false;
  from.on('data', (chunk: Buffer) => send(chunk));
  from.on('end', () => send(null));
  to.on('drain', () => brake());
  to.on('close', () => wake());

  function send(chunk: Buffer | null): void {
    if (isLost() || to.destroyed) return;
    onTheWay.push({ chunk, dueAt: performance.now() + shape.delayMs });
    queuedBytes += chunk?.length ?? 0;
    if (!isWaiting) deliver();
    brake();
  }

  function brake(): void {
    const isNarrow = shape.isStalled || shape.bytesPerSecond < Number.POSITIVE_INFINITY;
    if (!isLost() && (to.writableNeedDrain || (isNarrow && queuedBytes > QUEUE_BYTES_MAX))) from.pause();
    else from.resume();
  }

  function deliver(): void {
    isWaiting = false;
    if (isLost()) {
      onTheWay.length = 0;
      queuedBytes = 0;
    }
    for (let next = onTheWay[0]; next !== undefined && !to.destroyed; next = onTheWay[0]) {
      const waitMs = shape.isStalled ? STALL_MS : Math.max(next.dueAt, freeAt) - performance.now();
      if (waitMs > 0) return later(waitMs);
      if (next.chunk === null) {
        onTheWay.shift();
        to.end();
        continue;
      }
      const piece = next.chunk.subarray(0, Math.min(shape.sliceBytes, widthNow()));
      next.chunk = next.chunk.subarray(piece.length);
      if (next.chunk.length === 0) onTheWay.shift();
      queuedBytes -= piece.length;
      freeAt = performance.now() + (piece.length * 1000) / shape.bytesPerSecond;
      to.write(piece);
      passed(piece.length);
      // Two pieces written in one turn would leave as one.
      if (shape.sliceBytes < Number.POSITIVE_INFINITY && onTheWay.length > 0) return later(0);
    }
    brake();
  }

  /** A narrow link passes on what it carries in a fiftieth of a second, so that timers need not be exact. */
  function widthNow(): number {
    return Math.max(1, Math.ceil(shape.bytesPerSecond / 50));
  }

  function later(ms: number): void {
    isWaiting = true;
    if (ms === 0) return void setImmediate(deliver);
    const timer = setTimeout(deliver, ms);
    wake = () => clearTimeout(timer);
  }
}

interface Forwarding {
  readonly from: Socket;
  readonly to: Socket;
  readonly shape: Shape;
  /** So many bytes went over. */
  readonly passed: (bytes: number) => void;
  readonly isLost: () => boolean;
}
