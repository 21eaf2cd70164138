// The catalogue of faults for several nodes: what dies, stands still, or is cut off, and mended at its end.
import type { ChaosProxy } from '../../helpers/network/chaos-proxy.js';
import { type NatsCluster, PLACES, type Place } from '../../helpers/network/nats-cluster.js';
import type { Random } from '../../helpers/random.js';
import {
  anyRadio,
  type Catalogue,
  existing,
  type Fault,
  type Mend,
  type Plan,
  repeat,
  type ScheduledFault,
  scheduleOf,
} from '../fault.js';
import { type DrawnLinkFault, hole, narrow, slow } from '../link-faults.js';
import type { CrewRadio } from '../radio.js';
import type { Cluster } from './cluster.js';

const FAULTS = 2;

/** Two faults, each of another kind, for an episode of so long. The same for the same numbers. */
export const scheduleOverNodes = (random: Random, episodeMs: number): ScheduledFault<Cluster>[] =>
  scheduleOf(catalogue, { random, episodeMs, count: FAULTS });

const anyPlace = (random: Random): Place => random.pick([0, 1, 2]);

const nodeFaults: readonly Fault<Cluster>[] = [
  {
    name: 'a node is killed',
    plan(random) {
      const at = anyPlace(random);
      return {
        detail: `node ${at}, kill -9, and started again`,
        async begin({ scenes }) {
          const { server } = existing(scenes[at]);
          await server.kill();
          await server.start();
          return () => {};
        },
      };
    },
  },
  {
    name: 'a node stands still',
    plan(random) {
      const [at, ms] = [anyPlace(random), random.whole(300, 3500)];
      return {
        detail: `node ${at}, SIGSTOP, SIGCONT after ${ms} ms`,
        async begin({ scenes }) {
          await existing(scenes[at]).server.suspend(ms);
          return () => {};
        },
      };
    },
  },
];

const natsFaults: readonly Fault<Cluster>[] = [
  {
    name: 'a nats-server is killed',
    plan(random) {
      const at = anyPlace(random);
      return {
        detail: `server ${at}, kill -9, and started again`,
        async begin({ nats }) {
          await nats.kill(at);
          return () => nats.start(at);
        },
      };
    },
  },
  {
    name: 'a nats-server stands still',
    plan(random) {
      const at = anyPlace(random);
      return {
        detail: `server ${at}, SIGSTOP, SIGCONT`,
        begin({ nats }) {
          nats.signal(at, 'SIGSTOP');
          return () => nats.signal(at, 'SIGCONT');
        },
      };
    },
  },
  {
    name: 'no nats-server answers',
    plan: () => ({
      detail: 'all killed, and started again',
      async begin({ nats }) {
        await Promise.all(PLACES.map((at) => nats.kill(at)));
        return async () => {
          await Promise.all(PLACES.map((at) => nats.start(at)));
        };
      },
    }),
  },
];

/** The link that this node uses now, or all of its links. */
function linksOf(nats: NatsCluster, node: Place, isAll: boolean): readonly ChaosProxy[] {
  const servers = isAll ? PLACES : [nats.serverOf(node) ?? node];
  return servers.map((server) => nats.link(node, server));
}

/** A fault of one link of a node to NATS, or of all of them. */
const linkFault = (name: string, draw: (random: Random) => DrawnLinkFault): Fault<Cluster> => ({
  name: `a link to NATS ${name}`,
  plan(random) {
    const [at, isAll] = [anyPlace(random), random.next() < 0.5];
    const { detail, begin } = draw(random);
    return {
      detail: `${isAll ? 'all links' : 'the link in use'} of node ${at}: ${detail}`,
      begin({ nats }) {
        const mends = linksOf(nats, at, isAll).map(begin);
        return async () => {
          for (const mend of mends) await mend();
        };
      },
    };
  },
});

/** Ends what goes over it, and takes nothing new until the mend. */
function cut(link: ChaosProxy): Mend {
  link.refuse();
  link.reset();
  return () => link.listen();
}

const linkFaults: readonly Fault<Cluster>[] = [
  linkFault('is cut', () => ({ detail: 'reset, and refused', begin: cut })),
  linkFault('is a hole', hole),
  linkFault('is slow', slow),
  linkFault('is narrow', narrow(2000)),
  {
    name: 'a route between nats-servers is cut',
    plan(random) {
      const [one, other] = random.some(PLACES, 2);
      return {
        detail: `servers ${one} and ${other}`,
        begin: ({ nats }) => cut(nats.route(existing(one), existing(other))),
      };
    },
  },
];

const databaseFaults: readonly Fault<Cluster>[] = [
  {
    name: 'PostgreSQL is away for one node',
    plan(random) {
      const at = anyPlace(random);
      return { detail: `node ${at}`, begin: ({ scenes }) => cut(existing(scenes[at]).databaseLink) };
    },
  },
];

const radioFaults: readonly Fault<Cluster>[] = [
  {
    name: 'a radio is slow',
    plan: (random) =>
      toOneRadio(random, 'does not read', (radio) => {
        radio.deaf(true);
        return () => radio.deaf(false);
      }),
  },
  {
    name: 'a radio reconnects',
    plan(random) {
      const everyMs = random.whole(300, 2000);
      return toOneRadio(random, `every ${everyMs} ms`, (radio) => repeat(everyMs, radio.reconnect));
    },
  },
];

function toOneRadio(random: Random, what: string, act: (radio: CrewRadio) => Mend): Plan<Cluster> {
  const which = anyRadio(random);
  return {
    detail: `radio ${which}: ${what}`,
    begin({ scenes }) {
      const scene = existing(scenes[which % PLACES.length]);
      scene.notes.touched.add(which);
      return act(existing(scene.crew.find(({ index }) => index === which)));
    },
  };
}

const catalogue: Catalogue<Cluster> = {
  node: nodeFaults,
  nats: natsFaults,
  link: linkFaults,
  database: databaseFaults,
  radio: radioFaults,
};

/** Names of the faults that keep no node from reaching another one. */
export const cutNothing: ReadonlySet<string> = new Set(
  [...databaseFaults, ...radioFaults].map(({ name }) => name),
);
