// A relay thread: composes a relay with instances of its own and answers the main thread.
import { parentPort, workerData } from 'node:worker_threads';
import { createTokenVerifier } from '../../auth/tokens.js';
import { openDatabase } from '../../db/client.js';
import { relayConnections } from '../../db/connections.js';
import { createLog } from '../../log.js';
import { threadFigures } from '../../thread-figures.js';
import { composeRelay } from '../compose.js';
import { BEAT_MS, type FromThread, sharedNowMs, type ThreadData, type ToThread } from './messages.js';

/** Of the connections, for reads of rights. */
const RESERVED = 1;

const { config, handshakes, url, tokenKeys, place } = workerData as ThreadData;
const log = createLog(config.LOG_LEVEL, place === null ? {} : { thread: place.name });
const connections = relayConnections(place?.threads ?? 1);
const database = openDatabase({ url, connections, reserved: RESERVED, log });
const relay = composeRelay({
  config,
  handshakes,
  url,
  database,
  verifyToken: createTokenVerifier(tokenKeys),
  place,
  taped: (batch) =>
    parentPort?.postMessage(
      { kind: 'taped', batch },
      batch.parts.map(({ bytes }) => bytes.buffer),
    ),
  log,
});

const port = parentPort;
if (port === null) throw new Error('the relay thread is started by host.ts');
const say = (message: FromThread) => port.postMessage(message);

// The main thread ends the process, and this thread closes its sockets before: a thread that ended with open ones would
// abort the process.
process.on('uncaughtException', (error) => say({ kind: 'failed', error: asError(error) }));
process.on('exit', (code) => {
  if (code !== 0) relay.abandon();
});

// The main thread takes silence for trouble.
const beatNow = () => {
  const wantsFixes = relay.wantsFixes();
  say({ kind: 'beat', trouble: relay.trouble(), wantsFixes, sentAtMs: sharedNowMs() });
};
const beat = setInterval(beatNow, BEAT_MS);

port.on('message', (message: ToThread) => {
  switch (message.kind) {
    case 'listen':
      relay.listen(message.as).then(
        (taken) => say({ kind: 'listening', port: taken }),
        (error: Error) => say({ kind: 'refused', message: error.message }),
      );
      return;
    case 'start':
      relay.start().then(
        () => {
          beatNow();
          say({ kind: 'started' });
        },
        (error: Error) => say({ kind: 'unstartable', message: error.message }),
      );
      return;
    case 'notice':
      relay.notice(message.notice).then(
        () => say({ kind: 'acknowledged', id: message.notice.id }),
        (error) => log.error({ err: error }, 'change notification failed'), // not acknowledged: the route says so
      );
      return;
    case 'noticed':
      return relay.noticed(message.notice);
    case 'gap':
      return relay.gap();
    case 'fixes':
      relay.missedFixes(message.dropped);
      relay.located(message.fixes);
      return say({ kind: 'located' });
    case 'stored':
      return relay.stored(message.bytes);
    case 'figures':
      void relay
        .figures()
        .then(([figures]) =>
          say({ kind: 'figures', figures, thread: threadFigures(), database: database.figures() }),
        );
      return;
    case 'present':
      void relay.present(message.certificate).then((renewal) => say({ kind: 'presented', renewal }));
      return;
    case 'close':
      // It goes on telling how it is while it drains.
      void relay
        .close()
        .then(() => clearInterval(beat))
        .then(() => database.close())
        .then(() => port.close());
  }
});

/** Anything can be thrown. A plain error can be sent to the main thread, with its stack. Of several threads it names this. */
function asError(thrown: unknown): Error {
  const of = place === null ? '' : `thread ${place.name}: `;
  if (!(thrown instanceof Error)) return new Error(of + String(thrown));
  return Object.assign(new Error(of + thrown.message), { stack: thrown.stack });
}
