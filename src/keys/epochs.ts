// Derives the secrets of epochs from the master secret of a talkgroup, ready to be sealed for a key holder, and writes down the
// sealed ones.
import assert from 'node:assert/strict';
import type { HolderId, TalkgroupId } from '../ids.js';
import { envelopeAad, epochSecret } from '../protocol/encryption.js';
import { nodePrimitives } from '../protocol/node-primitives.js';
import type { Sealed } from './envelope.js';
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

/** Sealed epochs as they are delivered: one for each counter, in the same order. */
export const envelopesOf = (counters: readonly number[], sealed: readonly Sealed[]) =>
  counters.map((rotation_counter, at) => {
    const envelope = sealed[at];
    assert(envelope !== undefined, 'one envelope for each counter');
    return { rotation_counter, enc: textOf(envelope.enc), sealed: textOf(envelope.sealed) };
  });

const textOf = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64url');
