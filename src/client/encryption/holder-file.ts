// Keeps the key holder of a radio in Node in a file that only its owner can read, and its memory in one beside it.
import { mkdir, open, readFile, rename, stat, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import { fromBase64url, toBase64url } from '../../protocol/encryption.js';
import { createHolderKey, envelopeSuite, type Holder, type HolderKey } from './holder.js';
import type { Memory } from './key-store.js';

/** Readable and writable by the owner alone. */
const MODE = 0o600;
const DIRECTORY_MODE = 0o700;

type Stored = { holder_id: string | null; public_key: string; private_key: string };

/** A key pair in a file. `holderId` null: it is not registered yet. */
export type StoredHolder = HolderKey & { readonly holderId: string | null };

/**
 * Reads the holder of the file, or creates a key pair and writes it. Rejects if others can read the file, or it is no
 * holder.
 */
export async function openHolderFile(path: string): Promise<StoredHolder> {
  const text = await readPrivately(path);
  if (text !== null) return parse(path, text);
  const key = await createHolderKey({ extractable: true });
  await write(path, key, null);
  return { ...key, holderId: null };
}

/** Writes the id that the service gave the holder. The key pair in the file stays as it is. */
export async function keepHolderId(path: string, key: HolderKey, holderId: string): Promise<Holder> {
  await write(path, key, holderId);
  return { ...key, holderId };
}

async function readPrivately(path: string): Promise<string | null> {
  try {
    const { mode } = await stat(path);
    // Windows has no such bits, and shows 0o666.
    if ((mode & 0o077) !== 0 && process.platform !== 'win32') {
      throw new Error(`other users can read ${path}: set its mode to 0600`);
    }
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

async function parse(path: string, text: string): Promise<StoredHolder> {
  try {
    const { holder_id, public_key, private_key } = JSON.parse(text) as Stored;
    const [publicBytes, privateBytes] = [fromBase64url(public_key), fromBase64url(private_key)];
    if (!publicBytes || !privateBytes) throw new TypeError('no base64url');
    const publicKey = await envelopeSuite.DeserializePublicKey(publicBytes);
    const privateKey = await envelopeSuite.DeserializePrivateKey(privateBytes, true);
    return { holderId: holder_id, publicKey: publicBytes, pair: { publicKey, privateKey } };
  } catch (error) {
    throw new Error(`${path} is no key holder: ${(error as Error).message}`);
  }
}

async function write(path: string, { pair, publicKey }: HolderKey, holderId: string | null): Promise<void> {
  const privateKey = await envelopeSuite.SerializePrivateKey(pair.privateKey);
  const stored: Stored = {
    holder_id: holderId,
    public_key: toBase64url(publicKey),
    private_key: toBase64url(privateKey),
  };
  await mkdir(dirname(path), { recursive: true, mode: DIRECTORY_MODE });
  await writeWhole(path, `${JSON.stringify(stored, null, 2)}\n`);
}

/** A crash leaves the old file or the new one. */
async function writeWhole(path: string, text: string): Promise<void> {
  const draft = `${path}.${process.pid}.new`;
  await unlink(draft).catch(() => {}); // ENOENT: no earlier run of this process id left one
  const file = await open(draft, 'wx', MODE);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(draft, path);
}

/** A memory in one file. `close` waits until it is written. */
export type FileMemory = Memory & { close(): Promise<void> };

/** At most one write in this time (ms). A crash forgets what was heard within it. */
const WRITE_MS = 1_000;

/** Reads what the file has. A file that is none counts as empty, because it only adds to what the radio knows. */
export async function openMemoryFile(
  path: string,
  onFailure: (error: Error) => void = () => {},
): Promise<FileMemory> {
  const texts = new Map<string, string>(entriesIn((await readPrivately(path)) ?? '{}'));
  let timer: NodeJS.Timeout | null = null;
  let written: Promise<void> = Promise.resolve();
  return {
    read: (talkgroupId) => texts.get(talkgroupId) ?? null,
    write(talkgroupId, text) {
      texts.set(talkgroupId, text);
      timer ??= setTimeout(save, WRITE_MS).unref();
    },
    async close() {
      if (timer) save();
      await written;
    },
  };

  function save(): void {
    if (timer) clearTimeout(timer);
    timer = null;
    const text = JSON.stringify(Object.fromEntries(texts));
    written = written.then(() => writeWhole(path, text)).catch(onFailure);
  }
}

function entriesIn(text: string): [string, string][] {
  try {
    return Object.entries(JSON.parse(text) as Record<string, string>);
  } catch {
    return []; // SyntaxError
  }
}
