// Finds out which relay thread takes a connection: from WELCOME, and by the local port, which always leads to the same one.
import { randomInt } from 'node:crypto';
import { relayOf } from './homes.js';
import { RawRadio, type Target } from './raw-radio.js';

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
 * Finds so many local ports for each of two threads. The user of `token` should have no talkgroups, so that no thread
 * takes any for its own. The service should have RESUME_MS=0.
 */
export async function scoutPorts(target: Target, token: string, each: number): Promise<PortsOfThreads> {
  const ports = new Map<number, number[]>();
  const tried = new Set<number>();
  const isEnough = () => ports.size >= 2 && [...ports.values()].every(({ length }) => length >= each);
  while (!isEnough()) {
    const localPort = randomInt(...PORTS);
    if (tried.has(localPort)) continue;
    tried.add(localPort);
    const arrived = await arrive({ ...target, localPort }, token).catch(() => null); // expected: another socket has it
    if (arrived === null) continue;
    const { radio, relay } = arrived;
    ports.set(relay, [...(ports.get(relay) ?? []), localPort]);
    radio.reset();
    if (ports.size > 2) throw new RangeError('more than two relays, or one with more than 1,024 sessions');
  }
  return [...ports].sort(([a], [b]) => a - b).map(([, found]) => found.slice(0, each));
}
