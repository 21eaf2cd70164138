// The keys by which the console opens encrypted recordings: those that the service gives the key holder of this browser.
import type { Holder } from '../../client/encryption/holder.js';
import type { HolderDatabase } from '../../client/encryption/holder-database.js';
import type { RecordingKeys } from '../../client/recordings/types.js';
import { type Rest, RestError } from '../../client/rest.js';
import type { RecordingCryptography } from './cryptography.js';

export type RecordingKeysParts = {
  userId: string;
  rest: Pick<Rest, 'get'>;
  /** Whether this browser is an accepted key holder. */
  isHolder(): boolean;
  /** Rejects where the browser has no IndexedDB. */
  openDatabase(): Promise<Pick<HolderDatabase, 'registered' | 'close'>>;
  /** Called when there is a holder, and not before. */
  loadCryptography(): Promise<RecordingCryptography>;
};

/** The holder is read for each recording, because the worker may register or forget one meanwhile. */
export function recordingKeys(parts: RecordingKeysParts): RecordingKeys {
  return {
    async opener(recording) {
      const holder = parts.isHolder() ? await holderIn(parts) : null;
      if (holder === null) return () => 'no_key';
      const { recordingKeysFor } = await parts.loadCryptography();
      let lost: RestError | null = null;
      const rest: Pick<Rest, 'get'> = {
        get: (path) =>
          parts.rest.get<never>(path).catch((error: unknown) => {
            if (error instanceof RestError && error.status === 410) lost = error;
            throw error;
          }),
      };
      const open = await recordingKeysFor({ rest, holder }).opener(recording);
      // The client says no_key of it. The console has words for a key that is lost to all.
      if (lost !== null) throw lost;
      return open;
    },
  };
}

/** null: this browser has none. */
async function holderIn({ userId, openDatabase }: RecordingKeysParts): Promise<Holder | null> {
  try {
    const database = await openDatabase();
    try {
      return await database.registered(userId);
    } finally {
      database.close();
    }
  } catch {
    return null; // InvalidStateError or SecurityError: a private window, or storage is blocked
  }
}
