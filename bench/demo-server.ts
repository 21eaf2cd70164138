// Starts the server of `make demo`: one node with its embedded database, or the local cluster.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const SERVER = fileURLToPath(new URL('../src/main.js', import.meta.url));
const CLUSTER = fileURLToPath(new URL('../src/local/cluster.js', import.meta.url));
const STOP_MS_MAX = 30_000;

export type DemoServer = {
  /** The addresses of each node. Rejects when the process ends before it listens. */
  nodes: Promise<Addresses[]>;
  /** The end of its log. */
  log(): string;
  /** Resolves when the process is gone. */
  stop(): Promise<void>;
};

type Addresses = { rest: string; relay: string };

/**
 * The built server with a database of its own in `dataDir`, on free ports, whatever the environment says. Several nodes
 * have one nats-server.
 */
export function startServer({
  dataDir,
  nodes,
  admin,
}: {
  dataDir: string;
  nodes: number;
  admin: { username: string; password: string };
}): DemoServer {
  const program = nodes === 1 ? [SERVER] : [CLUSTER, '--nodes', `${nodes}`, '--nats-servers', '1'];
  const child = spawn(process.execPath, program, {
    env: {
      PATH: process.env.PATH,
      ...{ DATA_DIR: dataDir, PORT: '0', WS_PORT: '0', METRICS_PORT: '0' },
      ...{ ADMIN_USERNAME: admin.username, ADMIN_PASSWORD: admin.password },
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    // Its own process group: Ctrl-C reaches us alone, and we stop the server once.
    detached: true,
  });
  const exited = once(child, 'exit');
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    log = (log + chunk).slice(-8_000);
  });
  const addresses = Promise.race([
    readAddresses(child.stdout, nodes),
    exited.then(([code, signal]) => {
      throw new Error(`the server ended (${signal ?? code}) before it listened`);
    }),
  ]);
  return {
    nodes: addresses,
    log: () => log,
    async stop() {
      const kill = setTimeout(STOP_MS_MAX, undefined, { ref: false }).then(() => child.kill('SIGKILL'));
      child.kill('SIGTERM');
      await Promise.race([exited, kill.then(() => exited)]);
    },
  };
}

function readAddresses(stdout: Readable, nodes: number): Promise<Addresses[]> {
  return new Promise((resolve) => {
    let printed = '';
    stdout.setEncoding('utf8').on('data', (chunk: string) => {
      printed += chunk;
      // One node has a line for each address, of several each has one line.
      const found = [...printed.matchAll(/REST +(\S+?),?\s+WebSocket +(\S+?),?\s/g)];
      const addresses = found.map(([, rest = '', relay = '']) => ({ rest, relay }));
      // Ready comes when the database does, after the addresses.
      if (addresses.length === nodes && /^Ready\b/m.test(printed)) resolve(addresses);
    });
  });
}
