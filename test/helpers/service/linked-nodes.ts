// Two nodes as processes, with one database and a real nats-server, and a link of each that can be cut.
import { setTimeout as delay } from 'node:timers/promises';
import type { Test } from 'tap';
import { migratedDatabase } from '../database/cluster.js';
import { throughProxy } from '../database/proxied-database.js';
import { eventually } from '../eventually.js';
import { metric } from '../http/exposition.js';
import { type ChaosProxy, startChaosProxy } from '../network/chaos-proxy.js';
import { startSecureNatsServer } from '../network/nats-server.js';
import { type Radio, serviceProcess } from './service.js';

/**
 * Two nodes, each behind a link of its own to the nats-server, and the first one behind one to the database. Resolves when
 * all of their relay threads reach each other.
 */
export async function linkedNodes(t: Test, environment: Record<string, string> = {}) {
  const DATABASE_URL = await migratedDatabase(t);
  const { url, proxy: database } = await throughProxy(t, DATABASE_URL);
  const nats = await startSecureNatsServer(t);
  const links = await Promise.all(
    [nats, nats].map(({ port }) => startChaosProxy({ host: '127.0.0.1', port })),
  );
  t.teardown(() => Promise.all(links.map((link) => link.stop())));
  const [a, b] = await Promise.all(
    links.map(({ port }, index) =>
      serviceProcess(t, {
        DATABASE_URL: index === 0 ? url : DATABASE_URL,
        NATS_URL: `tls://${nats.user}@127.0.0.1:${port}`,
        NODE_EXTRA_CA_CERTS: nats.authority,
        ...environment,
      }),
    ),
  );
  if (a === undefined || b === undefined) throw new Error('two nodes were asked for');
  const others = 2 * Number(environment.RELAY_THREADS ?? 1) - 1;
  await eventually(async () => {
    for (const { metrics } of [a, b])
      if ((await metric(metrics, 'talkgroup_cluster_peers')) !== others) throw new Error('not reached');
  });
  return { a, b, database, links: links as [ChaosProxy, ChaosProxy] };
}

/** Resolves when the number online in the talkgroup is this one. */
export const isOnline = (radio: Radio, id: string, count: number) =>
  eventually(async () => {
    const { talkgroups } = await radio.asks({ type: 'SUBSCRIBE', talkgroup_ids: [id] });
    const [{ online } = { online: 0 }] = talkgroups as { online: number }[];
    if (online !== count) {
      await delay(100);
      throw new Error(`${online} online, not ${count}`);
    }
  });
