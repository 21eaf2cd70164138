// Builds what a node has of keys while it serves: the keyring of new secrets, the sealing thread, the due rotations.
import type { Database } from '../db/client.js';
import type { Tell } from '../db/notice.js';
import { AppError } from '../errors.js';
import { createBurstKeys } from './bursts.js';
import { createDueRotations, type DueFigures } from './rotations/due.js';
import { createSealing, type SealingFigures } from './sealing.js';
import type { Keyring } from './wrapping.js';

export interface KeysOptions {
  readonly keyring: Keyring;
  readonly database: Database;
  readonly tell: Tell;
  readonly log: { warn(fields: object, message: string): void; error(fields: object, message: string): void };
}

/** Plain numbers. */
export interface KeyFigures {
  readonly sealing: SealingFigures;
  readonly dueRotations: DueFigures;
}

export function openKeys({ keyring, database, tell, log }: KeysOptions) {
  const sealing = createSealing({ log });
  const dueRotations = createDueRotations({ database, tell, log });
  let mayWrap = false;
  // Until the key has been compared with those in use, it encrypts nothing: the next start would miss it.
  const checkedKeyring: Keyring = {
    ...keyring,
    wrap(talkgroup, secret) {
      if (!mayWrap) throw new AppError('database_unavailable');
      return keyring.wrap(talkgroup, secret);
    },
  };
  return {
    sealing,
    /** Keys of recorded bursts. */
    bursts: createBurstKeys({ database, sealing, keyring, log }),
    keyring: checkedKeyring,
    /** The keys were compared with those in use: new secrets may be encrypted. */
    admitSecrets(): void {
      mayWrap = true;
    },
    start: dueRotations.start,
    /** For the metrics. */
    figures: (): KeyFigures => ({ sealing: sealing.figures(), dueRotations: dueRotations.figures() }),
    close(): Promise<void> {
      dueRotations.close();
      return sealing.close();
    },
  };
}
