// Makes the keyring of the console and its key holder. Loaded when a talkgroup needs a key: the cryptography is in it.
import { browserPrimitives } from '../../client/encryption/browser-primitives.js';
import { acceptHolder, type Holder, type HolderKey, registerHolder } from '../../client/encryption/holder.js';
import { createKeyringWith, type KeyringOptions } from '../../client/encryption/keyring.js';
import { fingerprint } from '../../protocol/encryption.js';

export const keyringParts = {
  createKeyring: (options: KeyringOptions) => createKeyringWith(browserPrimitives, options),
  acceptHolder,
  registerHolder,
  /** Computed here and not asked for, so that the service cannot show another one. */
  fingerprintOf: (userId: string, { publicKey }: HolderKey | Holder) =>
    fingerprint(browserPrimitives, { userId, publicKey }),
};

export type KeyringParts = typeof keyringParts;
