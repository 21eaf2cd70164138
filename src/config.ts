// Environment -> frozen Config: the one list of every setting and limit, and beside listening.ts the only reader of
// process.env.
import type { KeyObject } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, isIP } from 'node:net';
import { createSecureContext } from 'node:tls';
import envSchema from 'env-schema';
import { type Static, Type } from 'typebox';
import { isSampleKey, isSamplePassword } from './auth/samples.js';
import { isPassword } from './auth/schemas.js';
import { isUsername, normalizeUsername } from './auth/usernames.js';
import { descriptorsMax, excessOf, type Shares, shareDescriptors } from './descriptors.js';
import { readKeys } from './keys/wrapping.js';
import { REST_HOST, REST_PORT } from './listening.js';

const port = (preset: number, description: string) =>
  Type.Integer({ minimum: 0, maximum: 65535, default: preset, description });

const count = (preset: number, minimum: number, maximum: number, description: string) =>
  Type.Integer({ minimum, maximum, default: preset, description });

/** Of a limit that somebody may want to be none. */
const MANY = 1_000_000;
const upTo = (maximum: number) => `1 to ${maximum}`;

/** Every variable the service reads; `description` says what it takes and why, and is the text of a refusal. */
export const Environment = Type.Object({
  HOST: Type.String({
    minLength: 1,
    default: REST_HOST,
    description: 'address REST and WebSocket bind to',
  }),
  PORT: port(REST_PORT, 'REST port, 0 to 65535; 0 takes a free one'),
  WS_PORT: port(3001, 'WebSocket port, 0 to 65535; 0 takes a free one'),
  METRICS_HOST: Type.String({
    minLength: 1,
    default: '127.0.0.1',
    description: 'address the metrics are served on, plain HTTP and without a password',
  }),
  METRICS_PORT: port(9464, 'port of the metrics, 0 to 65535; 0 takes a free one'),
  DATABASE_URL: Type.Optional(
    Type.String({
      pattern: '^postgres(ql)?://',
      description: 'postgres:// address of a PostgreSQL 15 or newer; unset: the embedded one',
    }),
  ),
  DATA_DIR: Type.String({
    minLength: 1,
    default: '.data',
    description: 'folder of the embedded database and the generated secret',
  }),
  JWT_SECRET: Type.Optional(
    Type.String({
      description:
        'key of the tokens, at least 32 bytes and no sample; required with DATABASE_URL, else generated into DATA_DIR',
    }),
  ),
  JWT_SECRET_PREVIOUS: Type.Optional(
    Type.String({
      description:
        'a second key whose tokens are accepted, such as the one that JWT_SECRET replaced: at least 32 bytes, no sample, another one',
    }),
  ),
  SECRETS_KEY: Type.Optional(
    Type.String({
      description:
        "keys of the talkgroups' master secrets, comma-separated: 32 random bytes each in base64 or hexadecimal, none twice; the first wraps, all unwrap",
    }),
  ),
  ADMIN_USERNAME: Type.String({
    minLength: 1,
    default: 'admin',
    description:
      'name of the admin account that exists after start, 1 to 64 characters, no control characters',
  }),
  ADMIN_PASSWORD: Type.Optional(
    Type.String({
      minLength: 1,
      description:
        'its password when it is created, 1 to 72 bytes, no NUL, not below PASSWORD_MIN_LENGTH, not an obvious one; unset: generated for the embedded database and printed once',
    }),
  ),
  REGISTRATION: Type.Union([Type.Literal('open'), Type.Literal('closed')], {
    default: 'open',
    description: 'open: anyone may register; closed: only the command line adds users',
  }),
  TALKGROUP_DIRECTORY: Type.Union([Type.Literal('all'), Type.Literal('admin')], {
    default: 'all',
    description: 'all: every user may list all talkgroups; admin: only administrators may',
  }),
  PASSWORD_MIN_LENGTH: count(1, 1, 72, 'shortest password at registration and change, 1 to 72 characters'),
  TLS_CERT_FILE: Type.Optional(
    Type.String({
      minLength: 1,
      description: 'PEM certificate chain of REST and WebSocket, together with TLS_KEY_FILE',
    }),
  ),
  TLS_KEY_FILE: Type.Optional(
    Type.String({
      minLength: 1,
      description: 'PEM private key of REST and WebSocket, together with TLS_CERT_FILE',
    }),
  ),
  CORS_ORIGINS: Type.Optional(
    Type.String({
      minLength: 1,
      description:
        'comma-separated web origins, such as https://radio.example, allowed to call REST and to open sockets',
    }),
  ),
  LOG_LEVEL: Type.Union(
    [
      Type.Literal('trace'),
      Type.Literal('debug'),
      Type.Literal('info'),
      Type.Literal('warn'),
      Type.Literal('error'),
      Type.Literal('fatal'),
      Type.Literal('silent'),
    ],
    { default: 'info', description: 'trace, debug, info, warn, error, fatal or silent' },
  ),
  TRUST_PROXY: Type.Optional(
    Type.String({
      minLength: 1,
      description:
        'comma-separated addresses or CIDRs of proxies whose X-Forwarded-For is believed, such as 10.0.0.0/8; a range has at least /1',
    }),
  ),
  LOGIN_FAILURES_PAIR: count(
    20,
    1,
    MANY,
    `wrong passwords for one name from one address at once, ${upTo(MANY)}`,
  ),
  LOGIN_FAILURES_PAIR_PER_MINUTE: count(20, 1, MANY, `and then so many a minute, ${upTo(MANY)}`),
  LOGIN_FAILURES_NAME: count(
    200,
    1,
    MANY,
    `wrong passwords for one name at once, where it has not logged in for 30 days, ${upTo(MANY)}`,
  ),
  LOGIN_FAILURES_NAME_PER_MINUTE: count(60, 1, MANY, `and then so many a minute, ${upTo(MANY)}`),
  LOGIN_FAILURES_ADDRESS: count(
    500,
    1,
    MANY,
    `wrong passwords from one address at once, for names that have not logged in there, ${upTo(MANY)}`,
  ),
  LOGIN_FAILURES_ADDRESS_PER_MINUTE: count(300, 1, MANY, `and then so many a minute, ${upTo(MANY)}`),
  LOGINS_REMEMBERED: count(
    100_000,
    1,
    MANY,
    `pairs of name and address remembered for a login, ${upTo(MANY)}; beyond it the oldest are forgotten`,
  ),
  REGISTRATIONS_PER_MINUTE: count(600, 1, MANY, `of one address, and as many at once, ${upTo(MANY)}`),
  LOGIN_QUEUE: count(64, 1, 1000, 'logins and registrations that wait for a hash, 1 to 1000'),
  BODY_BYTES: count(16_384, 8192, 1_048_576, 'largest body of a request, 8192 to 1048576 bytes'),
  URL_BYTES: count(8192, 1024, 65_536, 'longest request target, 1024 to 65536 bytes'),
  HEADER_BYTES: count(16_384, 4096, 131_072, 'all headers and the target together, 4096 to 131072 bytes'),
  HEADERS_TIMEOUT_S: count(
    5,
    1,
    60,
    'headers must have arrived within so long, 1 to 60 seconds, at most REQUEST_TIMEOUT_S',
  ),
  REQUEST_TIMEOUT_S: count(10, 1, 60, 'a whole request must have arrived within so long, 1 to 60 seconds'),
  ANSWER_TIMEOUT_S: count(
    30,
    1,
    600,
    'an answer of which nothing leaves for so long ends with its connection, 1 to 600 seconds; within twice that',
  ),
  REST_CONNECTIONS: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MANY,
      description: `connections to the REST port, ${upTo(MANY)}, one address at most three quarters of them; more are closed. Unset: 10000, at most a quarter of the open files beyond 200`,
    }),
  ),
  // 64 answers of 10,000 members are 100 MB while their client does not read them.
  REQUESTS_PER_USER: count(
    64,
    1,
    100_000,
    'requests of one user under way at once, 1 to 100000; more are answered 429',
  ),
  DATABASE_CALLS: count(
    576,
    16,
    100_000,
    'statements of the REST side in work and waiting, 16 to 100000; more are refused',
  ),
  DATABASE_POOL: count(10, 1, 100, 'connections of the REST side, 1 to 100; the relay takes 4 more'),
  RELAY_THREADS: count(1, 0, 1, '1: the relay has its own thread; 0: it shares the main one'),
  SOCKETS_MAX: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MANY,
      description: `connections to the WebSocket port, ${upTo(MANY)}; more are refused. Unset: what the limit of open files leaves`,
    }),
  ),
  SOCKETS_PER_USER: count(32, 1, 10_000, 'sockets of one user; one more closes the longest-silent one'),
  FRAME_BYTES: count(1024, 64, 16_384, 'largest audio payload, 64 to 16384 bytes'),
  FRAMES_PER_SECOND: count(
    110,
    10,
    10_000,
    'frames per second of one session in one talkgroup, 10 to 10000; twice that as a burst',
  ),
  USER_BYTES_PER_SECOND: count(
    65_536,
    16_384,
    1_000_000_000,
    'payload bytes per second of all sockets of a user in one talkgroup, 16384 to 1000000000',
  ),
  TALKS_PER_USER: count(
    2,
    1,
    10_000,
    'talk bursts at once of all sockets of a user in one talkgroup, 1 to 10000; more are refused',
  ),
  TALKERS_MAX: count(
    32,
    1,
    10_000,
    'talk bursts at once in one open talkgroup, 1 to 10000; more are refused',
  ),
  TEXT_BYTES: count(8192, 512, 65_536, 'largest text message, 512 to 65536 bytes'),
  CONTROL_PER_SECOND: count(
    20,
    1,
    1000,
    'text messages per second of one session, 1 to 1000; three times that as a burst',
  ),
  IDLE_TIMEOUT_S: count(
    60,
    8,
    600,
    'a socket silent for so long, 8 to 600 seconds, is closed; it is pinged before',
  ),
  TALK_SILENCE_MS: count(2000, 200, 60_000, 'T1: silence that ends a talk burst, 200 to 60000 ms'),
  BACKLOG_MS: count(
    1000,
    200,
    60_000,
    'lag beyond which a receiver gets no audio until it has caught up, 200 to 60000 ms',
  ),
  LAG_PING_MS: count(
    1000,
    0,
    10_000,
    'a receiver of audio is pinged so often to learn its lag, 1 to 10000 ms; 0: never, only full buffers tell',
  ),
  RESUME_MS: count(
    60_000,
    0,
    600_000,
    'a session is kept so long for its return, 0 (not at all) to 600000 ms',
  ),
  SESSIONS_PARKED: count(
    20_000,
    1,
    1_000_000,
    'sessions kept for their return, 1 to 1000000; beyond it the oldest of the user with the most goes',
  ),
  DRAIN_MS: count(
    5000, // `docker stop` kills after 10 s, and REST and the database end behind the sockets
    0,
    600_000,
    'at SIGTERM idle sockets are closed spread over at most so long, talkers by then, 0 to 600000 ms',
  ),
  UPGRADES_LOADING: count(50, 1, 10_000, 'handshakes whose memberships are loaded at the same time'),
  UPGRADES_WAITING: count(10_000, 0, 100_000, 'handshakes that wait for that; more are closed with 1013'),
});

type Env = Static<typeof Environment>;

/** The frozen settings of one process. */
export interface Config
  extends Omit<Env, 'CORS_ORIGINS' | 'SECRETS_KEY' | 'TRUST_PROXY' | keyof Shares>,
    Shares {
  /** null: any origin, which is right for native apps and same-origin pages. */
  readonly CORS_ORIGINS: readonly string[] | null;
  /** Empty: nobody is believed. */
  readonly TRUST_PROXY: readonly string[];
  /** Empty: master secrets are stored as they are. */
  readonly SECRETS_KEY: readonly KeyObject[];
}

/** RFC 7518, section 3.2: a key for HS256 is no shorter than its hash. */
export const JWT_SECRET_BYTES_MIN = 32;

/** A variable that does not hold what it takes; the process refuses to start with this sentence. */
export class ConfigError extends Error {
  override name = 'ConfigError';
}

/** Reads and checks the settings. Empty variables count as unset. Throws ConfigError naming variable and meaning. */
export function readConfig(
  source: Readonly<Record<string, string | undefined>> = process.env,
  openFilesMax = descriptorsMax(),
): Config {
  const given = Object.fromEntries(
    Object.entries(source).filter(([, value]) => value !== undefined && value !== ''),
  );
  const env = readEnvironment(given);
  checkTogether(env);
  return Object.freeze({
    ...env,
    ...shareDescriptors(env, openFilesMax, MANY),
    ADMIN_USERNAME: normalizeUsername(env.ADMIN_USERNAME),
    CORS_ORIGINS: env.CORS_ORIGINS === undefined ? null : readOrigins(env.CORS_ORIGINS),
    TRUST_PROXY: readRanges(env.TRUST_PROXY),
    SECRETS_KEY: env.SECRETS_KEY === undefined ? [] : readSecretsKey(env.SECRETS_KEY),
  });
}

function readEnvironment(given: Record<string, string | undefined>): Env {
  const refuse = (name: string): never => {
    const got = secret.has(name) ? '' : ` (got ${JSON.stringify(given[name])})`;
    throw new ConfigError(`${name}: ${meaningOf(name)}${got}`);
  };
  for (const [name, schema] of Object.entries(Environment.properties)) {
    // Ajv would take 0x10 and 1e3, too.
    if ('type' in schema && schema.type === 'integer' && !/^\d+$/.test(given[name] ?? '0')) refuse(name);
  }
  try {
    return envSchema<Env>({ schema: Environment, data: given, dotenv: false, env: false });
  } catch (error) {
    // Ajv's first complaint; instancePath is '/VARIABLE'.
    const [first] = (error as { errors?: { instancePath: string }[] }).errors ?? [];
    const name = first?.instancePath.slice(1) ?? '';
    if (!(name in Environment.properties)) throw error;
    return refuse(name);
  }
}

/** Values that no message repeats. */
const secret = new Set([
  'DATABASE_URL',
  'JWT_SECRET',
  'JWT_SECRET_PREVIOUS',
  'SECRETS_KEY',
  'ADMIN_PASSWORD',
]);

function meaningOf(name: string): string {
  return (Environment.properties as Record<string, { description?: string }>)[name]?.description ?? '';
}

function checkTogether(env: Env): void {
  const refuse = (name: string) => {
    throw new ConfigError(`${name}: ${meaningOf(name)}`);
  };
  if (env.DATABASE_URL !== undefined && !isDatabaseUrl(env.DATABASE_URL)) refuse('DATABASE_URL');
  if ((env.TLS_CERT_FILE === undefined) !== (env.TLS_KEY_FILE === undefined)) {
    refuse(env.TLS_CERT_FILE === undefined ? 'TLS_CERT_FILE' : 'TLS_KEY_FILE');
  }
  if (env.TLS_CERT_FILE !== undefined && env.TLS_KEY_FILE !== undefined) {
    checkCertificate(env.TLS_CERT_FILE, env.TLS_KEY_FILE);
  }
  for (const name of ['JWT_SECRET', 'JWT_SECRET_PREVIOUS'] as const) {
    const key = env[name];
    if (key !== undefined && (Buffer.byteLength(key) < JWT_SECRET_BYTES_MIN || isSampleKey(key)))
      refuse(name);
  }
  if (env.JWT_SECRET === undefined && env.DATABASE_URL !== undefined) refuse('JWT_SECRET');
  if (env.JWT_SECRET_PREVIOUS !== undefined && env.JWT_SECRET_PREVIOUS === env.JWT_SECRET)
    refuse('JWT_SECRET_PREVIOUS');
  if (env.DATABASE_CALLS < env.DATABASE_POOL) refuse('DATABASE_CALLS'); // the gate lets in who has a connection
  if (env.HEADERS_TIMEOUT_S > env.REQUEST_TIMEOUT_S) refuse('HEADERS_TIMEOUT_S'); // Node would not start
  if (!isUsername(env.ADMIN_USERNAME)) refuse('ADMIN_USERNAME');
  if (env.ADMIN_PASSWORD !== undefined && !isAdminPassword(env.ADMIN_PASSWORD, env)) refuse('ADMIN_PASSWORD');
}

function isAdminPassword(text: string, env: Pick<Env, 'ADMIN_USERNAME' | 'PASSWORD_MIN_LENGTH'>): boolean {
  const isLongEnough = isPassword(text) && [...text].length >= env.PASSWORD_MIN_LENGTH;
  return isLongEnough && !isSamplePassword(text, env.ADMIN_USERNAME);
}

function readSecretsKey(text: string): readonly KeyObject[] {
  const keys = readKeys(text);
  if (keys === null) throw new ConfigError(`SECRETS_KEY: ${meaningOf('SECRETS_KEY')}`);
  return keys;
}

/** Here, because postgres.js would only say that some URL is not valid, and quote it. */
function isDatabaseUrl(text: string): boolean {
  try {
    const { username, password, hostname, pathname } = new URL(text.replace(MORE_HOSTS, ''));
    decodeURIComponent(username + password + hostname);
    return hostname !== '' || pathname.length > 1;
  } catch {
    // Expected: what URL and decodeURIComponent throw at a text they cannot read.
    return false;
  }
}

/** What follows the first host: PostgreSQL's addresses may name several, `one:5432,two:5432`, which no URL may. */
const MORE_HOSTS = /(?<=^\w+:\/\/([^@/?]*@)?[^@,/?]*),[^@/?]*(?=[/?]|$)/;

/** Throws ConfigError when the connections that the settings allow exceed the limit of open files. */
export function checkOpenFiles(shares: Shares, openFilesMax = descriptorsMax()): void {
  const excess = excessOf(shares, openFilesMax);
  if (excess !== null) throw new ConfigError(`SOCKETS_MAX: ${excess}`);
}

/** Throws ConfigError when `host` is no address of this machine: the engine would call its port taken. */
export async function checkHost(host: string): Promise<void> {
  const probe = createServer().listen(0, host);
  try {
    await once(probe, 'listening');
  } catch (error) {
    throw new ConfigError(`HOST: ${meaningOf('HOST')} (${(error as Error).message})`);
  } finally {
    probe.close();
  }
}

/** Here, because the relay's engine only says that it could not start. */
function checkCertificate(certFile: string, keyFile: string): void {
  try {
    createSecureContext({ cert: readFileSync(certFile), key: readFileSync(keyFile) });
  } catch (error) {
    throw new ConfigError(`TLS_CERT_FILE, TLS_KEY_FILE: not a usable pair: ${(error as Error).message}`);
  }
}

function splitList(text: string | undefined): readonly string[] {
  return (text ?? '')
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

/** As fastify takes them; its own complaint would not name the variable. */
function readRanges(text: string | undefined): readonly string[] {
  const ranges = splitList(text);
  for (const range of ranges) {
    const [address = '', bits] = range.split(/\/(.*)/s);
    const bitsMax = isIP(address) === 6 ? 128 : 32;
    const isRange = bits === undefined || (/^[1-9]\d{0,2}$/.test(bits) && Number(bits) <= bitsMax);
    if (isIP(address) === 0 || address.includes('%') || !isRange) {
      throw new ConfigError(`TRUST_PROXY: ${meaningOf('TRUST_PROXY')} (got ${JSON.stringify(range)})`);
    }
  }
  return ranges;
}

function readOrigins(text: string): readonly string[] {
  const origins = splitList(text);
  for (const origin of origins) {
    // URL.origin is what browsers send: scheme, host and port, nothing behind.
    if (!URL.canParse(origin) || new URL(origin).origin !== origin) {
      throw new ConfigError(`CORS_ORIGINS: ${meaningOf('CORS_ORIGINS')} (got ${JSON.stringify(origin)})`);
    }
  }
  return origins;
}
