// The servers of NATS: which are tried, how a connection is made, and whether a server lets a relay do what it needs.
import { setTimeout as delay } from 'node:timers/promises';
import {
  type ConnectionOptions,
  credsAuthenticator,
  errors,
  type NatsConnection,
} from '@nats-io/transport-node';
import { MESSAGE_BYTES_MAX, relaySubject, type Subject, talkgroupSubject } from '../bus.js';

interface Connecting {
  readonly urls: string;
  readonly credentials: Uint8Array | null;
  readonly name: string;
}

/** The server answers, and cannot be used as it is set up. */
class Refusal extends Error {}

export interface Fault {
  /** Each is logged once. */
  readonly kind: 'away' | 'rejected' | 'permissions' | 'unfit' | 'message';
  readonly reason: string;
  /** A setting is wrong, here or at the server. Else the server is away. */
  readonly isRefusal: boolean;
}

export function faultOf(error: unknown): Fault {
  const reason = error instanceof Error ? error.message : String(error);
  const kind = kindOf(error);
  return { kind, reason, isRefusal: kind !== 'away' };
}

function kindOf(error: unknown): Fault['kind'] {
  if (error instanceof errors.AuthorizationError) return 'rejected';
  if (error instanceof errors.PermissionViolationError) return 'permissions';
  if (error instanceof errors.InvalidArgumentError) return 'message';
  return error instanceof Refusal ? 'unfit' : 'away';
}

/** A server that has not answered by then (ms) is frozen. */
const CHECK_MS_MAX = 2000;
/** No relay and no talkgroup has the number 0. */
const CHECKED: readonly Subject[] = [talkgroupSubject(0), relaySubject(0)];

/**
 * Rejects when the server does not take messages of the greatest length, or does not let us use subjects with this prefix.
 * `faults` are those that the connection has had: the server tells of them before it confirms.
 */
export async function checkConnection(
  connected: NatsConnection,
  prefix: string,
  faults: readonly Error[],
): Promise<void> {
  const bytes = connected.info?.max_payload ?? MESSAGE_BYTES_MAX;
  if (bytes < MESSAGE_BYTES_MAX)
    throw new Refusal(`max_payload is ${bytes} bytes, and must be at least ${MESSAGE_BYTES_MAX}`);
  for (const subject of CHECKED) {
    const checked = connected.subscribe(`${prefix}.${subject}`, { callback: () => {} });
    checked.unsubscribe();
    connected.publish(`${prefix}.${subject}`);
  }
  const answer = connected.flush().then(() => true);
  if (!(await Promise.race([answer, delay(CHECK_MS_MAX, false, { ref: false })])))
    throw new Error('the server does not answer');
  await new Promise((resolve) => setImmediate(resolve)); // what was read with the confirmation is told by then
  const [fault] = faults;
  if (fault === undefined) return;
  throw new Refusal(`${fault.message}. NATS_PREFIX must fit the permissions of the user`);
}

const serversOf = (urls: string) =>
  urls.split(',').flatMap((url) => (url.trim() === '' ? [] : [new URL(url.trim())]));

export const hostsOf = (urls: string): string[] => serversOf(urls).map(({ host }) => host);

/** Nodes with the same list must not all have the same server. */
export const shuffled = <T>(list: readonly T[]): T[] =>
  list
    .map((one) => ({ one, at: Math.random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ one }) => one);

/** The list with this server at the end. */
export function withLast(servers: readonly string[], last: string): string[] {
  return [...servers.filter((host) => host !== last), last];
}

/** Whether the content of a credentials file can be read: a JWT and a seed that signs. */
export function areCredentials(content: Uint8Array): boolean {
  try {
    credsAuthenticator(content)('nonce');
    return true;
  } catch {
    return false; // expected: a file with something else
  }
}

export function connectionOf({ urls, credentials, name }: Connecting): ConnectionOptions {
  const servers = serversOf(urls);
  const [first] = servers;
  const user = decodeURIComponent(first?.username ?? '');
  const pass = decodeURIComponent(first?.password ?? '');
  return {
    name,
    noEcho: true,
    noRandomize: true,
    reconnect: false,
    // Only the servers that the operator names.
    ignoreClusterUpdates: true,
    // A server that does not answer is left after 2 to 3 s, one that closes the connection at once.
    pingInterval: 1000,
    maxPingOut: 2,
    timeout: 2000,
    ignoreAuthErrorAbort: true,
    ...(servers.some(({ protocol }) => protocol === 'tls:') && { tls: {} }),
    ...(credentials !== null && { authenticator: credsAuthenticator(credentials) }),
    // A user without a password is a token, as in every other client.
    ...(user !== '' && (pass === '' ? { token: user } : { user, pass })),
  };
}
