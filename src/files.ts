// Reads files that may be missing, and flushes folders to the disk.
import { access, open, readFile } from 'node:fs/promises';

/** True for an error of Node or the operating system with one of these codes, such as `ENOENT`. */
export function hasCode(error: unknown, ...codes: readonly string[]): error is NodeJS.ErrnoException {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code));
}

/** True when there is a file or folder at the path. A symbolic link counts as its target. */
export async function exists(path: string): Promise<boolean> {
  try {
    await access(path);
    return true;
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return false;
    throw error;
  }
}

/** The text of the file in UTF-8. null: there is no such file. */
export async function readIfThere(path: string | URL): Promise<string | null> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return null;
    throw error;
  }
}

/** Makes the folder's entries survive a power failure, as `fsync` on a file does for its bytes. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
