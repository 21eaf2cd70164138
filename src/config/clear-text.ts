// Warns of settings with which tokens, speech or rows cross a network in clear text.
import type { Logger } from 'pino';
import type { Config } from './config.js';
import { databaseHosts, isLoopback, readDatabaseUrl } from './values.js';

type Settings = Pick<Config, 'HOST' | 'TLS_CERT_FILE' | 'TRUST_PROXY' | 'DATABASE_URL'>;

/**
 * Logs a line for each such setting, without its value, which may hold a password. It takes a trusted proxy for one that
 * terminates TLS, and `sslmode=disable` for a decision.
 */
export function warnOfClearText(
  { HOST, TLS_CERT_FILE, TRUST_PROXY, DATABASE_URL }: Settings,
  log: Pick<Logger, 'warn'>,
): void {
  if (TLS_CERT_FILE === undefined && TRUST_PROXY.length === 0 && !isLoopback(HOST))
    log.warn(
      { setting: 'HOST' },
      'open to other machines without TLS: set TLS_CERT_FILE and TLS_KEY_FILE, or TRUST_PROXY to the proxy that terminates TLS',
    );
  if (DATABASE_URL !== undefined && isRemoteInClear(DATABASE_URL))
    log.warn(
      { setting: 'DATABASE_URL' },
      'database on another machine without TLS: add sslmode=verify-full, or sslmode=disable where the network is private',
    );
}

function isRemoteInClear(text: string): boolean {
  const options = readDatabaseUrl(text)?.searchParams;
  const mode = options?.get('sslmode') || options?.get('ssl') || 'prefer'; // an empty one is none
  // `prefer` goes on without TLS when the server has none.
  return mode === 'prefer' && databaseHosts(text).some((host) => !isLoopback(host) && !isSocket(host));
}

/** A folder, percent-encoded, or nothing. */
const isSocket = (host: string): boolean => host === '' || /^(\/|%2f)/i.test(host);
