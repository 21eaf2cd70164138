// The engine's end, down to the turn of the loop, which no client of a process can choose.
import { randomUUID } from 'node:crypto';
import t from 'tap';
import type { UserId } from '../../src/ids.js';
import { closes } from '../../src/protocol/closes.js';
import { EarlyMessages } from '../../src/relay/websocket/early.js';
import { createEngine } from '../../src/relay/websocket/engine.js';
import { relayAlone } from '../helpers/relay/relay-alone.js';
import { connect } from '../helpers/service/service.js';

const RESTART = { code: 1012, reason: 'restart' };

t.test('a radio that comes in the very turn of the end is told, also when it is alone', async (t) => {
  const engine = createEngine({
    host: '127.0.0.1',
    port: 0,
    tls: null,
    frameBytes: 1024,
    textBytes: 8192,
    idleTimeoutS: 60,
    origins: { listed: null, consolePort: null },
    isTrusted: () => false,
    socketsMax: 100,
    descriptorMax: Number.POSITIVE_INFINITY,
    log: { error: (_fields, message) => t.fail(message) },
  });
  t.teardown(() => engine.close());
  let closed: Promise<void> | null = null;
  const relay = relayAlone(t, {
    reads: { accountsOf: async () => [], talkgroupsOf: async () => [] },
    takeNumber: () => 1,
    publisher: engine.publisher,
    verifyToken() {
      closed ??= relay.close().then(() => engine.close());
      return { sub: randomUUID() as UserId, username: 'x', role: 'user', iat: 0 };
    },
  });
  const early = new EarlyMessages({
    counts: relay.counts,
    limits: { framesPerSecond: 110, controlPerSecond: 20, pingsPerSecond: 5 },
    refOf: () => undefined,
    nowMs: () => performance.now(),
  });
  const port = await engine.listen(relay, early);
  const address = `ws://127.0.0.1:${port}/ws?token=x`;
  const radio = await connect(t, address);
  t.same(await radio.closes(), RESTART);
  await closed;
  t.match(await (await connect(t, address)).closes(), { code: 1006 }, 'behind the end nobody is accepted');
});

t.test('reasons of closes, which the engine encodes on its own, are ASCII', (t) => {
  for (const { reason } of Object.values(closes)) t.match(reason, /^[ -~]{0,123}$/);
  t.end();
});
