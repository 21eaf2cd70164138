// Makes the key pair of a key holder, registers it, and opens the envelopes that are sealed for it.

import type { CryptoKey, KeyPair } from 'hpke';
import { AEAD_AES_256_GCM, CipherSuite, KDF_HKDF_SHA256, KEM_DHKEM_P256_HKDF_SHA256 } from 'hpke';
import {
  ACCEPTANCE_INFO,
  acceptanceAad,
  ENVELOPE_INFO,
  envelopeAad,
  fromBase64url,
  RECORDING_INFO,
  recordingAad,
  SECRET_BYTES,
  toBase64url,
} from '../../protocol/encryption.js';
import { type Rest, RestError } from '../rest.js';

/** The key pair of one installation. The private key opens envelopes, and is used for nothing else. */
export type HolderKey = {
  /** An uncompressed point of P-256 (65 bytes). */
  readonly publicKey: Uint8Array;
  readonly pair: KeyPair<CryptoKey>;
};

/** A registered key holder. Until it is accepted, the service seals nothing for it. */
export type Holder = HolderKey & { readonly holderId: string };

/** What the service says about a registered holder. `fingerprint`: 60 digits in groups of 5, to read out. */
export type Registered = { holderId: string; fingerprint: string; accepted: boolean };

/** A secret, sealed for one holder. */
export type Envelope = { enc: Uint8Array; sealed: Uint8Array };

/** DHKEM(P-256, HKDF-SHA256), HKDF-SHA256, AES-256-GCM (RFC 9180). Marked for bundlers, which leave it out if unused. */
export const envelopeSuite: CipherSuite<CryptoKey> = /* @__PURE__ */ new CipherSuite(
  KEM_DHKEM_P256_HKDF_SHA256,
  KDF_HKDF_SHA256,
  AEAD_AES_256_GCM,
);

/** A new key pair. Only an `extractable` private key can be written to a file. */
export async function createHolderKey({ extractable = false } = {}): Promise<HolderKey> {
  const pair = await envelopeSuite.GenerateKeyPair(extractable);
  return { pair, publicKey: await envelopeSuite.SerializePublicKey(pair.publicKey) };
}

/**
 * Registers the key pair for the user of the token. The first holder of an account is accepted at once. Later ones wait
 * until an accepted holder or an administrator accepts the fingerprint. Rejects with RestError.
 */
export async function registerHolder(
  rest: Pick<Rest, 'post'>,
  { publicKey, password, name }: { publicKey: Uint8Array; password: string; name: string },
): Promise<Registered> {
  const body = { password, public_key: toBase64url(publicKey), name };
  const answer = await rest.post<Record<string, unknown>>('/keys/holders', body);
  const { holder_id, fingerprint, accepted } = answer;
  if (typeof holder_id !== 'string' || typeof fingerprint !== 'string') {
    throw new RestError(0, 'the answer of POST /keys/holders has no holder_id');
  }
  return { holderId: holder_id, fingerprint, accepted: accepted === true };
}

/**
 * Accepts another holder of the account: opens the challenge with the private key of `holder`, and sends what it found with
 * the password. Compare the fingerprints first. Rejects with RestError. Status 0: the challenge is not for this key or not for
 * `holderId`.
 */
export async function acceptHolder(
  rest: Pick<Rest, 'get' | 'post'>,
  holder: Holder,
  { holderId, password }: { holderId: string; password: string },
): Promise<void> {
  const path = `/keys/holders/${encodeURIComponent(holderId)}`;
  const challenge = await rest.get<Record<string, unknown>>(`${path}/challenge?holder_id=${holder.holderId}`);
  const [enc, sealed] = [challenge.enc, challenge.sealed].map((text) => fromBase64url(String(text)));
  const aad = () => acceptanceAad({ by: holder.holderId, holder: holderId });
  const proof = enc && sealed && (await opened(holder, { enc, sealed, info: ACCEPTANCE_INFO, aad }));
  if (!proof) throw new RestError(0, 'the challenge is not for this key holder');
  await rest.post(`${path}/accept`, { holder_id: holder.holderId, password, proof: toBase64url(proof) });
}

/** The secret in the envelope. null: it was sealed for another holder, talkgroup or epoch, or changed. */
export async function openEnvelope(
  holder: Holder,
  { enc, sealed, talkgroupId, counter }: Envelope & { talkgroupId: string; counter: number },
): Promise<Uint8Array | null> {
  const aad = () => envelopeAad({ talkgroupId, counter, holderId: holder.holderId });
  return opened(holder, { enc, sealed, info: ENVELOPE_INFO, aad });
}

/** The key of the burst in the envelope. null: it was sealed for another holder, recording or purpose, or changed. */
export async function openRecordingKey(
  holder: Holder,
  { enc, sealed, recordingId }: Envelope & { recordingId: string },
): Promise<Uint8Array | null> {
  const aad = () => recordingAad({ recordingId, holderId: holder.holderId });
  return opened(holder, { enc, sealed, info: RECORDING_INFO, aad });
}

/** 32 bytes, or null: sealed for another key or another purpose, or changed. */
async function opened(
  { pair }: Pick<Holder, 'pair'>,
  {
    enc,
    sealed,
    info,
    aad,
  }: Envelope & { info: Uint8Array<ArrayBuffer>; aad: () => Uint8Array<ArrayBuffer> },
): Promise<Uint8Array | null> {
  try {
    // With the pair: Node 20 cannot compute the public key from a private one.
    const secret = await envelopeSuite.Open(pair, enc, sealed, { info, aad: aad() });
    return secret.byteLength === SECRET_BYTES ? secret : null;
  } catch {
    return null; // RangeError: the service named no counter. hpke's OpenError, DecapError and DeserializeError
  }
}
