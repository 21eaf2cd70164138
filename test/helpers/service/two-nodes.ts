// Deals the radios of a test out over two nodes of one service, when RADIOS_OVER=nodes asks for it.
import { randomUUID } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { connect as connectToNats, type NatsConnection } from '@nats-io/transport-node';
import t, { type Test } from 'tap';
import { eventually } from '../eventually.js';
import { metric } from '../http/exposition.js';
import { startNatsServer } from '../network/nats-server.js';
import { connect, type Json, type Radio } from './service.js';

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

/** They are dealt out over two nodes. */
export const isOverNodes = process.env.RADIOS_OVER === 'nodes';
/** The radios of a test are dealt out over two relays, of two nodes or of two threads. */
export const isDealt = isOverNodes || process.env.RADIOS_OVER === 'threads';

/** Ways from relay to relay: what one says, the answer of the other one, and what the first makes of that. */
const WAYS = 3;

/** For each service with two threads: resolves when each thread has handled what the other one had sent it. */
export const betweenThreads = new Set<() => Promise<void>>();

/**
 * Resolves when the relays have handled all that they had sent each other, and what they said for that reason. With one
 * relay it resolves at once.
 */
export async function heardEverywhere(): Promise<void> {
  for (let way = 0; way < WAYS && connections.size > 0; way++) {
    await setImmediate(); // a node sends at the end of its turn of the loop
    await confirmAll(); // the server has it
    await confirmAll(); // the other node has it: its messages come before the server's word
  }
  for (let way = 0; way < WAYS && betweenThreads.size > 0; way++)
    await Promise.all([...betweenThreads].map((cross) => cross()));
}

async function confirmAll(): Promise<void> {
  for (const one of connections) if (one.isClosed()) connections.delete(one);
  const answered = [...connections].map((one) => Promise.race([one.flush(), one.closed()]).catch(() => {}));
  await Promise.all(answered); // expected of a rejection: the node is closed
}

/** What joins the nodes of one service. null: it has one node. */
export async function joiningOf(environment: Record<string, string>): Promise<Record<string, string> | null> {
  if (!isOverNodes || environment.NATS_URL !== undefined) return null;
  server ??= startNatsServer(t); // one for the file
  t.teardown(() => {
    server = null;
  });
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

/**
 * Resolves when each of these radios was sent a message that `matches`. At once with one relay, where it comes before the
 * answer to what it follows from.
 */
export async function toldEverywhere(
  radios: readonly Radio[],
  matches: (message: Json) => boolean,
): Promise<void> {
  if (!isDealt) return;
  await eventually(() => {
    for (const { session, arrivals } of radios)
      if (!arrivals.some((told) => 'type' in told && matches(told)))
        throw new Error(`${session} was not told yet`);
  });
}

/** The radio as a test of two relays has it: what it heard of its own, the other one knows when the test goes on. */
export function heardByBoth(radio: Radio, asked: (message: Json) => void = () => {}): Radio {
  const { hears, hearsText, hearsFrame, hearsFrames, asks, closes } = radio;
  const after = async <T>(heard: Promise<T>): Promise<T> => {
    const what = await heard;
    await heardEverywhere();
    return what;
  };
  return {
    ...radio,
    hears: (...told) => after(hears(...told)),
    hearsText: (text) => after(hearsText(text)),
    hearsFrame: () => after(hearsFrame()),
    hearsFrames: (count) => after(hearsFrames(count)),
    async asks(message) {
      const answer = await after(asks(message));
      asked(message);
      return answer;
    },
    closes: () => after(closes()),
    settled: () => settledEverywhere(radio),
  };
}

async function settledEverywhere({ asks, arrivals, settled }: Radio): Promise<void> {
  const answer = await asks({ type: 'PING', t: 0 }); // its node has handled what it sent
  arrivals.splice(arrivals.indexOf(answer), 1); // the test expects one
  await heardEverywhere();
  await settled();
}

interface Dealt {
  readonly token: string;
  /** Ids of the talkgroups that it does not receive: UNSUBSCRIBE. */
  readonly left: ReadonlySet<unknown>;
}

/** Every second radio is one of the second node, and every second one that resumes its session, wherever that is. */
export function dealer(t: Test, ws: string, nodes: readonly DealtNode[]) {
  const homes = new Map<number, string>();
  const dealt = new Map<Radio, Dealt>();
  let count = 0;

  /** Radios of this node in each talkgroup, by what they were told. */
  function receiversAt(node: DealtNode): Map<number, number> {
    const receivers = new Map<number, number>();
    for (const [radio, { left }] of dealt) {
      if (radio.socket.readyState !== radio.socket.OPEN) dealt.delete(radio);
      else if (homes.get(radio.session) === node.ws)
        for (const [id, number] of joinedBy(radio))
          if (!left.has(id)) receivers.set(number, (receivers.get(number) ?? 0) + 1);
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

  /** Resolves when each node knows the radios of the other one. */
  async function knowEachOther(): Promise<void> {
    const [one, two] = nodes;
    if (one !== undefined && two !== undefined) await Promise.all([knows(one, two), knows(two, one)]);
  }

  /** Resolves when every open radio with this token was told that it is in the talkgroup. */
  const isIn = (id: string, token: string) =>
    eventually(() => {
      for (const [radio, dealing] of dealt) {
        const isOpen = radio.socket.readyState === radio.socket.OPEN;
        if (dealing.token === token && isOpen && !joinedBy(radio).has(id))
          throw new Error(`not in ${id} yet`);
      }
    });

  return {
    /**
     * A change was answered: the node that answers follows it. Resolves when the other one has heard of it, and after a
     * join when its radios are in the talkgroup.
     */
    async followed({ method, path, token }: { method: string; path: string; token: string | null }) {
      if (nodes.length === 0 || method === 'GET') return;
      await heardEverywhere();
      const [, joined] = /^\/talkgroups\/([^/]+)\/join$/.exec(path) ?? [];
      if (joined === undefined || token === null) return;
      await isIn(joined, token);
      await knowEachOther();
    },

    /** `isHere`: it is one of the first node. */
    async radioAt(resumed: Radio['welcome'] | null, token: string, isHere = false): Promise<Radio> {
      const home = isHere ? ws : (nodes[count++ % 2]?.ws ?? ws);
      const resume = resumed === null ? '' : `&resume=${resumed.resume_token}`;
      const connected = await connect(t, `${home}/ws?token=${token}${resume}`);
      if (connected.welcome === null || nodes.length === 0) return connected;
      const left = new Set<unknown>();
      const radio = heardByBoth(connected, ({ type, talkgroup_ids }) => {
        for (const id of Array.isArray(talkgroup_ids) ? talkgroup_ids : [])
          if (type === 'UNSUBSCRIBE') left.add(id);
          else left.delete(id);
      });
      homes.set(radio.session, home);
      dealt.set(radio, { token, left });
      // The node that it left stays in its talkgroups for 2 s.
      await (connected.welcome.resumed ? heardEverywhere() : knowEachOther());
      return radio;
    },
  };
}

/** Ids of the talkgroups that the relay told the radio it is in, with their numbers. */
export function joinedBy({
  welcome,
  arrivals,
}: Pick<Radio, 'welcome'> & {
  readonly arrivals: Readonly<Radio['arrivals']>;
}): ReadonlyMap<unknown, number> {
  const joined = new Map((welcome?.talkgroups ?? []).map((one) => [one.talkgroup_id, Number(one.number)]));
  for (const told of arrivals) {
    if (!('type' in told)) continue;
    if (told.type === 'SUBSCRIBED')
      // parts of the snapshot of WELCOME
      for (const one of told.talkgroups as Json[]) joined.set(one.talkgroup_id, Number(one.number));
    if (told.type === 'TALKGROUP_JOINED') joined.set(told.talkgroup_id, Number(told.number));
    if (told.type === 'TALKGROUP_LEFT') joined.delete(told.talkgroup_id);
  }
  return joined;
}
