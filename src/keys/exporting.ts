// Exports sealed keys for a command: radios that cannot reach the REST API get them in a file.

import type { Database } from '../db/client.js';
import { type Deadline, deadlineIn } from '../db/deadline.js';
import type { HolderId, TalkgroupId } from '../ids.js';
import type { Static } from '../typebox.js';
import { sealedPage } from './epochs.js';
import type { Epochs } from './schemas.js';
import { createSealing, type SealJob } from './sealing.js';
import { epochsOfHolder } from './store.js';
import type { Keyring } from './wrapping.js';

export interface Export {
  readonly talkgroup: TalkgroupId;
  readonly holder: HolderId;
  /** Number of epochs. There may be fewer. */
  readonly epochs: number;
}

export interface ExportParts {
  readonly database: Database;
  readonly keyring: Pick<Keyring, 'unwrap'>;
  readonly log: { error(fields: object, message: string): void };
  /** Of a read, and of the sealing (ms). */
  readonly ms: number;
}

/**
 * The newest epochs that the key holder may have, as GET /keys/epochs answers them, in one page. It is for one key holder, and
 * this file alone opens nothing. null: the key holder gets none.
 */
export async function exportEpochs(
  { database, keyring, log, ms }: ExportParts,
  { talkgroup, holder, epochs: limit }: Export,
): Promise<Static<typeof Epochs> | 'unknown_key' | 'damaged' | null> {
  const asked = { talkgroup, holder, user: null, from: null, limit };
  const found = await epochsOfHolder(database, deadlineIn(ms), asked);
  if (found === null) return null;
  const master = keyring.unwrap(talkgroup, found.stored);
  if (typeof master === 'string') return master;
  const seal = (job: SealJob) => sealedOnce(log, deadlineIn(ms), job);
  return sealedPage({ talkgroup, holder, limit }, found, { master, seal });
}

async function sealedOnce(log: ExportParts['log'], deadline: Deadline, job: SealJob) {
  const sealing = createSealing({ log });
  try {
    return await sealing.seal(deadline, job);
  } finally {
    await sealing.close();
  }
}
