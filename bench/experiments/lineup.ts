// Starts the servers of a contest: the relay as shipped and without lag pings, the bare engine, other installed servers.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Contender } from '../generator/stage.js';
import type { Member } from '../radios/member.js';
import type { Bench } from '../scenario.js';
import { PEERS, type PeerName, withPeer } from '../servers/peers.js';
import { type Relay, withRelay } from '../servers/relay.js';
import type { Server } from '../servers/start.js';
import { enlist, type FleetOptions } from '../servers/users.js';

export const RELAY = 'relay';
export const QUIET_RELAY = 'relay, no lag pings';
/** Its talkgroups are recorded. */
export const RECORDING = 'relay, recorded';
export const TWO_THREADS = 'relay, 2 threads';
export const BARE = 'bare engine';
export const PINGING = 'engine that pings as often';

/** The relay with its longest window under load (ms). 0: it holds no frame. */
export const windowed = (ms: number) => `relay, window ${ms} ms`;
const WINDOWS_MS = [0, 40, 60, 100];

type Settings = Readonly<Record<string, string>>;

/** The relay's settings beyond its defaults: no limit is raised. A line for each connection says nothing here. */
const RELAYS: Readonly<Record<string, Settings>> = {
  [RELAY]: { LOG_LEVEL: 'warn' },
  [QUIET_RELAY]: { LOG_LEVEL: 'warn', LAG_PING_MS: '0' },
  [RECORDING]: { LOG_LEVEL: 'warn' },
  [TWO_THREADS]: { LOG_LEVEL: 'warn', RELAY_THREADS: '2' },
  ...Object.fromEntries(
    WINDOWS_MS.map((ms) => [windowed(ms), { LOG_LEVEL: 'warn', LOAD_WINDOW_MS: `${ms}` }]),
  ),
};
const PEER_NAMES: Readonly<Record<string, PeerName>> = {
  [BARE]: 'bare',
  [PINGING]: 'bare-pinging',
  ws: 'ws',
  '@fastify/websocket': 'fastify-websocket',
  'socket.io': 'socket.io',
  mosquitto: 'mosquitto',
  'nats-server': 'nats',
};

/** A server that runs, by the name that tables and plots have for it. */
export interface Running {
  readonly name: string;
  readonly server: Server;
  /** null: a peer, which authenticates no radio. */
  readonly relay: Relay | null;
  /** Of a relay, beyond its defaults. */
  readonly settings: Settings | null;
}

export type Lineup = readonly Running[];

export interface LineupOptions {
  /** Other builds of the relay by name: the folder of each checkout, built. */
  readonly builds?: Readonly<Record<string, string>>;
  /** Of all relays here. */
  readonly settings?: Settings;
}

/** Those of `names` that are installed, in the same order. Gone when `use` has settled. */
export async function withLineup<T>(
  { cores, signal, note }: Bench,
  names: readonly string[],
  use: (lineup: Lineup) => Promise<T>,
  { builds = {}, settings: ofAll = {} }: LineupOptions = {},
): Promise<T> {
  const present = names.filter((name) => {
    const peer = PEER_NAMES[name];
    return peer === undefined || PEERS[peer].version() !== null;
  });
  const missing = names.filter((name) => !present.includes(name));
  if (missing.length > 0) note(`not installed, so not compared: ${missing.join(', ')}`);
  const options = { cores: cores.server, signal };
  /** One within the other, so that whichever fails, all end. */
  const start = (running: Lineup, [name, ...others]: readonly string[]): Promise<T> => {
    if (name === undefined) return use(running);
    const peer = PEER_NAMES[name];
    if (peer !== undefined)
      return withPeer(peer, options, (server) =>
        start([...running, { name, server, relay: null, settings: null }], others),
      );
    const folder = builds[name];
    const main = folder === undefined ? {} : { main: pathToFileURL(join(folder, 'dist/src/main.js')) };
    const settings = { ...RELAYS[folder === undefined ? name : RELAY], ...ofAll };
    return withRelay({ ...options, ...main, settings }, (relay) =>
      start([...running, { name, server: relay, relay, settings }], others),
    );
  };
  return start([], present);
}

/** Gives each relay a fleet of its own. Peers take that of the first, whose tokens they do not look at. */
export async function cast(lineup: Lineup, fleet: FleetOptions): Promise<readonly Contender[]> {
  let first: readonly Member[] | null = null;
  const fleets = new Map<Running, readonly Member[]>();
  for (const running of lineup) {
    if (running.relay === null) continue;
    const isRecorded = running.name === RECORDING;
    const users = await enlist(running.relay, isRecorded ? { ...fleet, recordingDays: 30 } : fleet);
    fleets.set(running, users);
    first ??= users;
  }
  return lineup.map((running) => contender(running.server, fleets.get(running) ?? first ?? []));
}

/** Plain data. */
const contender = ({ url, dialect, pid }: Server, users: readonly Member[]): Contender => ({
  target: { url, dialect },
  pid,
  users,
});

/** For the result: what the servers were set to. */
export const settingsOf = (lineup: Lineup) =>
  Object.fromEntries(lineup.flatMap(({ name, settings }) => (settings === null ? [] : [[name, settings]])));
