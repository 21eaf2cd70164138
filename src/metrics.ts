// GET /metrics on an address of its own: the numbers that the house keeps anyway, in Prometheus' text. Nothing here runs
// between two scrapes, and nobody else knows of Prometheus.
import { readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Metric, Registry } from 'prom-client';
import { type Config, ConfigError } from './config.js';
import { descriptorsMax } from './descriptors.js';
import { AppError, type RefusalCode } from './errors.js';
import type { Histogram } from './histogram.js';
import { type Family, families, type ProcessFigures, type Snapshot } from './metric-families.js';
import { threadFigures } from './thread-figures.js';

/** Where the numbers stand; those of thread and process are read here. */
export type Sources = () => Promise<Omit<Snapshot, 'thread' | 'process'>>;

export interface MetricsServer {
  /** Resolves with the port. Rejects with ConfigError, naming the variable, when the address cannot be had. */
  listen(): Promise<number>;
  close(): Promise<void>;
}

export function createMetricsServer(
  { config, log }: { config: Config; log: { error(fields: object, message: string): void } },
  sources: Sources,
): MetricsServer {
  const { METRICS_HOST: host, METRICS_PORT: port } = config;
  const scrape = createScrape(sources);
  const server = createServer(LIMITS, (request, response) => {
    const [path] = (request.url ?? '').split('?');
    if (path !== '/metrics') return refuse(response, 'unknown_path');
    if (request.method !== 'GET') return refuse(response.setHeader('allow', 'GET'), 'method_not_allowed');
    scrape().then(
      ({ contentType, text }) => response.writeHead(200, { 'content-type': contentType }).end(text),
      (error: unknown) => {
        log.error({ err: error }, 'scrape failed');
        refuse(response, 'internal');
      },
    );
  });
  server.maxConnections = CONNECTIONS_MAX;
  server.on('error', () => {}); // an accept that failed: the next one may not; `listen` hears of its own
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

/** As the other doors have it; a scraper keeps its connection from one minute to the next. */
const LIMITS = {
  headersTimeout: 5000,
  requestTimeout: 10_000,
  connectionsCheckingInterval: 500,
  keepAliveTimeout: 65_000,
};
/** Scrapers are few. */
const CONNECTIONS_MAX = 100;

function refuse(response: ServerResponse, code: RefusalCode): void {
  const { status, message } = new AppError(code);
  response
    .writeHead(status, { 'content-type': 'application/json; charset=utf-8' })
    .end(JSON.stringify({ error: message }));
}

function asConfigError(error: NodeJS.ErrnoException, { host, port }: { host: string; port: number }): Error {
  if (error.code === 'EADDRINUSE' || error.code === 'EACCES')
    return new ConfigError(`METRICS_PORT: ${host}:${port} is taken or not ours to take`);
  return new ConfigError(`METRICS_HOST: no address of this machine (${error.message})`);
}

interface Exposition {
  readonly contentType: string;
  readonly text: string;
}

function createScrape(sources: Sources): () => Promise<Exposition> {
  const registry = new Registry();
  const version = readVersion();
  const startedAtS = Math.round(Date.now() / 1000 - process.uptime()); // once, for clocks are set
  let now: Snapshot;
  for (const family of families) {
    // Not its classes, which count by themselves: this is all that the registry asks of them.
    const metric = {
      name: family.name,
      get: async () => ({
        name: family.name,
        help: family.help,
        type: family.type,
        values: linesOf(family, now),
      }),
    };
    registry.registerMetric(metric as unknown as Metric);
  }
  async function read(): Promise<Exposition> {
    const process = { ...(await readProcess()), version, startedAtS };
    now = { ...(await sources()), thread: threadFigures(), process };
    return { contentType: registry.contentType, text: await registry.metrics() };
  }
  // Scrapes that meet are one, and see the same moment.
  let running: Promise<Exposition> | null = null;
  return () => {
    running ??= read().finally(() => {
      running = null;
    });
    return running;
  };
}

/** One line of the text; `metricName` where it is not the family's. */
interface Line {
  readonly metricName?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

function linesOf(family: Family, now: Snapshot): Line[] {
  if (family.type === 'histogram')
    return family.read(now).flatMap(([labels, times]) => linesOfTimes(family.name, labels, times));
  const value = family.read(now);
  if (value === null) return [];
  if (typeof value === 'number') return [{ labels: {}, value }];
  return value.map(([labels, value]) => ({ labels, value }));
}

/** In seconds, each bucket with what is in those below it. */
function linesOfTimes(name: string, labels: Line['labels'], { boundsMs, counts, sumMs }: Histogram): Line[] {
  let count = 0;
  const buckets = counts.map((inBucket, index) => {
    count += inBucket;
    const boundMs = boundsMs[index];
    const le = boundMs === undefined ? '+Inf' : String(boundMs / 1000);
    return { metricName: `${name}_bucket`, labels: { ...labels, le }, value: count };
  });
  return [
    ...buckets,
    { metricName: `${name}_sum`, labels, value: sumMs / 1000 },
    { metricName: `${name}_count`, labels, value: count },
  ];
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

function readVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
