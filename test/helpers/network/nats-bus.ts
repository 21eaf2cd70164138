// The bus over NATS, each over a link of its own that can be cut.
import type { Test } from 'tap';
import type { Bus } from '../../../src/relay/nodes/bus.js';
import { openNats } from '../../../src/relay/nodes/carriers/nats.js';
import { comesTrue } from '../eventually.js';
import type { Carrier } from './bus-contract.js';
import { type ChaosProxy, startChaosProxy } from './chaos-proxy.js';

/** How a server is reached: without TLS and without a user, unless said. */
export interface NatsAccess {
  readonly port: number;
  /** As in a URL, with the `@`. */
  readonly user?: string;
  readonly isTls?: boolean;
  /** Content of a credentials file. */
  readonly credentials?: Uint8Array | null;
  readonly prefix?: string;
}

/** A bus over a link of its own. */
export async function connected(
  t: Test,
  { port, user = '', isTls = false, credentials = null, prefix = 'test.1' }: NatsAccess,
): Promise<{ readonly bus: Bus; readonly proxy: ChaosProxy }> {
  const proxy = await startChaosProxy({ host: '127.0.0.1', port });
  const bus = openNats({
    urls: `${isTls ? 'tls' : 'nats'}://${user}127.0.0.1:${proxy.port}`,
    ...{ credentials, prefix, name: t.name },
    log: { info() {}, warn() {}, error: (fields, message) => t.fail(message, fields) },
  });
  t.teardown(async () => {
    await bus.close();
    await proxy.stop();
  });
  await comesTrue('connected', () => bus.isUp);
  return { bus, proxy };
}

/** A network over this server. */
export const overNats =
  (access: (t: Test) => Promise<NatsAccess>): Carrier =>
  async (t) => {
    const reached = await access(t);
    return async () => {
      const { bus, proxy } = await connected(t, reached);
      return {
        bus,
        cut() {
          proxy.refuse();
          proxy.reset();
        },
        mend: () => proxy.listen(),
      };
    };
  };
