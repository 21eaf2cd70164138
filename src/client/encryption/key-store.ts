// Declares where a radio finds the secrets of epochs, and what it keeps about encrypted talkgroups between two starts.
import type { Primitives } from '../../protocol/encryption.js';
import type { Snapshot } from '../../protocol/types.js';

/** The secrets of epochs as a radio uses them: createKeyring makes one that reads them from the REST API. */
export type KeyStore = {
  readonly primitives: Primitives;
  /** Default: the radio forgets when it ends, and could then be played again what it heard before. */
  readonly memory?: Memory;
  /** The secret of an epoch (32 bytes) from memory, or null if it is not there (yet). */
  secretFor(talkgroupId: string, counter: number): Uint8Array | null;
  /** Asks for the secret at a random time within `withinMs` (default 0: at once). Asking again changes nothing. */
  want(talkgroupId: string, counter: number, withinMs?: number): void;
  /** Asks again for what was rejected: a holder was accepted, or a permission given. */
  retry?(): void;
  /** The epoch is over. Its secret is not needed any more. */
  forget(talkgroupId: string, counter: number): void;
  /**
   * Calls `run` after a secret of a talkgroup arrived, and after the service said that a wanted epoch does not exist. Returns a
   * function that stops that.
   */
  onChange(run: (talkgroupId: string, missing?: MissingEpoch) => void): () => void;
};

/** The service was asked for an epoch that is newer than its `newest` one. */
export type MissingEpoch = { wanted: number; newest: number };

/** Keeps one text for each talkgroup, on a disk if there is one. The texts contain salts and no secrets. */
export type Memory = {
  read(talkgroupId: string): string | null;
  write(talkgroupId: string, text: string): void;
};

/** What snapshots and events say about encryption. A relay of an earlier release says nothing. */
export type EncryptionState = Partial<
  Pick<
    Snapshot,
    'encryption' | 'rotation_counter' | 'talk_counter' | 'use_in_ms' | 'may_have_keys' | 'clear_emergency'
  >
>;
