// Chooses the operating system account of PostgreSQL: our own, or another when we are root, which PostgreSQL refuses.
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

/** Numeric ids, as `spawn` and `chown` take them. */
export interface Account {
  readonly uid: number;
  readonly gid: number;
}

/** All that PostgreSQL sees of our environment: the caller's locale, time zone and PG* variables stay out. */
export const plainEnvironment = { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' } as const;

// `nobody` exists everywhere. The others are what Debian, Red Hat and macOS call the database's own account.
const ACCOUNTS_FOR_ROOT = ['postgres', '_postgres', 'nobody'];

/** We ourselves, or for root an unprivileged account of /etc/passwd. Throws where there is none. */
export async function databaseAccount(): Promise<Account> {
  const us = ourAccount();
  if (us.uid !== 0) return us;
  const passwd = await readFile('/etc/passwd', 'utf8');
  for (const name of ACCOUNTS_FOR_ROOT) {
    const [, , uid, gid] = passwd.match(new RegExp(`^${name}:.*$`, 'm'))?.[0].split(':') ?? [];
    if (uid !== undefined && gid !== undefined) return { uid: Number(uid), gid: Number(gid) };
  }
  throw new Error(
    'cannot start the embedded database: PostgreSQL does not run as root, and /etc/passwd has no user ' +
      `${ACCOUNTS_FOR_ROOT.join(' or ')}. Start the service as another user, or set DATABASE_URL to a running server.`,
  );
}

/** The ids this process acts under. */
export function ourAccount(): Account {
  const uid = process.geteuid?.();
  const gid = process.getegid?.();
  if (uid === undefined || gid === undefined) {
    throw new Error(`no embedded database on ${process.platform}: set DATABASE_URL to a running server`);
  }
  return { uid, gid };
}

/** Runs a command to its end as that account. Rejects with what it wrote to stderr. */
export async function runAs(account: Account, command: string, args: readonly string[]): Promise<string> {
  // 60 s: the slowest command, initdb, takes half a second. A minute means a dead disk.
  const running = execFileAsync(command, args, {
    ...account,
    cwd: '/',
    env: plainEnvironment,
    timeout: 60_000,
  });
  running.child.stdin?.end();
  return (await running).stdout;
}

const execFileAsync = promisify(execFile);

/** Whether every folder on the way to this one, and it itself, is open to the account. */
export async function canEnter(account: Account, folder: string): Promise<boolean> {
  try {
    // The attempt knows about groups, access lists and network file systems. Mode bits alone do not.
    await runAs(account, '/bin/sh', ['-c', 'cd -- "$1"', 'sh', folder]);
    return true;
  } catch {
    return false; // `cd` failed
  }
}
