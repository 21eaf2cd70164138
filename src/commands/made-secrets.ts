// Makes passwords or setup codes for new users of an import, and writes them to a file that only its owner can read.
import { randomInt } from 'node:crypto';
import { createPasswords } from '../auth/passwords.js';
import { setupLink } from '../client/setup-link.js';
import { readConfig } from '../config/config.js';
import { HOURS_PRESET, newSetupCode } from '../credentials/setup-codes.js';
import { csvLine } from '../fleet/csv.js';
import { readHours, readOrigin } from './accounts.js';
import { createNew, fail } from './running.js';

/** Of a password that is made: 60 bits. None of its characters looks like another one. */
const PASSWORD_CHARACTERS = 12;
const ALPHABET = 'abcdefghijkmnpqrstuvwxyz23456789';

export interface SecretOptions {
  /** The file for the passwords that are made. */
  readonly passwords?: string;
  /** The file for setup codes in the place of passwords. */
  readonly codes?: string;
  /** How long these are valid. */
  readonly hours?: string;
  /** Address for their links. */
  readonly address?: string;
}

/** What is made for new users without a password, and the file where it is written. */
export interface Secrets {
  readonly kind: 'passwords' | 'codes';
  readonly file: string;
  readonly hours: number;
  /** Of the links. null: there are none. */
  readonly origin: string | null;
}

export function secretsIn({ passwords, codes, hours, address }: SecretOptions): Secrets | null {
  if (passwords !== undefined && codes !== undefined) fail('give either --passwords or --codes');
  if (codes === undefined && (hours ?? address) !== undefined) fail('--hours and --address are for --codes');
  const more = {
    hours: hours === undefined ? HOURS_PRESET : readHours(hours),
    origin: address === undefined ? null : readOrigin(address),
  };
  if (codes !== undefined) return { kind: 'codes', file: codes, ...more };
  return passwords === undefined ? null : { kind: 'passwords', file: passwords, ...more };
}

/** Makes passwords or setup codes, and writes them to their file. */
export interface Maker {
  /** For new users in this order. Written before it resolves. */
  make(usernames: readonly string[]): Promise<readonly Made[]>;
  sync(): Promise<void>;
  close(): Promise<void>;
}

/** `hash`: the bcrypt hash, or null where the password is to be hashed. */
interface Made {
  readonly password: string | null;
  readonly hash: string | null;
  readonly code: Buffer | null;
}

export async function createMaker({ kind, file, origin }: Secrets): Promise<Maker> {
  const handle = await createNew(file);
  // Of a random value that is thrown away: no password matches it, and a wrong one takes the usual time.
  const hash = kind === 'codes' ? await createPasswords().hash(newPassword()) : null;
  const line = (username: string, secret: string) =>
    csvLine([username, secret, ...(origin === null ? [] : [setupLink(origin, secret)])]);
  await handle.appendFile(
    csvLine(
      kind === 'codes'
        ? ['username', 'code', ...(origin === null ? [] : ['link'])]
        : ['username', 'password'],
    ),
  );
  return {
    async make(usernames) {
      const lines: string[] = [];
      const made = usernames.map((username): Made => {
        if (hash === null) {
          const password = newPassword();
          lines.push(csvLine([username, password]));
          return { password, hash: null, code: null };
        }
        const code = newSetupCode();
        lines.push(line(username, code.text));
        return { password: null, hash, code: code.hash };
      });
      await handle.appendFile(lines.join(''));
      return made;
    },
    sync: () => handle.sync(),
    close: () => handle.close(),
  };
}

const newPassword = () =>
  Array.from(
    { length: Math.max(PASSWORD_CHARACTERS, readConfig().PASSWORD_MIN_LENGTH) },
    () => ALPHABET[randomInt(ALPHABET.length)],
  ).join('');
