// A start of the embedded database that shares a folder with others and nothing else, as a container does.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { descendants, isAlive, type Process } from '../processes.js';

/**
 * `container`: every process at once. `node`: only the launcher, whose guard then stops PostgreSQL. `guarded`: launcher
 * and guard, so that PostgreSQL goes on without both. `term`: SIGTERM to the launcher.
 */
export type Kill = 'container' | 'node' | 'guarded' | 'term';

export interface Instance {
  /** Connection string once the database runs, or null when the launcher ended before. */
  readonly url: Promise<string | null>;
  /** Resolves when the launcher has ended. */
  readonly ended: Promise<void>;
  /** The launcher's standard error so far. */
  errors(): string;
  kill(kind: Kill): void;
}

// The first process outlives the launcher, as `docker run --init` has it, and holds its standard error.
const FIRST_PROCESS = '"$@" & wait; echo "launcher ended" >&2; exec sleep 1000';
// `unchanged`: in a chroot the root is no mount, and cannot be made private. /proc, the only new mount, is private.
const UNSHARE = 'unshare --pid --ipc --mount --propagation unchanged --mount-proc --fork --kill-child'.split(
  ' ',
);

/** Whether we may isolate processes. Root in a container may not. */
export const canIsolate = () => spawnSync('unshare', [...UNSHARE.slice(1), 'true']).status === 0;

/**
 * Starts the database of `dataDir` with a temporary folder of its own below `tmp`. `isolated` also with process numbers,
 * IPC and mounts of its own, which takes root.
 */
export async function startInstance(job: {
  dataDir: string;
  tmp: string;
  isolated: boolean;
}): Promise<Instance> {
  const script = fileURLToPath(new URL('./embedded-child.js', import.meta.url));
  const launcher = ['sh', '-c', FIRST_PROCESS, 'sh', process.execPath, script, job.dataDir];
  const [command = '', ...args] = job.isolated ? [...UNSHARE, ...launcher] : launcher;
  const child = spawn(command, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, TMPDIR: await mkdtemp(join(job.tmp, 't')) },
  });
  let errors = '';
  const ended = new Promise<void>((resolve) => {
    child.stderr.on('data', (text) => {
      errors += text;
      if (errors.endsWith('launcher ended\n')) resolve();
    });
    child.once('close', resolve);
  });
  return {
    url: Promise.race([
      once(child.stdout, 'data').then(([line]) => String(line).trim()),
      ended.then(() => null),
    ]),
    ended,
    errors: () => errors,
    kill: killer({ child, outer: job.isolated ? 2 : 1 }),
  };
}

/** `outer`: processes between us and the launcher. */
function killer({ child, outer }: { child: ChildProcess; outer: number }): Instance['kill'] {
  // Processes whose parent was killed are no descendants any more.
  const known = new Map<number, Process>();
  return (kind) => {
    for (const one of descendants(child.pid ?? 0)) known.set(one.pid, one);
    const end = (one: Process | undefined, signal: NodeJS.Signals = 'SIGKILL') => {
      if (one !== undefined && isAlive(one)) killIfThere(one.pid, signal);
    };
    const [launcher, ...below] = [...known.values()].slice(outer);
    if (kind === 'term') end(launcher, 'SIGTERM');
    if (kind === 'node') end(launcher);
    if (kind === 'guarded') {
      // From below: a guard that lives would stop PostgreSQL, a launcher that lives would start it again.
      for (const one of below.reverse()) if (one.name !== 'postgres') end(one);
      end(launcher);
    }
    if (kind === 'container') for (const one of known.values()) end(one);
  };
}

function killIfThere(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error; // it has exited since it was looked at
  }
}
