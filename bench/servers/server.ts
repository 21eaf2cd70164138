// The servers under load: ours and its peers, as processes of their own that end with the bench.
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { findProgram, startProgram } from '../machine/processes.js';
import type { DialectName, Target } from '../radios/raw-radio.js';
import { mosquittoVersion, startMosquitto } from './peers/mosquitto.js';
import { natsVersion, startNats } from './peers/nats.js';

/** A server that is ready for radios. */
export interface Server extends Target {
  /** One process, all of whose threads are the server's. */
  readonly pid: number;
}

/** Ours, with what is needed to write users into its database. */
export interface Relay extends Server {
  /** `http://host:port` */
  readonly restUrl: string;
  readonly dataDir: string;
  readonly jwtSecret: string;
}

export interface ServerOptions {
  readonly cores: string | null;
  readonly signal: AbortSignal;
  /** Environment beyond what makes it run at all; belongs into the result. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Of Node or V8, such as `--trace-gc`; for our service only. */
  readonly nodeFlags?: readonly string[];
  /** Gets what the server prints, in pieces as they come. */
  readonly onOutput?: (text: string) => void;
}

/** How a server is started, and when it is ready. */
export interface Start {
  readonly command: readonly string[];
  /** Where radios connect, from all it has printed; null: not ready yet. */
  readonly readUrl: (output: string) => string | null;
}

/** What the relay is compared with; each fans frames out to the other members of a room and knows no users. */
interface Peer {
  readonly dialect: DialectName;
  /** Of what it is made of; null: not installed. */
  readonly version: () => string | null;
  /** `folder` is its own and goes with it. */
  readonly start: (folder: string) => Start | Promise<Start>;
}

export const PEERS = {
  /** The engine inside our relay, alone. */
  bare: nodePeer('bare', 'uWebSockets.js'),
  /** The same, which pings whoever hears a frame as often as the relay does. */
  'bare-pinging': nodePeer('bare', 'uWebSockets.js', '1000'),
  /** With frames built once. */
  ws: nodePeer('ws', 'ws'),
  'fastify-websocket': nodePeer('fastify-websocket', '@fastify/websocket'),
  'socket.io': { ...nodePeer('socket-io', 'socket.io'), dialect: 'socket.io' },
  mosquitto: programPeer('mosquitto', 'mqtt', mosquittoVersion, startMosquitto),
  nats: programPeer('nats-server', 'nats', natsVersion, startNats),
} as const satisfies Readonly<Record<string, Peer>>;

export type PeerName = keyof typeof PEERS;

const START_MS_MAX = 20_000;
/** The service gives itself 15 s. */
const STOP_MS_MAX = 20_000;

/** Our service with a database of its own in a temporary folder; both are gone when `use` has settled. */
export function withRelay<T>(options: ServerOptions, use: (relay: Relay) => Promise<T>): Promise<T> {
  return withFolder(async (dataDir) => {
    const jwtSecret = 'a bench signs its own tokens: no secret';
    const settings = {
      DATA_DIR: dataDir,
      PORT: '0',
      WS_PORT: '0',
      METRICS_PORT: '0',
      JWT_SECRET: jwtSecret,
      ...options.settings,
    };
    const start = startOfNode(new URL('../../src/main.js', import.meta.url), options.nodeFlags);
    return withServer(start, { ...options, settings }, (server, printed) => {
      const restUrl = /^REST +(\S+)$/m.exec(printed)?.[1] ?? '';
      return use({ ...server, dialect: 'relay', restUrl, dataDir, jwtSecret });
    });
  });
}

/** A peer that is installed; gone when `use` has settled. */
export function withPeer<T>(
  name: PeerName,
  options: ServerOptions,
  use: (peer: Server) => Promise<T>,
): Promise<T> {
  const { dialect, start }: Peer = PEERS[name];
  return withFolder(async (folder) =>
    withServer(await start(folder), options, (server) => use({ ...server, dialect })),
  );
}

/** A file of peers/, on our Node: its libraries' versions are those of the lock file. */
function nodePeer(file: string, library: string, ...args: readonly string[]) {
  return {
    dialect: 'websocket',
    version: () => versionOf(library),
    start: () => startOfNode(new URL(`./peers/${file}.js`, import.meta.url), [], args),
  } as const;
}

function versionOf(library: string): string | null {
  // Not by import: what a package exports need not include its package.json.
  for (const folder of createRequire(import.meta.url).resolve.paths(library) ?? []) {
    try {
      return (JSON.parse(readFileSync(join(folder, library, 'package.json'), 'utf8')) as { version: string })
        .version;
    } catch {} // not in this folder
  }
  return null;
}

/** A program of the system; without it the peer cannot be had. */
function programPeer<const Name extends DialectName>(
  name: string,
  dialect: Name,
  version: (program: string) => string | null,
  start: (program: string, folder: string) => Promise<Start>,
) {
  return {
    dialect,
    version() {
      const program = findProgram(name);
      return program === null ? null : version(program);
    },
    start(folder: string) {
      const program = findProgram(name);
      if (program === null) throw new Error(`${name} is not installed`);
      return start(program, folder);
    },
  };
}

/** Ours, and the peers on Node, print `WebSocket  ws://...` and then `Ready`. */
function startOfNode(file: URL, flags: readonly string[] = [], args: readonly string[] = []): Start {
  return {
    command: [process.execPath, ...flags, file.pathname, ...args],
    readUrl(output) {
      const url = /^WebSocket +(\S+)$/m.exec(output)?.[1];
      return url !== undefined && /^Ready$/m.test(output) ? url : null;
    },
  };
}

async function withFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'radio-bench-'));
  try {
    return await use(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function withServer<T>(
  { command, readUrl }: Start,
  { cores, signal, settings, onOutput }: ServerOptions,
  use: (server: Omit<Server, 'dialect'>, printed: string) => Promise<T>,
): Promise<T> {
  const child = startProgram(command, {
    cores,
    env: { PATH: process.env.PATH, ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = once(child, 'exit');
  const output = readOutput(child, readUrl, onOutput);
  try {
    const url = await Promise.race([
      output.url,
      exited.then(() => Promise.reject(new Error('the server ended before it was ready'))),
      setTimeout(START_MS_MAX, undefined, { signal, ref: false }).then(() =>
        Promise.reject(new Error('the server was not ready in time')),
      ),
    ]);
    return await use({ url, pid: child.pid ?? 0 }, output.tail());
  } catch (error) {
    if (!signal.aborted) console.error(output.tail());
    throw error;
  } finally {
    child.kill('SIGTERM');
    const kill = setTimeout(STOP_MS_MAX, undefined, { ref: false }).then(() => child.kill('SIGKILL'));
    await Promise.race([exited, kill.then(() => exited)]);
  }
}

/** Until it is ready all of the output is kept, then the end of it. */
function readOutput(
  { stdout, stderr }: ChildProcess,
  readUrl: Start['readUrl'],
  onOutput: (text: string) => void = () => {},
) {
  let tail = '';
  const url = new Promise<string>((resolve) => {
    let isReady = false;
    for (const stream of [stdout, stderr]) {
      stream?.setEncoding('utf8').on('data', (chunk: string) => {
        tail += chunk;
        onOutput(chunk);
        if (isReady) tail = tail.slice(-8_000);
        const address = isReady ? null : readUrl(tail);
        if (address === null) return;
        isReady = true;
        resolve(address);
      });
    }
  });
  return { url, tail: () => tail };
}
