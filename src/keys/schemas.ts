// Declares rotation, sealed keys of epochs, and who may have keys. No schema has the master secret.

import { USE_IN_MS_MAX } from '../db/rotation.js';
import { EXAMPLE } from '../examples.js';
import { limitInQuery, OnePage } from '../http/paging.js';
import { Id, idInPath, SHOWN_AS, shownId } from '../http/schemas.js';
import { COUNTER_MAX } from '../protocol/encryption.js';
import { Type } from '../typebox.js';

/** Query of GET. */
export const TalkgroupQuery = Type.Object({
  talkgroup_id: shownId('Id of the talkgroup.', EXAMPLE.talkgroup),
});

/** Body of POST. */
export const RotationOrder = Type.Refine(
  Type.Object(
    {
      talkgroup_id: Type.Optional(Type.String({ description: 'Id of the talkgroup.' })),
      device_id: Type.Optional(
        Type.String({ description: 'Instead: rotates the talkgroups of all users of this device.' }),
      ),
      use_in_ms: Type.Optional(
        Type.Integer({
          minimum: 0,
          maximum: USE_IN_MS_MAX,
          description:
            'Time until talkers use the new key, in ms. Default 10000. At least 2000, and 2 for each key holder more.',
        }),
      ),
    },
    { title: 'RotationOrder', examples: [{ talkgroup_id: EXAMPLE.talkgroup }] },
  ),
  ({ talkgroup_id, device_id }) => (talkgroup_id === undefined) !== (device_id === undefined),
  () => 'must have either talkgroup_id or device_id',
);

/** Answer of POST: the first two fields for a talkgroup, the list for a device. */
export const RotationDone = Type.Object(
  {
    talkgroup_id: Type.Optional(Id),
    rotation_counter: Type.Optional(
      Type.Integer({ description: 'Clients derive the current key from it. Starts at 0.' }),
    ),
    rotated: Type.Optional(
      Type.Array(Type.Object({ talkgroup_id: Id, rotation_counter: Type.Integer() }), {
        description: 'With device_id: the talkgroups that were rotated.',
      }),
    ),
  },
  {
    title: 'RotationDone',
    description: 'The new counter.',
    examples: [{ talkgroup_id: EXAMPLE.talkgroup, rotation_counter: 3 }],
  },
);

/** Epochs in one answer. */
export const EPOCHS_MAX = 4;
const COUNTER = /^(0|[1-9]\d{0,9})$/;

export const EpochQuery = Type.Object({
  talkgroup_id: shownId('Id of the talkgroup.', EXAMPLE.talkgroup),
  holder_id: shownId('An accepted key holder of the caller.', EXAMPLE.holder),
  from: Type.Optional(
    Type.Refine(
      Type.String({
        description:
          'The newest counter of the page. Default: the present one. Send `next` of the last page.',
        [SHOWN_AS]: { type: 'integer', minimum: 0, maximum: COUNTER_MAX },
      }),
      (text) => COUNTER.test(text) && Number(text) <= COUNTER_MAX,
      () => 'must be a rotation counter',
    ),
  ),
  limit: limitInQuery({ maximum: EPOCHS_MAX, preset: EPOCHS_MAX }),
});

export const Epochs = Type.Object(
  {
    talkgroup_id: Id,
    rotation_counter: Type.Integer({ description: 'The newest counter.' }),
    epochs: Type.Array(
      Type.Object({
        rotation_counter: Type.Integer(),
        enc: Type.String({ description: 'Encapsulated secret of HPKE: 65 bytes in base64url.' }),
        sealed: Type.String({ description: 'Encrypted key of the epoch: 48 bytes in base64url.' }),
      }),
      { description: 'At most 4, newest first.' },
    ),
    next: Type.Union([Type.Integer(), Type.Null()], {
      description: 'Value of `from` for the next page, null on the last page.',
    }),
  },
  {
    title: 'Epochs',
    description: 'The keys of the epochs, sealed for the key holder.',
    examples: [
      {
        talkgroup_id: EXAMPLE.talkgroup,
        rotation_counter: 3,
        epochs: [
          {
            rotation_counter: 3,
            enc: 'BGsX0fLhLEJH-Lzm5WOkQPJ3A32BLeszoPShOUXYmMKWT-NC4v4af5uO5-tKfA-eFivOM1drMV7Oy7ZAaDe_UfU',
            sealed: 'oKGio6SlpqeoqaqrrK2ur6ChoqOkpaanqKmqq6ytrq-goaKjpKWmp6ipqqusra6v',
          },
        ],
        next: null,
      },
    ],
  },
);

/** Body of the permission. */
export const KeyPermission = Type.Object(
  { allowed: Type.Boolean({ description: 'Whether the member may have keys.' }) },
  { title: 'KeyPermission', examples: [{ allowed: true }] },
);

export const TalkgroupInPath = idInPath('Id of the talkgroup.', EXAMPLE.talkgroup);
export const MemberInPath = Type.Object({
  ...TalkgroupInPath.properties,
  user_id: shownId('Id of the user.', EXAMPLE.user),
});

export const MemberKeys = Type.Object(
  {
    user_id: Id,
    username: Type.String(),
    may_have_keys: Type.Boolean({ description: 'Counts where encryption is required.' }),
    holders: Type.Integer({ description: 'Number of accepted key holders of the user.' }),
  },
  { title: 'MemberKeys' },
);

export const MemberKeysList = OnePage(
  { members: Type.Array(MemberKeys) },
  {
    title: 'MemberKeysList',
    description: 'One page of the members.',
    examples: [
      {
        members: [{ user_id: EXAMPLE.user, username: 'ann', may_have_keys: true, holders: 1 }],
        next: null,
      },
    ],
  },
);

export const Rotation = Type.Object(
  {
    talkgroup_id: Id,
    rotation_counter: Type.Integer({ description: 'Clients derive the current key from it. Starts at 0.' }),
  },
  {
    title: 'Rotation',
    description: 'The counter.',
    examples: [{ talkgroup_id: EXAMPLE.talkgroup, rotation_counter: 3 }],
  },
);
