// Starts three nodes with three nats-servers and a database, to end them one by one and to start them again.
import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { connectedTo } from '../machine/connections.js';
import type { Target } from '../radios/raw-radio.js';
import { type LocalCluster, withLocalCluster } from './cluster.js';
import type { Relay } from './relay.js';
import { type ServerOptions, type Started, startServer } from './start.js';

export const NODES = 3;

export interface Nodes extends Pick<Relay, 'dataDir' | 'jwtSecret'> {
  /** Where radios connect. A node keeps its port when it is started again. */
  readonly targets: readonly Target[];
  readonly restUrls: readonly string[];
  readonly metricsUrls: readonly string[];
  /** NATS_URL of all nodes. */
  readonly natsUrls: readonly string[];
  pids(): readonly number[];
  signal(node: number, signal: NodeJS.Signals): void;
  /** Resolves when the process has ended. */
  ended(node: number): Promise<void>;
  /** Starts a node that has ended, with its settings and these. */
  start(node: number, settings?: Readonly<Record<string, string>>): Promise<void>;
  /** The nats-server to which a node is connected. -1: to none. */
  natsOf(node: number): number;
  /** Resolves when the process has ended. */
  killNats(server: number): Promise<void>;
  startNats(server: number): Promise<void>;
}

/** How a process was started. */
interface Origin {
  readonly command: readonly string[];
  readonly settings: Readonly<Record<string, string>>;
}

/** All of it is gone when `use` has settled. Rejects without nats-server. */
export const withNodes = <T>(options: ServerOptions, use: (nodes: Nodes) => Promise<T>): Promise<T> => {
  const settings = { ...portsFrom(randomInt(...FIRST_PORTS)), ...options.settings };
  return withLocalCluster({ nodes: NODES, natsServers: NODES }, { ...options, settings }, async (cluster) => {
    const { nodes, stop } = takeOver(cluster, options);
    try {
      return await use(nodes);
    } finally {
      await stop();
    }
  });
};

/**
 * The system gives no ports of this range by itself, so those of a node that ended are still free when it starts
 * again. LIMIT: another program may listen on one of them. The run then says so, and is to be repeated.
 */
const FIRST_PORTS: readonly [number, number] = [12_000, 32_000];

/** Of the first node. Those of the others follow. */
const portsFrom = (first: number) => ({
  PORT: `${first}`,
  WS_PORT: `${first + 1}`,
  METRICS_PORT: `${first + 2}`,
});

function takeOver({ nodes, natsPids, ...database }: LocalCluster, options: ServerOptions) {
  const again = new Map<number, Started>();
  const pidOf = { nodes: nodes.map(({ pid }) => pid), nats: [...natsPids] };
  const origins = { nodes: pidOf.nodes.map(originOf), nats: pidOf.nats.map(originOf) };
  const natsUrls = (origins.nodes[0]?.settings.NATS_URL ?? '').split(',');
  const natsPorts = natsUrls.map((url) => Number(new URL(url).port));

  async function restart(
    kind: 'nodes' | 'nats',
    index: number,
    settings: Readonly<Record<string, string>>,
    isReady: RegExp,
  ): Promise<void> {
    const origin = origins[kind][index];
    if (origin === undefined) throw new RangeError(`there is no ${index}`);
    const start = {
      command: origin.command,
      readUrl: (output: string) => (isReady.test(output) ? (nodes[index]?.url ?? '') : null),
    };
    const started = await startServer(start, { ...options, settings: { ...origin.settings, ...settings } });
    pidOf[kind][index] = started.pid;
    again.set(started.pid, started);
  }

  const ended = async (pid: number) => {
    const started = again.get(pid);
    if (started !== undefined) await started.exited;
    else await untilGone(pid, options.signal);
  };

  const own: Nodes = {
    ...database,
    targets: nodes.map(({ url, dialect }) => ({ url, dialect })),
    restUrls: nodes.map(({ restUrl }) => restUrl),
    metricsUrls: nodes.map(({ metricsUrl }) => metricsUrl),
    natsUrls,
    pids: () => pidOf.nodes,
    signal: (node, signal) => void process.kill(at(pidOf.nodes, node), signal),
    ended: (node) => ended(at(pidOf.nodes, node)),
    start: (node, settings = {}) => restart('nodes', node, settings, /^Ready$/m),
    natsOf: (node) => connectedTo(at(pidOf.nodes, node), natsPorts),
    async killNats(server) {
      process.kill(at(pidOf.nats, server), 'SIGKILL');
      await ended(at(pidOf.nats, server));
    },
    startNats: (server) => restart('nats', server, {}, /Server is ready/),
  };
  return {
    nodes: own,
    stop: async () => {
      // Nodes first: each goes on with what it needs until its end. One that stands still hears no other signal.
      const running = (pids: readonly number[]) => pids.flatMap((pid) => again.get(pid) ?? []);
      for (const pid of pidOf.nodes) wake(pid);
      await Promise.all(running(pidOf.nodes).map(({ stop }) => stop()));
      await Promise.all(running(pidOf.nats).map(({ stop }) => stop()));
    },
  };
}

function at(pids: readonly number[], index: number): number {
  const pid = pids[index];
  if (pid === undefined) throw new RangeError(`there is no ${index}`);
  return pid;
}

/** Of a process that runs. */
function originOf(pid: number): Origin {
  const fields = (name: string) => readFileSync(`/proc/${pid}/${name}`, 'utf8').split('\0').slice(0, -1);
  return {
    command: fields('cmdline'),
    settings: Object.fromEntries(
      fields('environ').map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
    ),
  };
}

const LOOK_MS = 20;

/** Its parent is another process, so nothing tells of its end. */
async function untilGone(pid: number, signal: AbortSignal): Promise<void> {
  while (isAlive(pid)) {
    signal.throwIfAborted();
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false; // expected: there is no such process
  }
}

function wake(pid: number): void {
  try {
    process.kill(pid, 'SIGCONT');
  } catch {
    // Expected: it has ended.
  }
}
