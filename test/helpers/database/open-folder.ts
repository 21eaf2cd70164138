// A folder for a database of a test.
import { chmod, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';

/** An empty folder that the account of the database can enter. */
export async function openFolder(t: Test): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'talkgroup-radio-folder-')));
  await chmod(folder, 0o755);
  t.teardown(() => rm(folder, { recursive: true }));
  return folder;
}
