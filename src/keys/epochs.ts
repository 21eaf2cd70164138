// Derives the secrets of epochs from the master secret of a talkgroup, ready to be sealed for a key holder.
import type { HolderId, TalkgroupId } from '../ids.js';
import { envelopeAad, epochSecret } from '../protocol/encryption.js';
import { nodePrimitives } from '../protocol/node-primitives.js';
import type { SealJob } from './sealing.js';

interface Epochs {
  readonly master: Buffer;
  readonly talkgroup: TalkgroupId;
  readonly holder: HolderId;
  readonly publicKey: Buffer;
  readonly counters: readonly number[];
}

/** The job of the sealing thread. It has the secrets of these epochs and never the master secret, from which all follow. */
export const sealJobOf = ({ master, talkgroup, holder, publicKey, counters }: Epochs): SealJob => ({
  publicKey,
  items: counters.map((counter) => ({
    secret: epochSecret(nodePrimitives, { master, talkgroupId: talkgroup, counter }),
    aad: envelopeAad({ talkgroupId: talkgroup, counter, holderId: holder }),
  })),
});
