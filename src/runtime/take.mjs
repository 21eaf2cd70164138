// Takes a pinned Node from npm into a folder. Nothing is unpacked unless its SHA-512 is the pinned one.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { join } from 'node:path';

/** The folder's name inside `folder`, whose bin/node is the pinned one. `announce` is called before a download. */
export function takeNode({ pin, folder, announce = () => {} }) {
  const name = `${pin.package}-${pin.version}`;
  if (existsSync(join(folder, name))) return name;
  announce();
  mkdirSync(folder, { recursive: true });
  removeAbandoned(folder);
  const incoming = mkdtempSync(join(folder, INCOMING));
  try {
    // npm's own client: the user's registry, mirror, proxy and certificates apply, and its cache.
    const wanted = `${pin.package}@${pin.version}`;
    run('npm', ['pack', wanted, '--loglevel=error', '--prefer-offline', `--pack-destination=${incoming}`]);
    const tarball = join(incoming, `${name}.tgz`);
    const integrity = `sha512-${createHash('sha512').update(readFileSync(tarball)).digest('base64')}`;
    if (integrity !== pin.integrity) {
      throw new Error(`cannot use ${wanted}: its hash is ${integrity}, the pinned one is ${pin.integrity}`);
    }
    const unpacked = join(incoming, name);
    mkdirSync(unpacked);
    const files = ['package/bin/node', 'package/LICENSE'];
    run('tar', ['-xzf', tarball, '-C', unpacked, '--strip-components=1', ...files]);
    const says = run(join(unpacked, 'bin/node'), ['--version']);
    if (says !== `v${pin.version}`) throw new Error(`cannot use ${wanted}: it reports version ${says}`);
    put(unpacked, join(folder, name));
  } finally {
    rmSync(incoming, { recursive: true, force: true });
  }
  return name;
}

const INCOMING = 'incoming-';
/** By age and not by process: one in another container that shares the folder has no number here. */
const ABANDONED_MS = 3_600_000;

/** Removes what a download that was killed left behind. */
function removeAbandoned(folder) {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    const { mtimeMs } = statSync(path, { throwIfNoEntry: false }) ?? {};
    if (name.startsWith(INCOMING) && Date.now() - mtimeMs > ABANDONED_MS)
      rmSync(path, { recursive: true, force: true });
  }
}

/** Whole or not at all, also where two take it at once. */
function put(from, to) {
  try {
    renameSync(from, to);
  } catch (error) {
    if (!existsSync(to)) throw error;
  }
}

/** Its output. What it writes to standard error goes to ours. */
function run(command, args) {
  const { status, stdout, error } = spawnSync(command, args, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (error) throw error;
  if (status !== 0) throw new Error(`${command} ${args[0]} failed`);
  return stdout.trim();
}
