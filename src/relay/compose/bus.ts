// Opens the bus of a relay: over ports to the other threads of its node, over NATS to other nodes, or over both.
import { readFile } from 'node:fs/promises';
import { ConfigError } from '../../errors.js';
import type { Bus } from '../nodes/bus.js';
import { joinNearFar, type NearFarOptions } from '../nodes/carriers/near-far.js';
import { openPorts, type PortsOptions } from '../nodes/carriers/ports.js';

export interface OpeningOptions {
  /** null: it is the only relay of its node. */
  readonly siblings: (Pick<PortsOptions, 'ports'> & Pick<NearFarOptions, 'relays'>) | null;
  /** null: its node is the only one. */
  readonly nats: NatsAccess | null;
  /** The relay is closed meanwhile, and needs no bus. */
  readonly isClosing: () => boolean;
  readonly log: Log;
}

interface NatsAccess {
  readonly urls: string;
  /** undefined: none. */
  readonly credentialsFile: string | undefined;
  /** First token of every subject. */
  readonly prefix: string;
  /** As the servers list this connection. */
  readonly name: string;
}

export interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export interface OpenedBus {
  readonly bus: Bus;
  /** Resolves after the first try to reach NATS, at most 3 s: why a server refused this relay. null: none did. */
  readonly rejected: Promise<string | null> | null;
}

/** null: there is no other relay to talk to. Rejects when the credentials cannot be read. */
export async function openBus(options: OpeningOptions): Promise<OpenedBus | null> {
  const { siblings, nats, isClosing, log } = options;
  const openFar = nats === null ? null : await prepareNats(nats, log);
  if (isClosing()) return null;
  const near = siblings === null ? null : openPorts({ ports: siblings.ports, log });
  const far = openFar?.() ?? null;
  if (far === null) return near && { bus: near, rejected: null };
  const { rejected } = far;
  if (near === null || siblings === null) return { bus: far, rejected };
  return { bus: joinNearFar({ near, far, relays: siblings.relays }), rejected };
}

/** Reads what the connection needs. The answer opens it. */
async function prepareNats({ credentialsFile: file, ...rest }: NatsAccess, log: Log) {
  const credentials = file === undefined ? null : await readFile(file);
  const { areCredentials, openNats } = await import('../nodes/carriers/nats.js'); // loaded with NATS_URL only
  if (credentials !== null && !areCredentials(credentials))
    throw new ConfigError(
      `NATS_CREDENTIALS_FILE must be the path of a readable credentials file, got "${file}"`,
    );
  return () => openNats({ ...rest, credentials, log });
}
