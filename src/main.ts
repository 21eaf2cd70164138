// The process: settings, composition, the two addresses, signals, exit code.
import closeWithGrace from 'close-with-grace';
import { compose } from './compose.js';
import { ConfigError, readConfig } from './config.js';
import { createLog } from './log.js';

/** Longer than everything a close waits for; afterwards the process ends with an error. */
const CLOSE_MS_MAX = 15_000;

const config = readOrRefuse();
const log = createLog(config.LOG_LEVEL);

try {
  const service = await compose(config, log, die);
  // SIGTERM, SIGINT and errors nobody caught end here; a second signal ends at once.
  closeWithGrace({ delay: CLOSE_MS_MAX, logger: false }, async ({ err, signal }) => {
    if (err !== undefined) log.fatal({ err }, 'ending after an error');
    else log.info({ signal }, 'closing');
    await service.close();
  });
  const { port, wsPort } = await service.listen();
  const secure = config.TLS_CERT_FILE === undefined ? '' : 's';
  console.log(`REST       http${secure}://${hostInUrl()}:${port}`);
  console.log(`WebSocket  ws${secure}://${hostInUrl()}:${wsPort}/ws`);
  const started = await service.start();
  if (started !== null && started.generatedPassword !== null) {
    console.log(`Admin      ${config.ADMIN_USERNAME} / ${started.generatedPassword}   (shown this once)`);
  }
  if (started !== null) console.log('Ready');
} catch (error) {
  die(error as Error);
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

function die(error: Error): never {
  log.fatal({ err: error }, 'ending');
  console.error(`ended: ${error.message}`);
  process.exit(1);
}

function hostInUrl(): string {
  return config.HOST.includes(':') ? `[${config.HOST}]` : config.HOST;
}
