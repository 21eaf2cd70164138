// Prints the effective settings, with secrets masked, for an operator who looks for a mistake or asks for help.
import type { Config } from './config.js';
import { type Setting, settings } from './environment.js';
import { settingsByGroup } from './reference.js';
import { type Rate, readDatabaseUrl } from './values.js';

const MASK = '********';

/** A line for each setting: NAME=value, and whether the environment set it. `namesSet` are the names it set. */
export function effectiveSettings(config: Config, namesSet: ReadonlySet<string>): string {
  const parts = settingsByGroup().map(([group, own]) => {
    const lines = own.map(([name, setting]) => {
      const value = printed(name, setting, config[name as keyof Config]);
      return `${`${name}=${value}`.padEnd(42)} # ${originOf(name, { value, isSet: namesSet.has(name) })}`;
    });
    return [`# ${group}`, ...lines].join('\n');
  });
  return parts.join('\n\n');
}

function printed(name: string, { secret }: Setting, value: Config[keyof Config]): string {
  if (value === undefined || value === null || (Array.isArray(value) && value.length === 0)) return '';
  if (name === 'DATABASE_URL') return maskedUrl(String(value));
  if (secret) return MASK;
  if (Array.isArray(value)) return value.join(',');
  if (typeof value === 'object') {
    const { atOnce, perMinute } = value as Rate;
    return `${atOnce}/${perMinute}`;
  }
  return String(value);
}

/** Host, database and sslmode stay readable. Username, password, further hosts and options are left out. */
function maskedUrl(text: string): string {
  const url = readDatabaseUrl(text);
  if (url === null || mayHoldPassword(url)) return MASK;
  const sslmode = /^[a-z-]+$/.exec(url.searchParams.get('sslmode') ?? '')?.[0];
  return `${url.protocol}//${MASK}@${url.host}${url.pathname}${sslmode ? `?sslmode=${sslmode}` : ''}`;
}

/** A password with `/`, `?` or `#` in it ends the authority early: its rest is then read as path, query or fragment. */
function mayHoldPassword({ pathname, search, hash }: URL): boolean {
  return !/^(\/[\w.-]*)?$/.test(pathname) || search.includes('@') || hash !== '';
}

function originOf(name: string, { value, isSet }: { value: string; isSet: boolean }): string {
  if (isSet) return 'set';
  if (value === '') return 'not set';
  return settings[name]?.default === undefined ? 'computed' : 'default';
}
