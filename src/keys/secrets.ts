// Compares the stored master secrets with the configured keys at start, and encrypts or replaces them for a command.
import { randomBytes } from 'node:crypto';
import type { Actor } from '../db/acts.js';
import type { Database } from '../db/client.js';
import { type Deadline, deadlineIn } from '../db/deadline.js';
import { ConfigError } from '../errors.js';
import type { TalkgroupId } from '../ids.js';
import { SECRET_BYTES } from '../protocol/encryption.js';
import {
  renewSecret,
  replaceSecrets,
  type SecretOfTalkgroup,
  secretsByKey,
  secretsNotWrappedBy,
} from './store.js';
import type { Keyring } from './wrapping.js';

/**
 * Throws ConfigError when a secret is wrapped by a key that is not on the ring: such a node could not deliver it, and
 * the sooner that shows, the easier the key is found. Answers how many the first key does not wrap.
 */
export async function checkSecrets(
  database: Database,
  deadline: Deadline,
  keyring: Keyring,
): Promise<number> {
  const kinds = await secretsByKey(database, deadline);
  const foreign = kinds.filter(({ wrapped_by: id }) => id !== null && !keyring.has(id));
  if (foreign.length > 0) {
    const keys = foreign.map(({ wrapped_by: id, talkgroups }) => `${id} (${talkgroups})`).join(', ');
    throw new ConfigError(
      `SECRETS_KEY must include every key that encrypts a stored secret. Missing, by id (talkgroups): ${keys}`,
    );
  }
  return kinds
    .filter(({ wrapped_by: id }) => id !== keyring.wrapsWith)
    .reduce((sum, { talkgroups }) => sum + talkgroups, 0);
}

export interface Rewrapped {
  /** By this run. */
  readonly wrapped: number;
  /** Left as they are: their key is not on the ring, or they do not unwrap. */
  readonly unreadable: readonly TalkgroupId[];
  /** Not wrapped by the first key afterwards, the unreadable included: others may be made meanwhile. */
  readonly left: number;
}

/**
 * A new master secret for one talkgroup, and its next epoch. The database has no secret of earlier epochs then. `mayForget`: also
 * when encrypted recordings lose their keys.
 */
export function renewSecretOf(
  database: Database,
  deadline: Deadline,
  {
    talkgroup,
    keyring,
    isRestored = false,
    mayForget = false,
    by,
  }: { talkgroup: TalkgroupId; keyring: Keyring; isRestored?: boolean; mayForget?: boolean; by: Actor },
) {
  return renewSecret(database, deadline, {
    ...{ talkgroup, isRestored, mayForget, by },
    secret: keyring.wrap(talkgroup, randomBytes(SECRET_BYTES)),
  });
}

/** Talkgroups read and written at a time: one short statement, because a change of one of them waits for it. */
const BATCH = 500;
/** A command has no request behind it. A batch that takes longer finds the database unwell. */
const BATCH_MS_MAX = 10_000;

/**
 * Wraps every secret with the first key. Each batch stands by itself and a secret that is wrapped is not read again,
 * so a run that was cut off is simply repeated, also beside another one and while the service creates talkgroups.
 */
export async function rewrapSecrets(
  database: Database,
  { keyring, by }: { keyring: Keyring; by: Actor },
  batch = BATCH,
): Promise<Rewrapped> {
  const { wrapsWith } = keyring;
  if (wrapsWith === null) throw new Error('SECRETS_KEY is not set: no key to encrypt with');
  const unreadable: TalkgroupId[] = [];
  let wrapped = 0;
  let after: TalkgroupId | null = null;
  for (;;) {
    const read: SecretOfTalkgroup[] = await secretsNotWrappedBy(database, deadlineIn(BATCH_MS_MAX), {
      keyId: wrapsWith,
      after,
      limit: batch,
    });
    const last = read.at(-1);
    if (last === undefined) break;
    const changes = read.flatMap(({ talkgroup, stored }) => {
      const secret = keyring.unwrap(talkgroup, stored);
      if (typeof secret !== 'string') return { talkgroup, from: stored, to: keyring.wrap(talkgroup, secret) };
      unreadable.push(talkgroup);
      return [];
    });
    wrapped += await replaceSecrets(database, deadlineIn(BATCH_MS_MAX), { changes, by });
    after = last.talkgroup;
  }
  const kinds = await secretsByKey(database, deadlineIn(BATCH_MS_MAX));
  const left = kinds.filter(({ wrapped_by }) => wrapped_by !== wrapsWith);
  return { wrapped, unreadable, left: left.reduce((sum, { talkgroups }) => sum + talkgroups, 0) };
}
