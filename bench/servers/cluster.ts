// Starts two nodes with one nats-server and a database, as `make cluster` does.
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findProgram } from '../machine/processes.js';
import type { Relay } from './relay.js';
import { type Server, type ServerOptions, withFolder, withServer } from './start.js';

/** Two nodes, and what is needed to write users into their database. */
export interface Cluster extends Pick<Relay, 'dataDir' | 'jwtSecret'> {
  readonly nodes: readonly [Server, Server];
  readonly natsPid: number;
}

const PROGRAM = fileURLToPath(new URL('../../src/local-cluster.js', import.meta.url));

/** All of it is gone when `use` has settled. Rejects without nats-server. */
export function withCluster<T>(
  { settings, ...options }: ServerOptions,
  use: (cluster: Cluster) => Promise<T>,
): Promise<T> {
  if (findProgram('nats-server') === null)
    return Promise.reject(new Error('nats-server is missing: install the package nats-server'));
  return withFolder((folder) => {
    const jwtSecret = 'a bench signs its own tokens: no secret';
    const own = { DATA_DIR: folder, PORT: '0', WS_PORT: '0', METRICS_PORT: '0', JWT_SECRET: jwtSecret };
    const start = {
      command: [process.execPath, '--enable-source-maps', PROGRAM, '--nodes', '2', '--nats-servers', '1'],
      readUrl: (output: string) => (/^Ready\b/m.test(output) ? (nodesIn(output)[0]?.url ?? null) : null),
    };
    return withServer(start, { ...options, settings: { ...own, ...settings } }, (_, printed) => {
      const [near, far] = nodesIn(printed);
      if (near === undefined || far === undefined) throw new Error('two nodes were asked for');
      const natsPid = Number(/^NATS 1 .* process (\d+)$/m.exec(printed)?.[1]);
      return use({ nodes: [near, far], natsPid, dataDir: join(folder, 'cluster'), jwtSecret });
    });
  });
}

const nodesIn = (printed: string): Server[] =>
  [...printed.matchAll(/^Node \d .*WebSocket (\S+), .*process (\d+)$/gm)].map(([, url = '', pid]) => ({
    url,
    pid: Number(pid),
    dialect: 'relay',
  }));
