// Deals the radios of a test out over two nodes of one service, when RADIOS_OVER=nodes asks for it.
import { randomUUID } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { connect as connectToNats, type NatsConnection } from '@nats-io/transport-node';
import t, { type Test } from 'tap';
import { eventually } from '../eventually.js';
import { metric } from '../http/exposition.js';
import { startNatsServer } from '../network/nats-server.js';
import { connect, type Radio } from './service.js';

let server: ReturnType<typeof startNatsServer> | null = null;
/** Of the nodes of this process. */
const connections = new Set<NatsConnection>();
let isFinding = false;

/** Keeps the connections that subscribe from now on. The library makes all of them from one prototype. */
async function findConnections(port: number): Promise<void> {
  if (isFinding) return;
  isFinding = true;
  const one = await connectToNats({ servers: [`127.0.0.1:${port}`] });
  const prototype = Object.getPrototypeOf(one) as NatsConnection;
  const { subscribe } = prototype;
  prototype.subscribe = function (this: NatsConnection, ...subscribed) {
    connections.add(this);
    return subscribe.apply(this, subscribed);
  };
  await one.close();
}

/** The radios of a test are dealt out over two nodes. */
export const isDealt = process.env.RADIOS_OVER === 'nodes';

/** Ways from node to node: what one says, the answer of the other one, and what the first makes of that. */
const WAYS = 3;

/**
 * Resolves when the nodes have handled all that they had sent each other, and what they said for that reason. On one node
 * it resolves at once.
 */
export async function heardEverywhere(): Promise<void> {
  for (let way = 0; way < WAYS && connections.size > 0; way++) {
    await setImmediate(); // a node sends at the end of its turn of the loop
    await confirmAll(); // the server has it
    await confirmAll(); // the other node has it: its messages come before the server's word
  }
}

async function confirmAll(): Promise<void> {
  for (const one of connections) if (one.isClosed()) connections.delete(one);
  await Promise.all([...connections].map((one) => one.flush().catch(() => {}))); // expected: the node is closed
}

/** What joins the nodes of one service. null: it has one node. */
export async function joiningOf(environment: Record<string, string>): Promise<Record<string, string> | null> {
  if (!isDealt || environment.NATS_URL !== undefined) return null;
  server ??= startNatsServer(t); // one for the file
  const { port } = await server;
  await findConnections(port);
  return {
    NATS_URL: `nats://127.0.0.1:${port}`,
    NATS_PREFIX: `t${randomUUID().slice(0, 8)}`,
    DATABASE_POOL: '3', // of the server that all tests share
  };
}

/** One of the two, by the addresses of its relay and of its metrics. */
export interface DealtNode {
  readonly ws: string;
  readonly metrics: string;
}

/** Resolves when each of the nodes reaches the other. */
export const reached = (nodes: readonly DealtNode[]) =>
  eventually(async () => {
    for (const node of nodes)
      if ((await metric(node.metrics, 'talkgroup_cluster_peers')) !== 1) throw new Error('not reached');
  });

async function settledEverywhere({ asks, arrivals, settled }: Radio): Promise<void> {
  const answer = await asks({ type: 'PING', t: 0 }); // its node has handled what it sent
  arrivals.splice(arrivals.indexOf(answer), 1); // the test expects one
  await heardEverywhere();
  await settled();
}

/** Every second radio is one of the second node, and every second one that resumes its session, wherever that is. */
export function dealer(t: Test, ws: string, nodes: readonly DealtNode[]) {
  const homes = new Map<number, string>();
  const dealt = new Set<Radio>();
  let count = 0;

  /** Radios of this node in each talkgroup, by what they were told. */
  function receiversAt(node: DealtNode): Map<number, number> {
    const receivers = new Map<number, number>();
    for (const radio of dealt) {
      if (radio.socket.readyState !== radio.socket.OPEN) dealt.delete(radio);
      else if (homes.get(radio.session) === node.ws)
        for (const number of joinedBy(radio)) receivers.set(number, (receivers.get(number) ?? 0) + 1);
    }
    return receivers;
  }

  /** Resolves when this node knows the radios of the other one that are in talkgroups of both, and no others. */
  const knows = (node: DealtNode, other: DealtNode) =>
    eventually(async () => {
      const here = receiversAt(node);
      const shared = [...receiversAt(other)].filter(([number]) => here.has(number));
      const sessions = shared.reduce((sum, [, count]) => sum + count, 0);
      const found = await metric(node.metrics, 'talkgroup_cluster_talkgroups');
      const counted = await metric(node.metrics, 'talkgroup_cluster_sessions');
      // Not more either: radios that left other talkgroups would hide one that is missing.
      if (found !== shared.length || counted !== sessions)
        throw new Error(
          `${node.ws}: ${found} of ${shared.length} shared, ${counted} of ${sessions} sessions`,
        );
    });

  return {
    async radioAt(resumed: Radio['welcome'] | null, token: string): Promise<Radio> {
      const home = nodes[count++ % 2]?.ws ?? ws;
      const resume = resumed === null ? '' : `&resume=${resumed.resume_token}`;
      const connected = await connect(t, `${home}/ws?token=${token}${resume}`);
      if (connected.welcome === null || nodes.length === 0) return connected;
      const radio = { ...connected, settled: () => settledEverywhere(connected) };
      homes.set(radio.session, home);
      dealt.add(radio);
      const [one, two] = nodes;
      if (one !== undefined && two !== undefined) await Promise.all([knows(one, two), knows(two, one)]);
      return radio;
    },
  };
}

/** Numbers of the talkgroups that the relay told the radio it is in. */
function joinedBy({ welcome, arrivals }: Radio): Iterable<number> {
  const joined = new Map((welcome?.talkgroups ?? []).map((one) => [one.talkgroup_id, Number(one.number)]));
  for (const told of arrivals) {
    if (!('type' in told)) continue;
    if (told.type === 'TALKGROUP_JOINED') joined.set(told.talkgroup_id, Number(told.number));
    if (told.type === 'TALKGROUP_LEFT') joined.delete(told.talkgroup_id);
  }
  return joined.values();
}
