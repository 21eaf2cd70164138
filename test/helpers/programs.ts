// Programs of Debian packages that tests run: nginx, Caddy, PostgreSQL's own tools, promtool, systemd-analyze.
import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { accessSync, constants, existsSync, readdirSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';

const VERSIONS_OF_POSTGRES = '/usr/lib/postgresql';

/** PostgreSQL's newest version first: what Debian puts in PATH instead is a script that chooses one of its own servers. */
const folders = [...postgresFolders(), ...(process.env.PATH ?? '').split(':'), '/usr/sbin', '/sbin'];

/** PATH for a shell that is to find them. */
export const PATH = folders.join(':');

function postgresFolders(): string[] {
  try {
    const versions = readdirSync(VERSIONS_OF_POSTGRES).sort((a, b) => Number(b) - Number(a));
    return versions.map((version) => join(VERSIONS_OF_POSTGRES, version, 'bin'));
  } catch {
    return []; // Expected: not installed.
  }
}

/** Its path, or null where it is not installed. */
export function programPath(name: string): string | null {
  const isHere = (path: string) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false; // Expected: it is in another folder, or in none.
    }
  };
  return folders.map((folder) => join(folder, name)).find(isHere) ?? null;
}

/**
 * For `skip`: false where all are installed, else the reason. With NEEDS_PROGRAMS in the environment, as in `.ci/run`,
 * which installs them, no test is skipped: one whose program is missing fails. A name with a slash is the path of a file.
 */
export function unless(...names: readonly string[]): string | false {
  const missing = names.filter((name) => !(name.includes('/') ? existsSync(name) : programPath(name)));
  if (missing.length === 0 || process.env.NEEDS_PROGRAMS) return false;
  return `not installed here: ${missing.join(', ')}. .ci/run installs it`;
}

export interface Ended {
  readonly code: number | null;
  /** Both streams. */
  readonly output: string;
}

/** Runs a program to its end. */
export async function run(
  name: string,
  args: readonly string[],
  { env = {}, cwd }: { env?: Readonly<Record<string, string>>; cwd?: string } = {},
): Promise<Ended> {
  const child = spawn(programPath(name) ?? name, args, {
    env: { PATH, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(cwd === undefined ? {} : { cwd }),
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, output };
}

/**
 * A port of 127.0.0.1 that nothing listens on. It is below the range from which the kernel gives out ports by itself, so
 * that no connection takes it before its server listens, or while that is away. No other test gets it either: until this
 * process ends it holds the UDP port HELD_BELOW it, which every caller tries to bind first.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(20_000, 30_000);
    if (!(await isHeld(port))) continue;
    const probe = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      probe.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true));
    });
    if (!isFree) continue;
    await new Promise((resolve) => probe.close(resolve));
    return port;
  }
}

/** Not the UDP port of the same number, which is that of HTTP/3. */
const HELD_BELOW = 10_000;

function isHeld(port: number): Promise<boolean> {
  const hold = createSocket('udp4').unref();
  return new Promise((resolve) => {
    hold
      .once('error', () => resolve(false))
      .bind({ port: port - HELD_BELOW, address: '127.0.0.1', exclusive: true }, () => resolve(true));
  });
}
