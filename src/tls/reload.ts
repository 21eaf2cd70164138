// Connects the command `reload` with the running service by a Unix socket in DATA_DIR, for its owner and root only.
import { once } from 'node:events';
import { chmod, mkdir, rm } from 'node:fs/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { join, relative, resolve } from 'node:path';
import type { Look } from './renewal.js';

/** What names the socket, the same for service and command. */
interface Place {
  readonly DATA_DIR: string;
  readonly PORT: number;
}

export interface ReloadServer {
  /** Logs a warning when the socket cannot be made: the service works without the command. */
  listen(): Promise<void>;
  close(): Promise<void>;
}

interface Options {
  readonly config: Place;
  readonly look: () => Promise<Look>;
  readonly log: { warn(fields: object, message: string): void };
}

/** What macOS allows for the path of a socket. Linux allows 107. */
const PATH_BYTES_MAX = 103;
/** A command asks once. */
const ASKERS_MAX = 8;
const ANSWER_MS_MAX = 10_000;
const REQUEST = 'reload\n';

/** Nodes of one machine that share DATA_DIR differ in PORT. */
function socketOf({ DATA_DIR, PORT }: Place): string {
  const path = join(DATA_DIR, `reload-${PORT}.sock`);
  const fromHere = relative('', path);
  return Buffer.byteLength(fromHere) < Buffer.byteLength(path) ? fromHere : path;
}

export function createReloadServer({ config, look, log }: Options): ReloadServer {
  const path = socketOf(config);
  const askers = new Set<Socket>();
  const server = createServer((socket) => {
    let received = '';
    askers.add(socket);
    socket.on('close', () => askers.delete(socket));
    socket.setTimeout(ANSWER_MS_MAX, () => socket.destroy());
    socket.on('error', () => {}); // the asker is gone
    socket.setEncoding('utf8').on('data', (part: string) => {
      received += part;
      if (received === REQUEST) answer(socket);
      else if (!REQUEST.startsWith(received)) socket.destroy();
    });
  });
  server.maxConnections = ASKERS_MAX;

  function answer(socket: Socket): void {
    look().then(
      (outcome) => socket.end(JSON.stringify(outcome)),
      (error: Error) => {
        log.warn({ err: error }, 'reload failed');
        socket.destroy();
      },
    );
  }

  return {
    async listen() {
      try {
        await takePath(server, config);
        server.on('error', () => {}); // an accept that failed: the next one may not
      } catch (error) {
        log.warn({ err: error, path }, 'command reload not available: its socket cannot be made');
      }
    },
    async close() {
      if (!server.listening) return;
      const closed = once(server, 'close');
      server.close(); // removes the file, too
      for (const socket of askers) socket.destroy();
      await closed;
    },
  };
}

async function takePath(server: Server, config: Place): Promise<void> {
  const path = socketOf(config);
  if (Buffer.byteLength(path) > PATH_BYTES_MAX) throw new Error(`path longer than ${PATH_BYTES_MAX} bytes`);
  await mkdir(config.DATA_DIR, { recursive: true, mode: 0o700 });
  if (await lives(path)) throw new Error('another service with this DATA_DIR and PORT uses it');
  await rm(path, { force: true }); // of a service that was killed
  await once(server.listen(path), 'listening');
  await chmod(path, 0o600);
}

async function lives(path: string): Promise<boolean> {
  const socket = connect(path);
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false; // expected: there is no such file, or no process behind it
  } finally {
    socket.destroy();
  }
}

/** Asks the running service to look at its certificate. Rejects when no service answers. */
export async function askToReload(config: Place): Promise<Look> {
  const path = socketOf(config);
  const socket = connect(path);
  try {
    await once(socket, 'connect');
  } catch (error) {
    throw new Error(
      `no service with TLS answers at ${resolve(path)} (${(error as NodeJS.ErrnoException).code}). Run the command with the DATA_DIR and PORT of the service, as its user.`,
    );
  }
  socket.setTimeout(ANSWER_MS_MAX, () => socket.destroy(new Error('no answer from the service within 10 s')));
  socket.write(REQUEST);
  let answer = '';
  for await (const part of socket.setEncoding('utf8')) answer += part;
  if (answer === '') throw new Error('the service closed the connection without an answer');
  return JSON.parse(answer) as Look; // of `answer` above, in this version or another
}
