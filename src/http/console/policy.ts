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
