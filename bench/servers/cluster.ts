// Starts nodes with nats-servers and a database, as `make cluster` does.
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

const PROGRAM = fileURLToPath(new URL('../../src/local/cluster.js', import.meta.url));

/** All of it is gone when `use` has settled. Rejects without nats-server. */
export const withCluster = <T>(options: ServerOptions, use: (cluster: Cluster) => Promise<T>): Promise<T> =>
  withLocalCluster({ nodes: 2, natsServers: 1 }, options, ({ nodes, natsPids, ...database }) => {
    const [near, far] = nodes;
    if (near === undefined || far === undefined) throw new Error('two nodes were asked for');
    return use({ nodes: [near, far], natsPid: natsPids[0] ?? Number.NaN, ...database });
  });

/** What `make cluster` starts, as it printed it. */
export interface LocalCluster extends Pick<Relay, 'dataDir' | 'jwtSecret'> {
  readonly nodes: readonly Relay[];
  readonly natsPids: readonly number[];
}

/** All of it is gone when `use` has settled. Rejects without nats-server. */
export function withLocalCluster<T>(
  counts: { readonly nodes: number; readonly natsServers: number },
  { settings, ...options }: ServerOptions,
  use: (cluster: LocalCluster) => Promise<T>,
): Promise<T> {
  if (findProgram('nats-server') === null)
    return Promise.reject(new Error('nats-server is missing: install the package nats-server'));
  return withFolder((folder) => {
    const database = {
      dataDir: join(folder, 'cluster'),
      jwtSecret: 'a bench signs its own tokens: no secret',
    };
    const own = {
      DATA_DIR: folder,
      PORT: '0',
      WS_PORT: '0',
      METRICS_PORT: '0',
      JWT_SECRET: database.jwtSecret,
    };
    const nodesIn = (output: string): LocalCluster['nodes'] =>
      [...output.matchAll(/^Node \d .*REST (\S+), WebSocket (\S+), Metrics (\S+), process (\d+)$/gm)].map(
        ([, restUrl = '', url = '', metricsUrl = '', pid]) => ({
          ...{ ...database, restUrl, url, metricsUrl },
          ...{ pid: Number(pid), dialect: 'relay' },
        }),
      );
    const { nodes, natsServers } = counts;
    const sizes = ['--nodes', `${nodes}`, '--nats-servers', `${natsServers}`];
    const start = {
      command: [process.execPath, '--enable-source-maps', PROGRAM, ...sizes],
      readUrl: (output: string) => (/^Ready\b/m.test(output) ? (nodesIn(output)[0]?.url ?? null) : null),
    };
    return withServer(start, { ...options, settings: { ...own, ...settings } }, (_, printed) => {
      const natsPids = [...printed.matchAll(/^NATS \d .* process (\d+)$/gm)].map(([, pid]) => Number(pid));
      return use({ ...database, nodes: nodesIn(printed), natsPids });
    });
  });
}
