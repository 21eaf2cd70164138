// Lists the servers that the relay is compared with, their installed versions, and how each is started.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { findProgram } from '../machine/processes.js';
import type { DialectName } from '../radios/raw-radio.js';
import { mosquittoVersion, startMosquitto } from './peers/mosquitto.js';
import { natsVersion, startNats } from './peers/nats.js';
import { type Server, type ServerOptions, type Start, startOfNode, withFolder, withServer } from './start.js';

/** What the relay is compared with. Each fans frames out to the other members of a room and knows no users. */
interface Peer {
  readonly dialect: DialectName;
  /** Of what it is made of. null: not installed. */
  readonly version: () => string | null;
  /** `folder` is its own and goes with it. */
  readonly start: (folder: string) => Start | Promise<Start>;
}

export const PEERS = {
  /** The engine inside our relay, alone. */
  bare: nodePeer('bare', 'uWebSockets.js'),
  /** The same, which pings the hearers of a frame as often as the relay does. */
  'bare-pinging': nodePeer('bare', 'uWebSockets.js', '2000'),
  /** With frames built once. */
  ws: nodePeer('ws', 'ws'),
  'fastify-websocket': nodePeer('fastify-websocket', '@fastify/websocket'),
  'socket.io': { ...nodePeer('socket-io', 'socket.io'), dialect: 'socket.io' },
  mosquitto: programPeer('mosquitto', 'mqtt', mosquittoVersion, startMosquitto),
  nats: programPeer('nats-server', 'nats', natsVersion, startNats),
} as const satisfies Readonly<Record<string, Peer>>;

export type PeerName = keyof typeof PEERS;

/** A peer that is installed. Gone when `use` has settled. */
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

/** A program of the system. Without it the peer cannot be had. */
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
