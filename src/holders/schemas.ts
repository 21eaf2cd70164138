// Declares key holders: installations of an app, each with a public key for which the service seals keys.
import { ECDH } from 'node:crypto';
import { EXAMPLE } from '../examples.js';
import { OnePage, pageQuery } from '../http/paging.js';
import { Id, idInPath, shownId, Text, Timestamp } from '../http/schemas.js';
import { fromBase64url, PUBLIC_KEY_BYTES } from '../protocol/encryption.js';
import { Type } from '../typebox.js';

/** The point, or null: no base64url, not 65 bytes, compressed, or not on the curve P-256. */
export function readPublicKey(text: string): Buffer | null {
  const bytes = fromBase64url(text);
  if (bytes?.byteLength !== PUBLIC_KEY_BYTES || bytes[0] !== UNCOMPRESSED) return null;
  const point = Buffer.from(bytes);
  if (point.toString('base64url') !== text) return null;
  try {
    ECDH.convertKey(point, 'prime256v1');
    return point;
  } catch {
    // Expected: not on the curve.
    return null;
  }
}

const UNCOMPRESSED = 4;

const examplePoint =
  'BGsX0fLhLEJH-Lzm5WOkQPJ3A32BLeszoPShOUXYmMKWT-NC4v4af5uO5-tKfA-eFivOM1drMV7Oy7ZAaDe_UfU'; // the base point

/** Body of POST. */
export const NewHolder = Type.Object(
  {
    password: Type.String({ description: "The caller's password." }),
    public_key: Type.Refine(
      Type.String({
        maxLength: 87,
        description: 'Public key of a pair on P-256: the uncompressed point, 65 bytes in base64url.',
      }),
      (text) => readPublicKey(text) !== null,
      () => 'must be an uncompressed point of P-256, 65 bytes in base64url without padding',
    ),
    name: Text(
      '1 to 128 visible characters with single spaces between them, such as the model of the device.',
    ),
  },
  {
    title: 'NewHolder',
    examples: [{ password: 'ann-secret', public_key: examplePoint, name: 'Phone' }],
  },
);

/** Body of the acceptance. */
export const Acceptance = Type.Object(
  {
    holder_id: Type.Optional(
      Type.String({
        description: 'An accepted key holder of the same account. Administrators leave it out.',
      }),
    ),
    password: Type.Optional(
      Type.String({ description: "The owner's password. Administrators leave it out." }),
    ),
    proof: Type.Optional(
      Type.String({
        maxLength: 64,
        description: 'The opened challenge: 32 bytes in base64url. Administrators leave it out.',
      }),
    ),
  },
  {
    title: 'Acceptance',
    examples: [
      {
        ...{ holder_id: EXAMPLE.holder, password: 'ann-secret' },
        proof: 'q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJA',
      },
    ],
  },
);

export const ChallengeQuery = Type.Object({
  holder_id: shownId('An accepted key holder of the caller, which opens the challenge.', EXAMPLE.holder),
});

export const Challenge = Type.Object(
  {
    enc: Type.String({ description: 'Encapsulated key (HPKE), 65 bytes in base64url.' }),
    sealed: Type.String({ description: 'The encrypted proof, 48 bytes in base64url.' }),
  },
  {
    title: 'Challenge',
    description: 'Only the private key of the accepted key holder opens it.',
    examples: [
      { enc: examplePoint, sealed: 'q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJCrze8SNFZ4kKvN7xI0VniQ' },
    ],
  },
);

const Fingerprint = Type.String({
  description: 'To be compared by its owner and the user that accepts it: 60 digits in 12 groups.',
});
const Accepted = Type.Boolean({ description: 'false: the key holder gets no keys until it is accepted.' });

const fingerprint = '01234 56789 01234 56789 01234 56789 01234 56789 01234 56789 01234 56789';

export const CreatedHolder = Type.Object(
  { holder_id: Id, fingerprint: Fingerprint, accepted: Accepted },
  {
    title: 'CreatedHolder',
    description: 'The key holder.',
    examples: [{ holder_id: EXAMPLE.holder, fingerprint, accepted: true }],
  },
);

export const Holder = Type.Object(
  {
    holder_id: Id,
    user_id: Id,
    name: Type.String(),
    public_key: Type.String({ description: '65 bytes in base64url.' }),
    fingerprint: Fingerprint,
    created_at: Timestamp,
    accepted: Accepted,
  },
  { title: 'Holder' },
);

export const HolderQuery = Type.Object({
  ...pageQuery({ maximum: 200 }).properties,
  user_id: Type.Optional(shownId('The user, for administrators. Otherwise the caller.', EXAMPLE.user)),
});

export const HolderList = OnePage(
  { holders: Type.Array(Holder) },
  {
    title: 'HolderList',
    description: 'One page of the key holders.',
    examples: [
      {
        holders: [
          {
            holder_id: EXAMPLE.holder,
            user_id: EXAMPLE.user,
            name: 'Phone',
            public_key: examplePoint,
            fingerprint,
            created_at: EXAMPLE.at,
            accepted: true,
          },
        ],
        next: null,
      },
    ],
  },
);

export const HolderInPath = idInPath('Id of the key holder.', EXAMPLE.holder);
