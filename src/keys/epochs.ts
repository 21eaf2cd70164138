// Makes pages of sealed epochs for key holders: derives the secrets from the master secret of a talkgroup, and writes down the
// sealed ones.
import assert from 'node:assert/strict';
import type { HolderId, TalkgroupId } from '../ids.js';
import { ENVELOPE_INFO, envelopeAad, epochSecret } from '../protocol/encryption.js';
import { nodePrimitives } from '../protocol/node-primitives.js';
import type { Static } from '../typebox.js';
import type { Sealed } from './envelope.js';
import type { Epochs } from './schemas.js';
import type { SealJob } from './sealing.js';
import type { EpochsOfHolder } from './store.js';

/** Of one key holder. */
interface Asked {
  readonly talkgroup: TalkgroupId;
  readonly holder: HolderId;
  /** Epochs in the page. */
  readonly limit: number;
}

type Found = Pick<EpochsOfHolder, 'rotation_counter' | 'publicKey' | 'counters'>;

/**
 * A page of sealed epochs as it is delivered. `seal` gets the secrets of these epochs and never the master secret, from which
 * all follow. Rejects as `seal` does.
 */
export async function sealedPage(
  { talkgroup, holder, limit }: Asked,
  { rotation_counter, publicKey, counters: found }: Found,
  { master, seal }: { master: Buffer; seal: (job: SealJob) => Promise<readonly Sealed[]> },
): Promise<Static<typeof Epochs>> {
  const counters = found.slice(0, limit);
  const items = counters.map((counter) => ({
    secret: epochSecret(nodePrimitives, { master, talkgroupId: talkgroup, counter }),
    aad: envelopeAad({ talkgroupId: talkgroup, counter, holderId: holder }),
  }));
  const sealed = await seal({ publicKey, info: ENVELOPE_INFO, items });
  const epochs = counters.map((rotation_counter, at) => {
    const envelope = sealed[at];
    assert(envelope !== undefined, 'one envelope for each counter');
    return { rotation_counter, enc: textOf(envelope.enc), sealed: textOf(envelope.sealed) };
  });
  return { talkgroup_id: talkgroup, rotation_counter, epochs, next: found[limit] ?? null };
}

const textOf = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64url');
