// Caps the connections to the relay's port, because its engine must not run out of file descriptors.
//
// The engine accepts until no client waits. When the system has no descriptor for the next connection, the engine
// tries again at once and takes a whole core until one is free. It also keeps the descriptor of a socket that it closed
// with a close frame for up to 18 s when the client does not answer, and does not tell when it lets go. So connections
// are counted, and some of them are judged by the descriptor that is free next: the system always gives the lowest.
import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';

export interface CapOptions {
  /** Connections beyond it are refused. */
  readonly connectionsMax: number;
  /** Counts the connections of all relay threads, in memory that they share. Without it there is one relay. */
  readonly openOfAll?: Int32Array<SharedArrayBuffer> | null | undefined;
  /** Connections take descriptors below this number only. The rest is for everything else in the process. */
  readonly descriptorMax: number;
  /** The descriptor that a file opened now would get. */
  readonly nextDescriptor?: () => number;
  readonly log: { error(fields: object, message: string): void };
}

export type Cap = ReturnType<typeof createCap>;

export interface ConnectionFigures {
  /** Of this relay, those before their handshake included. */
  readonly open: number;
  /** Of all relays of the process. */
  readonly max: number;
  /** Closed without an answer. */
  readonly dropped: number;
}

/** Connections beyond the cap that are let in so far that they can be told why they are refused. */
export const REFUSED_AT_ONCE_MAX = 32;
/** To look costs 3 µs, a thirtieth of a handshake. Those between fit into what the process keeps in reserve. */
const LOOK_EVERY = 16;
/** A client that is refused comes again at once. The log says so once per period. */
const LOG_EVERY_MS = 10_000;

export function createCap({
  connectionsMax,
  openOfAll = null,
  descriptorMax,
  nextDescriptor = nextOf,
  log,
}: CapOptions) {
  let open = 0;
  let dropped = 0;
  let accepted = 0;
  let hasDescriptors = true;
  let loggedAtMs = Number.NEGATIVE_INFINITY;

  /** Counts one that came (1) or went (-1). The answer is the number in all. */
  function count(change: 1 | -1): number {
    open += change;
    return openOfAll === null ? open : Atomics.add(openOfAll, 0, change) + change;
  }

  const inAll = () => (openOfAll === null ? open : Atomics.load(openOfAll, 0));

  function looks(): boolean {
    // Without descriptors each one looks, so that the first one behind the shortage gets in.
    if (!hasDescriptors || ++accepted % LOOK_EVERY === 0) hasDescriptors = nextDescriptor() < descriptorMax;
    return hasDescriptors;
  }

  function refuse(): void {
    dropped++;
    const nowMs = performance.now();
    if (nowMs - loggedAtMs < LOG_EVERY_MS) return;
    loggedAtMs = nowMs;
    log.error({ connections: inAll(), connectionsMax, dropped, hasDescriptors }, 'connections rejected');
  }

  return {
    /** A connection was accepted. False: it must be closed at once, which is counted. */
    enters(): boolean {
      const isIn = count(1) <= connectionsMax + REFUSED_AT_ONCE_MAX && looks();
      if (!isIn) refuse();
      return isIn;
    },
    /** A connection ended, also one that was not let in. */
    leaves(): void {
      count(-1);
    },
    /**
     * Another connection would be refused. Looks again while there are no descriptors: as long as it says so, a load balancer
     * sends no connection that would look.
     */
    isFull: () => inAll() >= connectionsMax || !(hasDescriptors || looks()),
    /** There are more connections than may stay: a handshake is answered with a close. */
    isOver: () => inAll() > connectionsMax,
    figures: (): ConnectionFigures => ({ open, max: connectionsMax, dropped }),
  };
}

function nextOf(): number {
  try {
    const next = openSync(devNull, 'r');
    closeSync(next);
    return next;
  } catch (error) {
    // Out of descriptors, or the whole machine is. Anything else says nothing about them.
    const { code } = error as NodeJS.ErrnoException;
    return code === 'EMFILE' || code === 'ENFILE' ? Number.POSITIVE_INFINITY : 0;
  }
}
