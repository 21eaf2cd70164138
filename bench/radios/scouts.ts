// Finds out which relay thread takes a connection: from WELCOME, and by the local port, which always leads to the same one.
import { randomInt } from 'node:crypto';
import { relayOf } from './homes.js';
import { RawRadio, type Target } from './raw-radio.js';

/** Connections of one user. The service lets in 64 at once at each relay, then 5 a second. */
const TRIES_MAX = 50;

/** So many users find so many ports for each of two threads, and some more, because chance deals them out. */
export const scoutsFor = (ports: number): number => Math.ceil((2.5 * ports + TRIES_MAX) / TRIES_MAX);

/** Local ports that the system does not give out by itself. */
const PORTS: readonly [number, number] = [12_000, 32_000];

interface Arrived {
  readonly radio: RawRadio;
  /** Id of the relay thread that has it. */
  readonly relay: number;
}

/** Connects a radio that hears and says nothing. Rejects when it cannot join. */
export async function arrive(target: Target, token: string): Promise<Arrived> {
  let session = Number.NaN;
  const radio = new RawRadio({
    target,
    token,
    receive: () => {},
    told: (said) => {
      if (said.type === 'WELCOME') session = Number(said.session);
    },
    lost: () => {},
  });
  await radio.joined;
  return { radio, relay: relayOf(session) };
}

/** Local ports by the thread that they lead to, that with the lower session numbers first. */
export type PortsOfThreads = readonly (readonly number[])[];

/**
 * Finds so many local ports for each of two threads. `tokens` are those of `scoutsFor(each)` users, who should have no
 * talkgroups, so that no thread takes any for its own. The service should have RESUME_MS=0. Rejects when too few tries led to
 * a thread.
 */
export async function scoutPorts(
  target: Target,
  tokens: readonly string[],
  each: number,
): Promise<PortsOfThreads> {
  const ports = new Map<number, number[]>();
  const tried = new Set<number>();
  let lastError: unknown;
  const isEnough = () => ports.size >= 2 && [...ports.values()].every(({ length }) => length >= each);
  while (!isEnough()) {
    const localPort = randomInt(...PORTS);
    if (tried.has(localPort)) continue;
    const token = tokens[Math.floor(tried.size / TRIES_MAX)];
    if (token === undefined)
      throw new RangeError(`no ${each} ports for each thread in ${tried.size} tries`, { cause: lastError });
    tried.add(localPort);
    const arrived = await arrive({ ...target, localPort }, token).catch((error) => {
      lastError = error; // expected: another socket has the port
      return null;
    });
    if (arrived === null) continue;
    const { radio, relay } = arrived;
    ports.set(relay, [...(ports.get(relay) ?? []), localPort]);
    radio.reset();
    if (ports.size > 2) throw new RangeError('more than two relays, or one with more than 1,024 sessions');
  }
  return [...ports].sort(([a], [b]) => a - b).map(([, found]) => found.slice(0, each));
}
