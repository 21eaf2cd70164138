// Serves GET /metrics on an address of its own. Nothing here runs between two scrapes.
import { readdir } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { descriptorsMax } from '../descriptors.js';
import { AppError, ConfigError, portError, type RefusalCode } from '../errors.js';
import { threadFigures } from '../thread-figures.js';
import { readVersion } from '../version.js';
import { CONTENT_TYPE, expose } from './exposition.js';
import { families } from './families.js';
import { addUp } from './relays.js';
import type { ProcessFigures, Snapshot } from './snapshot.js';

/** Returns the numbers of a scrape, without sums and those of the main thread and the process. */
export type Sources = () => Promise<Omit<Snapshot, 'relay' | 'thread' | 'process'>>;

export interface MetricsServer {
  /** Resolves with the port. Rejects with a ConfigError that names the variable when the address cannot be bound. */
  listen(): Promise<number>;
  close(): Promise<void>;
}

export interface MetricsServerOptions {
  readonly config: { readonly METRICS_HOST: string; readonly METRICS_PORT: number };
  readonly log: { error(fields: object, message: string): void };
}

/** Creates the server. It listens after `listen`. */
export function createMetricsServer({ config, log }: MetricsServerOptions, sources: Sources): MetricsServer {
  const { METRICS_HOST: host, METRICS_PORT: port } = config;
  const scrape = createScrape(sources);
  const server = createServer(LIMITS, (request, response) => {
    const [path] = (request.url ?? '').split('?');
    if (path !== '/metrics') return refuse(response, 'unknown_path');
    if (request.method !== 'GET') return refuse(response.setHeader('allow', 'GET'), 'method_not_allowed');
    scrape().then(
      (text) => response.writeHead(200, { 'content-type': CONTENT_TYPE }).end(text),
      (error: unknown) => {
        log.error({ err: error }, 'scrape failed');
        refuse(response, 'internal');
      },
    );
  });
  server.maxConnections = CONNECTIONS_MAX;
  server.on('error', () => {}); // an accept failed, and the next one may not. `listen` has its own handler
  return {
    listen: () =>
      new Promise((resolve, reject) => {
        server.once('error', (error: NodeJS.ErrnoException) => reject(asConfigError(error, { host, port })));
        // A string only for pipes.
        server.listen(port, host, () => resolve((server.address() as AddressInfo).port));
      }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** The time limits of REST. A scraper can keep its connection from one minute to the next. */
const LIMITS = {
  headersTimeout: 5000,
  requestTimeout: 10_000,
  connectionsCheckingInterval: 500,
  keepAliveTimeout: 65_000,
};
/** Connections at once. There are few scrapers. */
const CONNECTIONS_MAX = 100;

function refuse(response: ServerResponse, code: RefusalCode): void {
  const { status, message } = new AppError(code);
  response
    .writeHead(status, { 'content-type': 'application/json; charset=utf-8', 'error-code': code })
    .end(JSON.stringify({ error: message }));
}

function asConfigError(error: NodeJS.ErrnoException, { host, port }: { host: string; port: number }): Error {
  return (
    portError(error, { name: 'METRICS_PORT', host, port }) ??
    new ConfigError(`METRICS_HOST must be an address of this machine (${error.message})`)
  );
}

function createScrape(sources: Sources): () => Promise<string> {
  const version = readVersion();
  const startedAtS = Math.round(Date.now() / 1000 - process.uptime()); // once, for clocks are set
  async function read(): Promise<string> {
    const process = { ...(await readProcess()), version, startedAtS };
    const read = await sources();
    const relay = read.relays && addUp(read.relays);
    return expose(families, { ...read, relay, thread: threadFigures(), process });
  }
  // Scrapes that meet are one, and see the same moment.
  let running: Promise<string> | null = null;
  return () => {
    running ??= read().finally(() => {
      running = null;
    });
    return running;
  };
}

async function readProcess(): Promise<Omit<ProcessFigures, 'version' | 'startedAtS'>> {
  const { user, system } = process.cpuUsage();
  return {
    cpuS: (user + system) / 1e6,
    residentBytes: process.memoryUsage.rss(),
    ...(await readDescriptors()),
  };
}

async function readDescriptors(): Promise<Pick<ProcessFigures, 'descriptors' | 'descriptorsMax'>> {
  try {
    const open = await readdir('/proc/self/fd');
    const max = descriptorsMax();
    return { descriptors: open.length - 1, descriptorsMax: Number.isFinite(max) ? max : null };
  } catch {
    // Expected where there is no /proc, as on macOS.
    return { descriptors: null, descriptorsMax: null };
  }
}
