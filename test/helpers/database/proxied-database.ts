// An empty database behind a link that tests can break, and a way around it.
import { join } from 'node:path';
import type { Test } from 'tap';
import { type ChaosProxy, startChaosProxy } from '../network/chaos-proxy.js';
import { freshDatabase } from './cluster.js';

export interface ProxiedDatabase {
  /** Connection string that leads through the proxy. */
  readonly url: string;
  readonly proxy: ChaosProxy;
  /** Connection string that leads around it. */
  readonly direct: string;
}

/** A fresh database with one proxy before it, both gone when `t` ends. */
export async function proxiedDatabase(t: Test): Promise<ProxiedDatabase> {
  const direct = await freshDatabase(t);
  return { ...(await throughProxy(t, direct)), direct };
}

/** The database of `direct` through a proxy of its own. */
export async function throughProxy(t: Test, direct: string): Promise<{ url: string; proxy: ChaosProxy }> {
  const proxy = await startChaosProxy({ path: socketPath(direct) });
  t.teardown(() => proxy.stop());
  const url = new URL(direct);
  return {
    url: `postgres://${url.username}:${url.password}@127.0.0.1:${proxy.port}${url.pathname}`,
    proxy,
  };
}

function socketPath(url: string): string {
  return join(decodeURIComponent(new URL(url).hostname), '.s.PGSQL.5432');
}
