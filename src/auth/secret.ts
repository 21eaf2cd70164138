// Generates the key of the tokens once when JWT_SECRET is not set, and keeps it beside the embedded database.
import { randomBytes } from 'node:crypto';
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isLongEnough, JWT_SECRET_BYTES_MIN } from '../credentials/signing-keys.js';
import { ConfigError } from '../errors.js';
import { hasCode, readIfThere, syncFolder } from '../files.js';

/** Where the key is kept. */
export const secretFile = (dataDir: string): string => join(dataDir, 'jwt.secret');

/**
 * Reads DATA_DIR/jwt.secret, or makes it: 32 random bytes in base64, mode 0600. Safe when two processes start at once.
 * Rejects with ConfigError when what is there is too short for a key.
 */
export async function keptSecret(dataDir: string): Promise<string> {
  const file = secretFile(dataDir);
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  return checked((await readIfThere(file)) ?? (await make(file)), file);
}

/** The same key. null: there is none yet, and this makes none. */
export async function secretIfKept(dataDir: string): Promise<string | null> {
  const file = secretFile(dataDir);
  const secret = await readIfThere(file);
  return secret === null ? null : checked(secret, file);
}

function checked(secret: string, file: string): string {
  if (!isLongEnough(secret))
    throw new ConfigError(
      `${file} must hold at least ${JWT_SECRET_BYTES_MIN} bytes. Remove it: the next start generates a new key.`,
    );
  return secret;
}

async function make(file: string): Promise<string> {
  await place(file, randomBytes(32).toString('base64'));
  return readFile(file, 'utf8');
}

/** Keeps this key in the data folder. false: there is one, which stays. */
export const placeSecret = (dataDir: string, key: string): Promise<boolean> =>
  place(secretFile(dataDir), key);

async function place(file: string, key: string): Promise<boolean> {
  const fresh = `${file}.${process.pid}`;
  try {
    await writeFile(fresh, key, { mode: 0o600, flush: true });
    // A link appears whole or not at all, and never over that of another process.
    await link(fresh, file);
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false;
    throw error;
  } finally {
    await rm(fresh, { force: true });
  }
  await syncFolder(dirname(file)); // a key that a power cut takes back voids every token
  return true;
}
