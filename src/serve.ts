// Runs the service: settings, composition, the two addresses, signals, exit code. Its import starts it. See main.ts.
import closeWithGrace from 'close-with-grace';
import { compose, type Service } from './compose.js';
import { warnOfClearText } from './config/clear-text.js';
import { readConfig } from './config/config.js';
import { ConfigError } from './errors.js';
import { isConsoleBuilt } from './http/console/console.js';
import { createLog, flushed } from './log.js';
import { standBack } from './priority.js';

process.stdout.on('error', () => {}); // the reader of the addresses may go
const config = readOrRefuse();
/** Longer than everything a close waits for. Afterwards the process ends with an error. */
const closeMsMax = config.DRAIN_MS + 15_000;
const log = createLog(config.LOG_LEVEL);
/**
 * Behind the relay threads. Where they share a core, a thousand fetches of keys within 7 s made the p99 of the audio 22 to
 * 50 ms, median 36, and with one or two steps 17 to 29 ms, median 21 (scenario `encryption`).
 */
const REST_STEPS_BACK = 2;
warnOfClearText(config, log);
let service: Service | null = null;
let failed = false;
/** Aborted by the signal to close. What composes the service then waits for no other process. */
const closing = new AbortController();

// Also the rejections that no code handled.
process.on('uncaughtException', (error) => void end(error));
try {
  const composing = compose(config, log, (error) => void end(error), { signal: closing.signal });
  // Before the first wait: as the first process of a container we have no default handler for a signal.
  closeWithGrace(
    {
      delay: closeMsMax,
      logger: false,
      onSecondSignal: endAtOnce,
      onTimeout: endAtOnce,
      // It exits at the second error, whatever is still open then.
      skip: ['uncaughtException', 'unhandledRejection'],
    },
    async ({ signal }) => {
      log.info({ signal }, 'shutdown started');
      closing.abort();
      const composed = await composing.catch(() => null); // it closed what it had opened, and is logged below
      await composed?.close();
      await flushed(log);
      if (failed) throw new Error('exit code 1');
    },
  );
  service = await composing;
  if (!closing.signal.aborted) await serve(service);
} catch (error) {
  if (closing.signal.aborted && service === null) log.info({ err: error }, 'start interrupted by a signal');
  else await end(error as Error);
}

async function serve(service: Service): Promise<void> {
  const { port, wsPort, metricsPort } = await service.listen();
  const secure = config.TLS_CERT_FILE === undefined ? '' : 's';
  const host = inUrl(config.HOST);
  const rest = `http${secure}://${host}:${port}`;
  console.log(`REST       ${rest}`);
  console.log(`WebSocket  ws${secure}://${host}:${wsPort}/ws`);
  console.log(`Metrics    http://${inUrl(config.METRICS_HOST)}:${metricsPort}/metrics`);
  if (config.CONSOLE === 'on' && isConsoleBuilt()) console.log(`Console    ${rest}/console/`);
  const started = await service.start();
  if (started === null) return; // closed before the database came
  if (started.generatedPassword !== null) {
    console.log(`Admin      ${config.ADMIN_USERNAME} / ${started.generatedPassword}   (shown this once)`);
  }
  if (config.RELAY_THREADS > 0) standBack(REST_STEPS_BACK);
  console.log('Ready');
}

function inUrl(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

function readOrRefuse() {
  try {
    return readConfig();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    console.error(`refusing to start: ${error.message}`);
    process.exit(1);
  }
}

/**
 * Closes what is open first: a process that exits around a live relay thread is aborted instead. A fault may repeat
 * until then. It is logged, and the close goes on.
 */
async function end(error: Error): Promise<void> {
  if (failed) return log.error({ err: error }, 'another error during shutdown');
  failed = true;
  log.fatal({ err: error }, 'service failed, shutdown started');
  console.error(`ended: ${error.message}`);
  setTimeout(endAtOnce, closeMsMax).unref();
  await service?.close();
  await flushed(log);
  process.exit(1);
}

/** The embedded database notices and shuts itself down. */
function endAtOnce(): void {
  process.kill(process.pid, 'SIGKILL');
}
