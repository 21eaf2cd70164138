// Reads the values that are not a plain text or number: keys, lists, rates.
import type { KeyObject } from 'node:crypto';
import { BlockList, isIP, isIPv6 } from 'node:net';
import { readKeys } from '../keys/wrapping.js';
import { refuse } from './refusal.js';

/** A token bucket: `atOnce` tokens at most, refilled with `perMinute`. */
export interface Rate {
  readonly atOnce: number;
  readonly perMinute: number;
}

/** Reads `burst/minute`, which the schema has checked. */
export function readRate(text: string): Rate {
  const [atOnce = 0, perMinute = 0] = text.split('/').map(Number);
  return { atOnce, perMinute };
}

export function readSecretsKey(text: string): readonly KeyObject[] {
  return readKeys(text) ?? refuse('SECRETS_KEY');
}

/** Fastify takes the same ranges, but its error would not name the variable. */
export function readRanges(text: string | undefined): readonly string[] {
  const ranges = splitList(text);
  for (const range of ranges) {
    const [address = '', bits] = range.split(/\/(.*)/s);
    const bitsMax = isIP(address) === 6 ? 128 : 32;
    const isRange = bits === undefined || (/^[1-9]\d{0,2}$/.test(bits) && Number(bits) <= bitsMax);
    if (isIP(address) === 0 || address.includes('%') || !isRange) refuse('TRUST_PROXY', range);
  }
  return ranges;
}

export function readOrigins(text: string): readonly string[] {
  const origins = splitList(text);
  for (const origin of origins) {
    if (!isOrigin(origin)) refuse('CORS_ORIGINS', origin);
  }
  return origins;
}

/** Scheme, host and port, nothing behind. An app in a native shell has a scheme of its own, such as capacitor://localhost. */
function isOrigin(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { origin, protocol, host } = new URL(text);
  return text === (origin === 'null' && host !== '' ? `${protocol}//${host}` : origin);
}

export function splitList(text: string | undefined): readonly string[] {
  return (text ?? '')
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

/** Null when the text is not the address of a database. postgres.js would quote the invalid URL in its error. */
export function readDatabaseUrl(text: string): URL | null {
  try {
    const url = new URL(text.replace(MORE_HOSTS, ''));
    decodeURIComponent(url.username + url.password + url.hostname);
    return url.hostname !== '' || url.pathname.length > 1 ? url : null;
  } catch {
    // Expected: what URL and decodeURIComponent throw at a text they cannot read.
    return null;
  }
}

/** What follows the first host. An address of PostgreSQL may name several, `one:5432,two:5432`, and a URL may not. */
const MORE_HOSTS = /(?<=^\w+:\/\/([^@/?]*@)?[^@,/?]*),[^@/?]*(?=[/?]|$)/;

/** The hosts of the address of a database, without their ports. */
export function databaseHosts(text: string): string[] {
  const [more = ''] = MORE_HOSTS.exec(text) ?? [];
  const others = more.split(',').slice(1);
  return [readDatabaseUrl(text)?.hostname ?? '', ...others.map((host) => host.replace(/:\d*$/, ''))];
}

/**
 * Null when the text is not a list of NATS servers. Without TLS only servers on this machine are taken: the audio and
 * the password would cross the network in the clear.
 */
export function readNatsUrls(text: string): readonly URL[] | null {
  const items = splitList(text);
  const urls = items.flatMap((item) => (URL.canParse(item) ? [new URL(item)] : []));
  const [first] = urls;
  if (first === undefined || urls.length < items.length) return null;
  const isServer = ({ protocol, hostname, pathname, search, hash }: URL) =>
    protocol === first.protocol && hostname !== '' && /^\/?$/.test(pathname) && search + hash === '';
  const isSafe = ({ hostname }: URL) =>
    first.protocol === 'tls:' || (first.protocol === 'nats:' && isLoopback(hostname));
  return urls.every((url) => isServer(url) && isSafe(url) && isDecodable(url) && isOfFirst(url, first))
    ? urls
    : null;
}

/** The user information of the first URL counts for all. What would not count is refused. */
const isOfFirst = ({ username, password }: URL, first: URL): boolean =>
  username === ''
    ? password === ''
    : username === first.username && (password === '' || password === first.password);

/** Whether a host of a URL, or an address, stays on this machine. */
export function isLoopback(host: string): boolean {
  const address = host.replace(/^\[(.*)\]$/, '$1');
  if (isIP(address) === 0) return address.toLowerCase() === 'localhost';
  return LOOPBACK.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
}

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8); // and as ::ffff:127.0.0.1
LOOPBACK.addAddress('::1', 'ipv6');

function isDecodable({ username, password }: URL): boolean {
  try {
    decodeURIComponent(username + password);
    return true;
  } catch {
    return false; // expected: a lone %
  }
}
