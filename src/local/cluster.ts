// `make cluster`: three nodes, three nats-servers and a PostgreSQL on this machine, to try out what several nodes do.
//
// It is for trying out, not for production: everything listens on loopback, and all of it ends with this process.
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { SERVICE } from '../auth/first-admin.js';
import { createPasswords } from '../auth/passwords.js';
import { keptSecret } from '../auth/secret.js';
import { addAdmin } from '../auth/store.js';
import { readSettings } from '../config/config.js';
import { openDatabase } from '../db/client.js';
import { deadlineIn } from '../db/deadline.js';
import { type EmbeddedPostgres, startEmbedded } from '../db/embedded.js';
import { migrate } from '../db/migrate.js';
import { createLog } from '../log.js';
import { addressIn, type LocalProcess, type LocalProgram, startProcess } from './process.js';
import { runUntilInterrupted } from './run.js';

const MAIN = fileURLToPath(new URL('../main.js', import.meta.url));
/** In PATH, and where Debian installs it, which is in the PATH of root alone. */
const NATS_SERVERS = ['nats-server', '/usr/sbin/nats-server', '/usr/local/sbin/nats-server'];
/** Between the ports of two nodes. */
const PORTS_APART = 10;
/** For the first statements of a database that has just started. */
const DATABASE_MS = 10_000;
const COUNT_MAX = 9;
/** SIGKILL ends this process alone. */
const LEFT_OVER =
  ' Programs of a `make cluster` that was killed may still run. End them, and start it again.';

const log = createLog('warn');
const interrupt = new AbortController();
/** What runs: nodes before nats-servers, in which order they end. */
const running = { nodes: [] as Stoppable[], servers: [] as Stoppable[] };
let postgres: EmbeddedPostgres | null = null;

type Stoppable = Pick<LocalProcess, 'stop'>;

interface NatsPlace {
  readonly port: number;
  readonly routePort: number;
}

await runUntilInterrupted({ name: 'local cluster', interrupt, start, stop, leftOver: LEFT_OVER });

async function start(): Promise<void> {
  const { nodes, servers, programs } = readArguments();
  const program = programs.find((path) => spawnSync(path, ['--version']).status === 0);
  if (program === undefined)
    throw new Error(
      `nats-server is missing. Install the package nats-server: \`apt-get install nats-server\`, or \`brew install nats-server\`. Looked for: ${programs.join(', ')}.`,
    );
  const settings = readSettings();
  const folder = join(settings.DATA_DIR, 'cluster');
  postgres = await startEmbedded({ dataDir: folder, log, signal: interrupt.signal });
  const password = settings.ADMIN_PASSWORD === undefined ? await firstAdmin(postgres.url) : null;
  const urls = await startServers(program, { folder, count: servers, prefix: settings.NATS_PREFIX });
  const common = {
    DATABASE_URL: postgres.url,
    JWT_SECRET: settings.JWT_SECRET ?? (await keptSecret(folder)),
    NATS_URL: urls,
    NATS_CREDENTIALS_FILE: '',
    DATA_DIR: folder,
  };
  const portOf = (first: number, index: number) => `${first === 0 ? 0 : first + index * PORTS_APART}`;
  // The first one creates the tables alone, so that no other waits for it.
  for (let index = 0; index < nodes; index++) {
    const { output, pid } = await startProcess({
      ...told(`node ${index + 1}`, running.nodes),
      command: [process.execPath, '--enable-source-maps', MAIN],
      env: {
        ...process.env,
        ...common,
        PORT: portOf(settings.PORT, index),
        WS_PORT: portOf(settings.WS_PORT, index),
        METRICS_PORT: portOf(settings.METRICS_PORT, index),
      },
      logFile: join(folder, `node-${index + 1}.log`),
      readySign: /^Ready$/m,
    });
    const addresses = ['REST', 'WebSocket', 'Metrics'].map((name) => `${name} ${addressIn(output, name)}`);
    console.log(`Node ${index + 1}      ${[...addresses, `process ${pid}`].join(', ')}`);
  }
  console.log(`PostgreSQL  ${join(folder, 'postgres')}`);
  console.log(`Logs        ${join(folder, '*.log')}, of this start alone`);
  if (password !== null)
    console.log(`Admin       ${settings.ADMIN_USERNAME} / ${password}   (shown this once)`);
  console.log('Ready. Ctrl-C ends all of it. Kill a process to see what the others do.');
  console.log('See docs/operations.md: Failures and their signs.');
}

/** Nodes before nats-servers, and the database last: each goes on with what it needs until its end. */
async function stop(started: Promise<void>): Promise<void> {
  await Promise.all(running.nodes.map((one) => one.stop()));
  await Promise.all(running.servers.map((one) => one.stop()));
  await started;
  await postgres?.stop();
}

/** `--nodes`, `--nats-servers` (default: as many), and `--nats-server`, the path of the program. */
function readArguments(): { nodes: number; servers: number; programs: readonly string[] } {
  const { values } = parseArgs({
    options: {
      nodes: { type: 'string', default: '3' },
      'nats-servers': { type: 'string' },
      'nats-server': { type: 'string' },
    },
  });
  const path = values['nats-server'];
  const [nodes = 0, servers = 0] = [values.nodes, values['nats-servers'] ?? values.nodes].map(Number);
  for (const count of [nodes, servers])
    if (!Number.isInteger(count) || count < 1 || count > COUNT_MAX)
      throw new Error(`the number of nodes and of nats-servers must be 1 to ${COUNT_MAX}`);
  return { nodes, servers, programs: path === undefined ? NATS_SERVERS : [path] };
}

/** The password of the admin, or null when there was one. */
async function firstAdmin(url: string): Promise<string | null> {
  const { ADMIN_USERNAME: username } = readSettings();
  await migrate(url);
  const database = openDatabase({ url, connections: 1, log });
  try {
    await database.up(deadlineIn(DATABASE_MS));
    const password = randomBytes(12).toString('base64url');
    const passwordHash = await createPasswords().hash(password);
    const outcome = await addAdmin(database, deadlineIn(DATABASE_MS), {
      username,
      passwordHash,
      by: SERVICE,
    });
    return outcome === 'created' ? password : null;
  } finally {
    await database.close();
  }
}

/** NATS_URL of the nodes, with a password of this start. Every server has a route to each other one. */
async function startServers(
  program: string,
  { folder, count, prefix }: { folder: string; count: number; prefix: string },
): Promise<string> {
  const secret = randomBytes(24).toString('hex');
  const ports = await freePorts(2 * count);
  const places = Array.from({ length: count }, (_, index) => ({
    port: ports[2 * index] ?? 0,
    routePort: ports[2 * index + 1] ?? 0,
  }));
  for (const [index, place] of places.entries()) {
    const file = join(folder, `nats-${index + 1}.conf`);
    await writeFile(file, natsConfiguration(place, { places, secret, prefix }), { mode: 0o600 });
    const { pid } = await startProcess({
      ...told(`nats-server ${index + 1}`, running.servers),
      command: [program, '-c', file],
      env: process.env,
      logFile: join(folder, `nats-${index + 1}.log`),
      readySign: /Server is ready/,
    });
    console.log(`NATS ${index + 1}      nats://127.0.0.1:${place.port}, process ${pid}`);
  }
  return places
    .map(({ port }, index) => `nats://${index === 0 ? `radio:${secret}@` : ''}127.0.0.1:${port}`)
    .join(',');
}

/** As docs/operations.md shows it, on loopback and so without TLS. */
function natsConfiguration(
  own: NatsPlace,
  { places, secret, prefix }: { places: readonly NatsPlace[]; secret: string; prefix: string },
): string {
  const routes = places
    .filter((place) => place !== own)
    .map(({ routePort }) => `"nats://route:${secret}@127.0.0.1:${routePort}"`);
  const subjects = `"${prefix}.1.>"`;
  return [
    `listen: "127.0.0.1:${own.port}"`,
    'authorization { users: [',
    `  { user: "radio", password: "${secret}", permissions: { publish: ${subjects}, subscribe: ${subjects} } }`,
    '] }',
    'max_pending: 4MB',
    'write_deadline: "2s"',
    'cluster {',
    '  name: radio',
    `  listen: "127.0.0.1:${own.routePort}"`,
    `  authorization { user: route, password: "${secret}", timeout: 2 }`,
    `  routes: [${routes.join(', ')}]`,
    '}',
  ].join('\n');
}

/** Ports of loopback that nothing listens on, each another one. */
async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => once(server.close(), 'close')));
  return ports;
}

/** Its end is said, and the others go on. Throws when the cluster is to end. */
function told(name: string, among: Stoppable[]): Pick<LocalProgram, 'name' | 'onEnd' | 'onStart'> {
  interrupt.signal.throwIfAborted();
  return {
    name,
    onEnd: (how) => console.log(`${name} ended (${how}). The others go on.`),
    onStart: (started) => among.push(started),
  };
}
