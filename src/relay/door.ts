// The relay's listening socket, shut for as long as the process is out of file descriptors.
//
// The engine accepts until nobody waits any more. When there is no descriptor for the next one, it is told at once that
// somebody waits, and again, and its thread takes a whole core until one is free.
import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';

/** A socket that listens. */
export interface Bound {
  readonly port: number;
  close(): void;
}

export interface DoorOptions {
  /** Rejects when the port is taken. */
  readonly bind: (port: number) => Promise<Bound>;
  /** The port; 0: a free one, which it then keeps. */
  readonly port: number;
  /** Whether so many descriptors could be opened now. */
  readonly hasRoom?: (descriptors: number) => boolean;
  readonly log: DoorLog;
}

export interface DoorLog {
  info(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export interface Door {
  readonly port: number;
  /** Nobody is accepted. */
  isShut(): boolean;
  /** For good. */
  close(): void;
}

/** So long a thread may spin. */
const LOOK_MS = 500;
/** Opened again for fewer, it would be shut again by the first few who come. */
const ROOM_TO_OPEN = 32;

/** Listens. Whoever waits when the door is shut is reset, whoever comes then is refused, and both come again. */
export async function openDoor({ bind, port: wanted, hasRoom = canOpen, log }: DoorOptions): Promise<Door> {
  let bound: Bound | null = await (wanted === 0 ? bindFree(bind) : bind(wanted));
  const { port } = bound;
  let opening = false;
  /** Why it could not be opened again, as far as it was logged. */
  let told: string | null = null;

  const timer = setInterval(() => {
    if (bound !== null) shutWithoutRoom(bound);
    else if (!opening && hasRoom(ROOM_TO_OPEN)) void open();
  }, LOOK_MS);

  function shutWithoutRoom(open: Bound): void {
    if (hasRoom(1)) return;
    log.error({ port }, 'out of file descriptors: nobody is accepted');
    open.close();
    bound = null;
  }

  async function open(): Promise<void> {
    opening = true;
    try {
      bound = await bind(port);
      told = null;
      log.info({ port }, 'file descriptors again: accepting');
    } catch (error) {
      // Expected: another process took the port, or the descriptors, meanwhile. The next look tries again.
      const reason = String(error);
      if (reason !== told) log.error({ port, err: error }, 'not accepting again yet');
      told = reason;
    }
    opening = false;
  }

  return {
    port,
    isShut: () => bound === null,
    close() {
      clearInterval(timer);
      bound?.close();
      bound = null;
    },
  };
}

/**
 * The engine sets SO_REUSEADDR only for a port that was named. Without it the connections that were accepted keep the
 * port from being bound again.
 */
async function bindFree(bind: DoorOptions['bind']): Promise<Bound> {
  const free = await bind(0);
  free.close();
  return bind(free.port);
}

function canOpen(descriptors: number): boolean {
  const opened: number[] = [];
  try {
    while (opened.length < descriptors) opened.push(openSync(devNull, 'r'));
    return true;
  } catch (error) {
    // Out of descriptors, or the whole machine is. Anything else says nothing about them.
    const { code } = error as NodeJS.ErrnoException;
    return code !== 'EMFILE' && code !== 'ENFILE';
  } finally {
    for (const descriptor of opened) closeSync(descriptor);
  }
}
