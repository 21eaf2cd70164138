// Three nats-servers as one cluster, with a chaos proxy in every link: node to server, server to server.
import { once } from 'node:events';
import { eventually } from '../eventually.js';
import { freePort } from '../programs.js';
import { type ChaosProxy, startChaosProxy } from './chaos-proxy.js';
import { launchNatsServer, type NatsServer, type Owner } from './nats-server.js';

/** The servers, and the nodes: 0, 1, 2. */
export type Place = 0 | 1 | 2;
export const PLACES: readonly Place[] = [0, 1, 2];

/** Each route has one side that dials. Servers that dialled each other would have two. */
const ROUTES: readonly (readonly [from: Place, to: Place])[] = [
  [1, 0],
  [2, 0],
  [2, 1],
];

interface Ports {
  readonly clients: number;
  readonly routes: number;
  readonly monitor: number;
}

interface Route {
  readonly port: number;
  readonly did_solicit: boolean;
  readonly remote_id: string;
}

export interface NatsCluster {
  /** NATS_URL of this node: all servers, each over a link of its own. */
  url(node: Place): string;
  /** The link of this node to this server. */
  link(node: Place, server: Place): ChaosProxy;
  /** The route between these two servers. */
  route(one: Place, other: Place): ChaosProxy;
  /** Number of the server that this node is connected to. undefined: to none. */
  serverOf(node: Place): Place | undefined;
  /** Each node can reach the server with its own number only, until `release`. */
  pin(): Promise<void>;
  release(): Promise<void>;
  signal(server: Place, signal: NodeJS.Signals): void;
  /** Resolves when its process has ended. */
  kill(server: Place): Promise<void>;
  /** Starts it again after `kill`. */
  start(server: Place): Promise<void>;
  /** Resolves when every server has a route to both others, each through its proxy and none past it. */
  isWhole(): Promise<void>;
}

const get = <T>(list: readonly T[], at: number): T => {
  const one = list[at];
  if (one === undefined) throw new Error(`there is none at ${at}`);
  return one;
};

export async function startNatsCluster(t: Owner): Promise<NatsCluster> {
  const folder = t.testdir({});
  const ports: Ports[] = [];
  for (const _ of PLACES)
    ports.push({ clients: await freePort(), routes: await freePort(), monitor: await freePort() });
  const closed = await freePort();
  const proxyTo = (port: number) => startChaosProxy({ host: '127.0.0.1', port });
  const links = await Promise.all(
    PLACES.map(() => Promise.all(ports.map(({ clients }) => proxyTo(clients)))),
  );
  const routes = await Promise.all(
    ROUTES.map(async ([from, to]) => ({ from, to, proxy: await proxyTo(get(ports, to).routes) })),
  );
  t.teardown(() =>
    Promise.all([...links.flat(), ...routes.map(({ proxy }) => proxy)].map((one) => one.stop())),
  );
  const link = (node: Place, server: Place) => get(get(links, node), server);

  // What the servers tell each other of their addresses leads to a port without a listener.
  const settingsOf = (at: Place) => `
    server_name: "server-${at}"
    http: "127.0.0.1:${get(ports, at).monitor}"
    max_pending: 4MB
    write_deadline: "2s"
    ping_interval: "1s"
    ping_max: 2
    cluster {
      name: "test"
      listen: "127.0.0.1:${get(ports, at).routes}"
      advertise: "127.0.0.1:${closed}"
      no_advertise: true
      routes: [${routes
        .filter(({ from }) => from === at)
        .map(({ proxy }) => `"nats-route://127.0.0.1:${proxy.port}"`)
        .join(', ')}]
    }`;
  const launch = (at: Place) => launchNatsServer(t, folder, get(ports, at).clients, settingsOf(at));
  const servers: NatsServer[] = await Promise.all(PLACES.map(launch));

  async function routesAt(at: Place): Promise<readonly Route[]> {
    const answer = await fetch(`http://127.0.0.1:${get(ports, at).monitor}/routez`);
    return ((await answer.json()) as { routes?: Route[] }).routes ?? [];
  }

  async function isWhole(): Promise<void> {
    for (const at of PLACES) {
      const found = await routesAt(at);
      // Newer servers have several connections for each route.
      const dialled = [...new Set(found.filter(({ did_solicit }) => did_solicit).map(({ port }) => port))];
      const others = new Set(found.map(({ remote_id }) => remote_id)).size;
      const own = routes.filter(({ from }) => from === at).map(({ proxy }) => proxy.port);
      const past = dialled.filter((port) => !own.includes(port));
      if (past.length > 0) throw new Error(`server ${at} has routes past the proxies: ${past}`);
      if (others !== 2 || dialled.length !== own.length)
        throw new Error(`server ${at} has routes to ${others}, ${dialled.length} of its own`);
    }
  }

  const cluster: NatsCluster = {
    url: (node) => PLACES.map((server) => `nats://127.0.0.1:${link(node, server).port}`).join(','),
    link,
    route(one, other) {
      const found = routes.find(({ from, to }) => [from, to].includes(one) && [from, to].includes(other));
      if (found === undefined) throw new Error(`no route between ${one} and ${other}`);
      return found.proxy;
    },
    serverOf: (node) => PLACES.find((server) => link(node, server).open() > 0),
    async pin() {
      for (const node of PLACES)
        for (const server of PLACES) {
          if (node === server) continue;
          link(node, server).refuse();
          link(node, server).reset();
        }
      await eventually(() => {
        for (const node of PLACES)
          if (cluster.serverOf(node) !== node)
            throw new Error(`node ${node} is at ${cluster.serverOf(node)}`);
      });
    },
    async release() {
      await Promise.all(links.flat().map((one) => one.listen()));
    },
    signal: (server, signal) => void get(servers, server).child.kill(signal),
    async kill(server) {
      const { child } = get(servers, server);
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
    },
    async start(server) {
      servers[server] = await launch(server);
    },
    isWhole: () => eventually(isWhole),
  };
  await cluster.isWhole();
  return cluster;
}
