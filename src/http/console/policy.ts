// Writes the headers that tell a browser what the web console may load and do.

export interface PolicyParts {
  /** Address of the relay, `ws://` or `wss://`. null: it cannot be named. */
  readonly relay: string | null;
  /** Origins of which the map loads files. */
  readonly mapOrigins: readonly string[];
}

/**
 * The Content-Security-Policy of every file of the console: a worker takes its policy from its own response. Only
 * WebAssembly may be compiled, for the codec. No script or style is inline. The parts must be checked before.
 */
export function contentSecurityPolicy({ relay, mapOrigins }: PolicyParts): string {
  const sockets = relay === null ? [] : [new URL(relay).origin];
  return [
    "default-src 'none'",
    "script-src 'self' 'wasm-unsafe-eval'",
    "worker-src 'self'",
    "style-src 'self'",
    ["img-src 'self' data: blob:", ...mapOrigins].join(' '),
    ["connect-src 'self'", ...sockets, ...mapOrigins].join(' '),
    "font-src 'self'",
    "media-src 'self' blob:",
    "manifest-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

/** The Permissions-Policy of the console. */
export const PERMISSIONS = 'microphone=(self), geolocation=(self), camera=()';

export interface RelayParts {
  /** PUBLIC_WS_URL. */
  readonly publicUrl: string | undefined;
  /** The Host header of the request. */
  readonly host: string | undefined;
  /** Port of the relay. */
  readonly port: number;
  /** The page came over TLS. */
  readonly secure: boolean;
}

/** A name or an address, and perhaps a port. A client can send any text as Host. */
const PLAIN_HOST = /^([\w.-]{1,253}|\[[\da-f:.]{2,45}\])(?::\d{1,5})?$/i;

/**
 * Where the browser of this request reaches the relay. null: its Host header is more than a name or an address with a
 * port, so it would add to the policy.
 * LIMIT: no policy can name an IPv6 address, so a browser at `http://[::1]:3000` opens no socket to another port.
 */
export function relayAddress({ publicUrl, host = '', port, secure }: RelayParts): string | null {
  if (publicUrl !== undefined) return publicUrl;
  const [, name] = PLAIN_HOST.exec(host) ?? [];
  const address = `${secure ? 'wss' : 'ws'}://${name}:${port}`;
  return name !== undefined && URL.canParse(address) ? address : null;
}

/** esbuild's hash in the name of a file, such as `app-4XKD2QHA.js`. */
const HASHED = /-[A-Z0-9]{8}\.\w+$/;

/**
 * The Cache-Control of a file of the console. A hashed name never gets another content. The file of a worker is asked
 * for again all the same, because it brings its policy, which follows the settings.
 */
export function cachingOf(name: string): string {
  const isForever = HASHED.test(name) && !name.includes('worker');
  return isForever ? 'public, max-age=31536000, immutable' : 'no-cache';
}
