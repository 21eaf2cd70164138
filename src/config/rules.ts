// Checks the rules that a schema cannot state: rules between settings, and values that only other code can read.
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { isPassword } from '../credentials/passwords.js';
import { isSamplePassword } from '../credentials/samples.js';
import { isSigningKey } from '../credentials/signing-keys.js';
import { isUsername } from '../credentials/usernames.js';
import { ConfigError } from '../errors.js';
import type { Env } from './environment.js';
import { isMapFile } from './map-file.js';
import { refuse } from './refusal.js';
import { readDatabaseUrl, readNatsUrls } from './values.js';
import { isMapStyle, isRelayAddress } from './web-addresses.js';

/** Throws ConfigError for the first broken rule. */
export function checkRules(env: Env): void {
  const { DATABASE_URL, JWT_SECRET, JWT_SECRET_PREVIOUS, HEADERS_TIMEOUT_S, REQUEST_TIMEOUT_S } = env;
  if (DATABASE_URL !== undefined && readDatabaseUrl(DATABASE_URL) === null) refuse('DATABASE_URL');
  checkCertificate(env);
  checkNats(env);
  checkConsole(env);
  if (!/^[\w-]{1,32}$/.test(env.NATS_PREFIX)) refuse('NATS_PREFIX', env.NATS_PREFIX);
  for (const name of ['JWT_SECRET', 'JWT_SECRET_PREVIOUS'] as const) {
    const key = env[name];
    if (key !== undefined && !isSigningKey(key)) refuse(name);
  }
  if (JWT_SECRET === undefined && DATABASE_URL !== undefined)
    throw new ConfigError('JWT_SECRET must be set when DATABASE_URL is set: all nodes need the same key');
  if (JWT_SECRET_PREVIOUS !== undefined && JWT_SECRET_PREVIOUS === JWT_SECRET)
    throw new ConfigError('JWT_SECRET_PREVIOUS must differ from JWT_SECRET');
  if (HEADERS_TIMEOUT_S > REQUEST_TIMEOUT_S) {
    // Node would not start.
    const got = `REQUEST_TIMEOUT_S (${REQUEST_TIMEOUT_S} s), got "${HEADERS_TIMEOUT_S}"`;
    throw new ConfigError(`HEADERS_TIMEOUT_S must be at most ${got}`);
  }
  if (!isUsername(env.ADMIN_USERNAME)) refuse('ADMIN_USERNAME', env.ADMIN_USERNAME);
  if (env.ADMIN_PASSWORD !== undefined && !isAdminPassword(env.ADMIN_PASSWORD, env)) refuse('ADMIN_PASSWORD');
}

function isAdminPassword(text: string, env: Pick<Env, 'ADMIN_USERNAME' | 'PASSWORD_MIN_LENGTH'>): boolean {
  const isLongEnough = isPassword(text) && [...text].length >= env.PASSWORD_MIN_LENGTH;
  return isLongEnough && !isSamplePassword(text, env.ADMIN_USERNAME);
}

function checkNats({ NATS_URL, NATS_CREDENTIALS_FILE, DATABASE_URL }: Env): void {
  if (NATS_URL === undefined) {
    if (NATS_CREDENTIALS_FILE !== undefined)
      throw new ConfigError('NATS_URL must be set when NATS_CREDENTIALS_FILE is set');
    return;
  }
  if (readNatsUrls(NATS_URL) === null) refuse('NATS_URL');
  if (DATABASE_URL === undefined)
    throw new ConfigError('DATABASE_URL must be set when NATS_URL is set: all nodes need the same database');
  try {
    if (NATS_CREDENTIALS_FILE !== undefined) readFileSync(NATS_CREDENTIALS_FILE);
  } catch {
    refuse('NATS_CREDENTIALS_FILE', NATS_CREDENTIALS_FILE); // expected: absent, or not readable
  }
}

function checkConsole({ PUBLIC_WS_URL, MAP_STYLE_URL, MAP_FILE }: Env): void {
  if (PUBLIC_WS_URL !== undefined && !isRelayAddress(PUBLIC_WS_URL)) refuse('PUBLIC_WS_URL', PUBLIC_WS_URL);
  if (MAP_STYLE_URL !== undefined && !isMapStyle(MAP_STYLE_URL)) refuse('MAP_STYLE_URL', MAP_STYLE_URL);
  if (MAP_FILE === undefined) return;
  if (MAP_STYLE_URL !== undefined)
    throw new ConfigError('MAP_STYLE_URL must not be set when MAP_FILE is set: the console shows one map');
  if (!isMapFile(MAP_FILE)) refuse('MAP_FILE', MAP_FILE);
}

/** Here, because the relay's engine only says that it could not start. */
function checkCertificate({ TLS_CERT_FILE, TLS_KEY_FILE }: Env): void {
  if (TLS_CERT_FILE === undefined && TLS_KEY_FILE === undefined) return;
  if (TLS_CERT_FILE === undefined)
    throw new ConfigError('TLS_CERT_FILE must be set when TLS_KEY_FILE is set');
  if (TLS_KEY_FILE === undefined) throw new ConfigError('TLS_KEY_FILE must be set when TLS_CERT_FILE is set');
  try {
    createSecureContext({ cert: readFileSync(TLS_CERT_FILE), key: readFileSync(TLS_KEY_FILE) });
  } catch (error) {
    const reason = (error as Error).message;
    throw new ConfigError(`TLS_CERT_FILE and TLS_KEY_FILE must be a certificate and its key: ${reason}`);
  }
}
