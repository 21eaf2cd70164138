// Writes the files of an export into a new folder. SHA256SUMS comes last, so a folder without it is no whole export.
import { createHash, type Hash } from 'node:crypto';
import { rmSync } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, rename } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { hasCode, syncFolder } from '../files.js';
import { fail } from './running.js';

const OWNER_ONLY = { folder: 0o700, file: 0o600 };
const SUMS = 'SHA256SUMS';
/** While more of them come. */
const SUMS_SO_FAR = 'SHA256SUMS.part';

export interface WrittenFile {
  readonly name: string;
  readonly bytes: number;
  readonly sha256: string;
}

export type ExportFolder = Awaited<ReturnType<typeof createExportFolder>>;

/** Fails when there is a file at the path, or a folder with something in it. Only their owner can read the files. */
export async function createExportFolder(path: string) {
  const isNew = await make(path);
  const made: string[] = [];
  const sums = await openNew(SUMS_SO_FAR);

  async function openNew(name: string): Promise<FileHandle> {
    const file = await open(join(path, name), 'wx', OWNER_ONLY.file).catch((error) => {
      if (hasCode(error, 'EEXIST')) throw error;
      return failed(error, name);
    });
    made.push(name);
    return file;
  }

  function failed(error: unknown, name: string): never {
    if (hasCode(error, 'ENOSPC', 'EDQUOT'))
      fail(`cannot write ${join(path, name)}: the disk is full. Nothing was exported.`);
    throw error;
  }

  async function append(file: FileHandle, name: string, bytes: Uint8Array | string): Promise<void> {
    await file.appendFile(bytes).catch((error) => failed(error, name));
  }

  async function end(file: FileHandle, name: string): Promise<void> {
    try {
      await file.sync();
    } catch (error) {
      failed(error, name); // some file systems find out here that they are full
    } finally {
      await file.close();
    }
  }

  const noteSum = ({ name, sha256 }: WrittenFile) => append(sums, SUMS_SO_FAR, `${sha256}  ${name}\n`);

  async function write(name: string, bytes: Uint8Array): Promise<WrittenFile> {
    const file = await openNew(name);
    try {
      await append(file, name, bytes);
    } finally {
      await end(file, name);
    }
    const written = { name, bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') };
    await noteSum(written);
    return written;
  }

  return {
    /** One file. Its name may not be there: on a file system that knows no capitals another spelling counts as the same. */
    write,
    /** The same, with `_2`, `_3` and so on behind the stem when the name is there. Answers the stem as well. */
    async writeUnique(stem: string, extension: string, bytes: Uint8Array) {
      for (let count = 1; ; count++) {
        const own = count === 1 ? stem : `${stem}_${count}`;
        try {
          return { stem: own, file: await write(`${own}${extension}`, bytes) };
        } catch (error) {
          if (!hasCode(error, 'EEXIST')) throw error;
        }
      }
    },
    /** A text that grows. `end` completes it. */
    async text(name: string) {
      const file = await openNew(name);
      const hash: Hash = createHash('sha256');
      let bytes = 0;
      return {
        async add(text: string): Promise<void> {
          hash.update(text);
          bytes += Buffer.byteLength(text);
          await append(file, name, text);
        },
        async end(): Promise<void> {
          await end(file, name);
          await noteSum({ name, bytes, sha256: hash.digest('hex') });
        },
      };
    },
    /** The export is whole. */
    async complete(): Promise<void> {
      await end(sums, SUMS_SO_FAR);
      await rename(join(path, SUMS_SO_FAR), join(path, SUMS));
      await syncFolder(path);
      await syncFolder(resolve(path, '..'));
    },
    /** Removes what was written. Waits for nothing, so that it works at the end of the process. */
    forget(): void {
      for (const name of made) rmSync(join(path, name), { force: true });
      if (isNew) rmSync(path, { recursive: true, force: true });
    },
  };
}

/** Whether it was not there. */
async function make(path: string): Promise<boolean> {
  try {
    await mkdir(path, { mode: OWNER_ONLY.folder });
    return true;
  } catch (error) {
    if (hasCode(error, 'ENOENT')) fail(`cannot create ${path}: the folder above it is missing`);
    if (!hasCode(error, 'EEXIST')) throw error;
  }
  const found = await readdir(path).catch((error) => {
    if (hasCode(error, 'ENOTDIR')) fail(`${path} is a file: an export needs a folder`);
    throw error;
  });
  if (found.length > 0) fail(`${path} is not empty: an export needs a new or an empty folder`);
  return false;
}
