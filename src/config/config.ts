// Reads the environment into a frozen Config. Only this file and ../listening.ts read process.env.
import type { KeyObject } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import envSchema, { type EnvSchemaOpt } from 'env-schema';
import { normalizeUsername } from '../credentials/usernames.js';
import { descriptorsMax, excessOf, type Shares, shareDescriptors } from '../descriptors.js';
import { ConfigError } from '../errors.js';
import { type Env, Environment, settings } from './environment.js';
import { refuse } from './refusal.js';
import { checkRules } from './rules.js';
import { MANY, ownKeywords } from './setting.js';
import { type Rate, readOrigins, readRanges, readRate, readSecretsKey } from './values.js';
import { readMapOrigins } from './web-addresses.js';

type Rates = Readonly<Record<'LOGIN_FAILURES_PAIR' | 'LOGIN_FAILURES_NAME' | 'LOGIN_FAILURES_ADDRESS', Rate>>;

/** The frozen settings of one process. */
export interface Config
  extends Omit<
      Env,
      'CORS_ORIGINS' | 'MAP_ORIGINS' | 'SECRETS_KEY' | 'TRUST_PROXY' | keyof Rates | keyof Shares
    >,
    Rates,
    Shares {
  /** null: any origin, which is right for native apps and same-origin pages. */
  readonly CORS_ORIGINS: readonly string[] | null;
  /** Origins of which the console's map may load files. */
  readonly MAP_ORIGINS: readonly string[];
  /** Empty: X-Forwarded-For is ignored. */
  readonly TRUST_PROXY: readonly string[];
  /** Empty: master secrets are stored unencrypted. */
  readonly SECRETS_KEY: readonly KeyObject[];
}

// postgres.js takes these where an address says nothing, as PGPORT for the socket of the embedded database. They are no settings
// of the service.
for (const name of Object.keys(process.env)) if (name.startsWith('PG')) delete process.env[name];

type Source = Readonly<Record<string, string | undefined>>;

/** Reads and checks the settings. Empty variables count as unset. Throws ConfigError naming the variable. */
export function readConfig(source: Source = process.env, openFilesMax = descriptorsMax()): Config {
  const env = readEnvironment(givenIn(source));
  checkRules(env);
  return Object.freeze({
    ...env,
    ...shareDescriptors(env, openFilesMax, MANY),
    LOGIN_FAILURES_PAIR: readRate(env.LOGIN_FAILURES_PAIR),
    LOGIN_FAILURES_NAME: readRate(env.LOGIN_FAILURES_NAME),
    LOGIN_FAILURES_ADDRESS: readRate(env.LOGIN_FAILURES_ADDRESS),
    ADMIN_USERNAME: normalizeUsername(env.ADMIN_USERNAME),
    CORS_ORIGINS: env.CORS_ORIGINS === undefined ? null : readOrigins(env.CORS_ORIGINS),
    MAP_ORIGINS: readMapOrigins(env),
    TRUST_PROXY: readRanges(env.TRUST_PROXY),
    SECRETS_KEY: env.SECRETS_KEY === undefined ? [] : readSecretsKey(env.SECRETS_KEY),
  });
}

/** The settings as they are written, each checked alone. The TLS files, which may be replaced right now, stay closed. */
export function readSettings(source: Source = process.env): Env {
  return readEnvironment(givenIn(source));
}

/** The names of the settings that the environment sets. */
export function namesSet(source: Source = process.env): ReadonlySet<string> {
  return new Set(Object.keys(givenIn(source)).filter((name) => Object.hasOwn(settings, name)));
}

function givenIn(source: Source): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(source).flatMap(([name, value]) =>
      value === undefined || value === '' ? [] : [[name, value]],
    ),
  );
}

/** Ajv with our keywords. It keeps the compiled schema, which takes longer than all else here. */
let ajv: NonNullable<EnvSchemaOpt['ajv']> = {
  customOptions(fresh) {
    fresh.addVocabulary([...ownKeywords]); // in strict mode an unknown keyword is an error
    ajv = fresh;
    return fresh;
  },
};

function readEnvironment(given: Readonly<Record<string, string>>): Env {
  for (const [name, { type }] of Object.entries(settings)) {
    // Ajv would take 0x10 and 1e3, too.
    if (type === 'integer' && !/^\d+$/.test(given[name] ?? '0')) refuse(name, given[name]);
  }
  try {
    return envSchema<Env>({ schema: Environment, data: given, dotenv: false, env: false, ajv });
  } catch (error) {
    // Ajv's first complaint. Its `instancePath` is '/VARIABLE'.
    const [first] = (error as { errors?: { instancePath: string }[] }).errors ?? [];
    const name = first?.instancePath.slice(1) ?? '';
    if (!Object.hasOwn(settings, name)) throw error;
    return refuse(name, given[name]);
  }
}

/** Throws ConfigError when the connections that the settings allow exceed the limit of open files. */
export function checkOpenFiles(shares: Shares, openFilesMax = descriptorsMax()): void {
  const excess = excessOf(shares, openFilesMax);
  if (excess !== null) throw new ConfigError(`SOCKETS_MAX: ${excess}`);
}

/** Throws ConfigError when `host` is not an address of this machine. uWebSockets.js would report a port in use. */
export async function checkHost(host: string): Promise<void> {
  const probe = createServer().listen(0, host);
  try {
    await once(probe, 'listening');
  } catch (error) {
    throw new ConfigError(`HOST must be an address of this machine (${(error as Error).message})`);
  } finally {
    probe.close();
  }
}
