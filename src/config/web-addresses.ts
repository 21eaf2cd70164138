// Checks the addresses that the console hands to browsers: of the relay, of the map style, of its tiles.
import type { Env } from './environment.js';
import { refuse } from './refusal.js';
import { splitList } from './values.js';

/** A host that a content security policy can name. URL also takes `*`, `;` and `'` in a host, and IPv6 addresses. */
const HOST = /^[\w.-]+(:\d+)?$/;

/** `ws://` or `wss://`, a host, and perhaps a path. */
export const isRelayAddress = (text: string): boolean => isAddress(text, /^wss?:$/) && !text.includes('?');

/** `https://`, a host, a path, and perhaps a query such as the key of a tile server. */
export const isMapStyle = (text: string): boolean => isAddress(text, /^https:$/);

/** Browsers get the text as the operator wrote it, so it must be what URL reads in it. */
function isAddress(text: string, scheme: RegExp): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, host } = new URL(text);
  const isAsWritten = text.startsWith(`${protocol}//${host}`) && !/[\s#"'<>\\^`|]/.test(text);
  return scheme.test(protocol) && HOST.test(host) && isAsWritten;
}

/** The origins in MAP_ORIGINS. Without it that of the style. Throws ConfigError for one that is no https origin. */
export function readMapOrigins({ MAP_ORIGINS, MAP_STYLE_URL }: Env): readonly string[] {
  if (MAP_ORIGINS === undefined) return MAP_STYLE_URL === undefined ? [] : [new URL(MAP_STYLE_URL).origin];
  const origins = splitList(MAP_ORIGINS);
  for (const origin of origins) {
    if (!isAddress(origin, /^https:$/) || new URL(origin).origin !== origin) refuse('MAP_ORIGINS', origin);
  }
  return origins;
}
