// Says in one sentence why a Node cannot run the service, and what to do.

/** As `engines` in package.json has it. */
const OLDEST = [20, 19] as const;

const ADVICE =
  'use Node 24 or 22 (Node 20 where glibc is older than 2.38), or "make run", which provides one';

interface Runtime {
  readonly version: string;
  readonly platform: string;
  readonly arch: string;
}

/** Null when the release is new enough. The engine decides about newer ones. */
export function releaseRefusal(version: string): string | null {
  const [major = 0, minor = 0] = version.replace(/^v/, '').split('.').map(Number);
  if (major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])) return null;
  return `Node ${version} is too old, use Node 24 or 22`;
}

/** Null when the error is another than that uWebSockets.js has no binary for this Node, or none that can be loaded. */
export function engineRefusal(error: unknown, { version, platform, arch }: Runtime): string | null {
  const { message } = error as Error;
  // The package throws this text, with the cause behind it.
  if (!message.startsWith('This version of uWS.js supports only')) return null;
  const glibc = /version `GLIBC_([\d.]+)' not found/.exec(message)?.[1];
  if (glibc !== undefined) return `uWebSockets.js needs glibc ${glibc} on Node ${version}, ${ADVICE}`;
  if (message.includes("Cannot find module './uws_")) {
    return `uWebSockets.js has no binary for Node ${version} on ${platform} ${arch}, ${ADVICE}`;
  }
  const [, cause = ''] = /\n\n(.*)/.exec(message) ?? [];
  return `uWebSockets.js cannot be loaded on this ${platform} ${arch} (${cause}), use Linux with glibc, or macOS`;
}
