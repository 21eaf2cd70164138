// Radios of the client library with keys of their own: they fetch, seal and open as a real one does.
import { envelopeSuite, type Holder } from '../../src/client/encryption/holder.js';
import { createKeyring, createRadio, createRest, type Keyring, type Radio } from '../../src/client/node.js';
import { fromBase64url } from '../../src/protocol/encryption.js';
import type { Member } from './member.js';

/** A member with a key holder that the service knows. Plain data. */
export interface Trusted extends Member {
  readonly holderId: string;
  /** In base64url, as the private key. */
  readonly publicKey: string;
  readonly privateKey: string;
}

/** Where its relay and its REST API are. Plain data. */
export interface KeyedTarget {
  readonly url: string;
  readonly restUrl: string;
}

const bytesOf = (text: string) => fromBase64url(text) ?? new Uint8Array();

/** The holder as a radio has read it from its file. */
export async function holderOf({ holderId, publicKey, privateKey }: Trusted): Promise<Holder> {
  return {
    holderId,
    publicKey: bytesOf(publicKey),
    pair: {
      publicKey: await envelopeSuite.DeserializePublicKey(bytesOf(publicKey)),
      privateKey: await envelopeSuite.DeserializePrivateKey(bytesOf(privateKey), false),
    },
  };
}

/** An empty keyring. `failed` gets the status of each request that gave no key, 0 without an answer. */
export const keyringOf = (
  { restUrl }: KeyedTarget,
  { token }: Member,
  holder: Holder,
  failed: (status: number) => void = () => {},
): Keyring =>
  createKeyring({
    rest: createRest({ url: restUrl, token }),
    holder,
    onFailure: (_, { status }) => failed(status),
  });

/** Resolves when the radio is connected and has the key of now. */
export async function joinKeyed(
  target: KeyedTarget,
  member: Trusted,
): Promise<{ radio: Radio; keyring: Keyring }> {
  const keyring = keyringOf(target, member, await holderOf(member));
  const keyed = new Promise<void>((resolve) => keyring.onChange(() => resolve()));
  const radio = createRadio({ url: target.url, token: member.token, keys: keyring, recallSeconds: 0 });
  await keyed;
  return { radio, keyring };
}
