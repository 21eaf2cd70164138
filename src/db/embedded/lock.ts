// Locks a file for as long as any process that inherited the open file lives.
//
// flock(2) belongs to the inode, so two containers that share only a volume see the same lock. It also belongs to the
// open file, which child processes inherit, so the kernel frees it when the last of them has ended, however it ended.
// Nothing is left behind that a later start would have to judge. Process numbers and sockets in a temporary folder
// have neither property.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { hasCode } from '../../files.js';
import { type Account, ourAccount } from './account.js';

/** An exclusive lock. A child process that inherits the file's descriptor holds it as well. */
export interface Lock {
  readonly file: FileHandle;
  /** Gives up this process's share of the lock. May be called again. */
  release(): Promise<void>;
}

// <sys/fcntl.h> of macOS: open(2) takes the lock itself. Linux has no such flag.
const O_EXLOCK = 0x20;
const isMac = process.platform === 'darwin';

/**
 * Locks the file, creating it if need be, or returns null when another open file has the lock. The file must never be
 * removed: a second file of that name could be locked beside it. It belongs to `account`, which may start the service
 * next time.
 */
export async function tryLock(path: string, account: Account): Promise<Lock | null> {
  const file = await openUnlessLocked(path);
  if (file === null) return null;
  try {
    if (ourAccount().uid === 0) await file.chown(account.uid, account.gid);
    if (isMac || (await flock(file.fd, path))) return { file, release: () => file.close() };
  } catch (error) {
    await file.close();
    throw error;
  }
  await file.close();
  return null;
}

async function openUnlessLocked(path: string): Promise<FileHandle | null> {
  const { O_RDWR, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants;
  try {
    return await open(path, O_RDWR | O_CREAT | O_NOFOLLOW | (isMac ? O_EXLOCK | O_NONBLOCK : 0), 0o600);
  } catch (error) {
    if (hasCode(error, 'EAGAIN')) return null;
    throw error;
  }
}

/** Node has no flock(2). The command locks the open file it inherits from us, and we keep the lock after its end. */
async function flock(fd: number, path: string): Promise<boolean> {
  const command = spawn('flock', ['-n', '3'], { stdio: ['ignore', 'ignore', 'pipe', fd] });
  let message = '';
  command.stderr?.on('data', (text) => {
    message += text;
  });
  try {
    const [code] = await once(command, 'close');
    if (code === 0) return true;
    // Exit code 1 without a word: another process has the lock.
    if (code === 1 && message === '') return false;
    throw new Error(`cannot lock ${path}: ${message.trim() || `flock exited with ${code}`}`);
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error;
    throw new Error(
      `cannot lock ${path}: the command flock is missing. Install util-linux, or set DATABASE_URL to a running server.`,
    );
  }
}
