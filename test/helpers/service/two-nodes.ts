// Deals the radios of a test out over two nodes of one service, when RADIOS_OVER=nodes asks for it.
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { eventually } from '../eventually.js';
import { startNatsServer } from '../network/nats-server.js';
import { connect, type Radio } from './service.js';

/** A relay tells the others at most every 250 ms how many sessions it has. Tests count them at once. */
const COUNT_MS = 300;

let server: ReturnType<typeof startNatsServer> | null = null;

/** What joins the nodes of one service. null: it has one node. */
export async function joiningOf(environment: Record<string, string>): Promise<Record<string, string> | null> {
  if (process.env.RADIOS_OVER !== 'nodes' || environment.NATS_URL !== undefined) return null;
  server ??= startNatsServer(t); // one for the file
  const { port } = await server;
  return {
    NATS_URL: `nats://127.0.0.1:${port}`,
    NATS_PREFIX: `t${randomUUID().slice(0, 8)}`,
    DATABASE_POOL: '3', // of the server that all tests share
  };
}

/** Resolves when both nodes, by their metrics, reach the other. */
export const reached = (...ports: readonly number[]) =>
  eventually(async () => {
    for (const port of ports) {
      const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
      if (!/^talkgroup_cluster_peers 1$/m.test(text)) throw new Error('not reached');
    }
  });

/** Every second radio is one of the other node. A session that is resumed is resumed where it lives. */
export function dealer(t: Test, ws: string, otherWs: string | null) {
  const homes = new Map<number, string>();
  let dealt = 0;
  return {
    async radioAt(resumed: Radio['welcome'] | null, token: string): Promise<Radio> {
      const next = otherWs !== null && dealt++ % 2 === 1 ? otherWs : ws;
      const home = resumed === null ? next : (homes.get(resumed.session) ?? ws);
      const resume = resumed === null ? '' : `&resume=${resumed.resume_token}`;
      const radio = await connect(t, `${home}/ws?token=${token}${resume}`);
      if (radio.welcome === null) return radio;
      homes.set(radio.session, home);
      if (otherWs !== null) await delay(COUNT_MS);
      return radio;
    },
  };
}
