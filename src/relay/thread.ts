// The relay's thread: composes the relay with instances of its own and answers the main thread.
import { parentPort, workerData } from 'node:worker_threads';
import { createTokenVerifier } from '../auth/tokens.js';
import { openDatabase } from '../db/client.js';
import { createLog } from '../log.js';
import { composeRelay } from './compose.js';
import type { FromThread, ThreadData, ToThread } from './host.js';

/** Loads of memberships and GPS fixes: batched and short, so a few connections do. */
const CONNECTIONS = 4;
const TROUBLE_EVERY_MS = 250;

const { config, url, secret } = workerData as ThreadData;
const log = createLog(config.LOG_LEVEL);
const database = openDatabase({ url, connections: CONNECTIONS, log });
const relay = composeRelay({ config, url, database, verifyToken: createTokenVerifier(secret), log });

const port = parentPort;
if (port === null) throw new Error('the relay thread is started by host.ts');
const say = (message: FromThread) => port.postMessage(message);

let trouble: string | null = 'relay starting';
const watch = setInterval(() => {
  const now = relay.trouble();
  if (now !== trouble) say({ kind: 'trouble', reason: now });
  trouble = now;
}, TROUBLE_EVERY_MS);

port.on('message', (message: ToThread) => {
  switch (message.kind) {
    case 'listen':
      relay.listen().then(
        (taken) => say({ kind: 'listening', port: taken }),
        (error: Error) => say({ kind: 'refused', message: error.message }),
      );
      return;
    case 'start':
      return relay.start();
    case 'notice':
      void relay.tell(message.notice).then(() => say({ kind: 'acknowledged', id: message.notice.id }));
      return;
    case 'close':
      clearInterval(watch);
      void relay
        .close()
        .then(() => database.close())
        .then(() => say({ kind: 'closed' }))
        .then(() => port.close());
  }
});
