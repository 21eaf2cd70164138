// Declares users as administrators see them. No schema has a password or its hash.

import { EXAMPLE } from '../examples.js';
import { listingQuery, OneListing } from '../http/paging.js';
import { Id, Timestamp } from '../http/schemas.js';
import { encryptions, floorModes } from '../protocol/codes.js';
import { isPrintable } from '../text.js';
import { type Static, Type } from '../typebox.js';

/** Users of a page without `limit`. */
export const USERS_PRESET = 50;

/** No username has more characters. */
const START_CHARACTERS_MAX = 64;

/** The columns that the list is sorted by. */
export const USER_COLUMNS = { username: 'text', role: 'text', created_at: 'number' } as const;

export const UserQuery = Type.Object({
  ...listingQuery({
    columns: USER_COLUMNS,
    found: 'the username, or in the name, the serial or the site of the linked device',
    ...{ maximum: 200, preset: USERS_PRESET },
  }).properties,
  q: Type.Optional(
    Type.Refine(
      Type.String({
        maxLength: START_CHARACTERS_MAX,
        description: 'Start of the username. It is plain text. The letters a to z match in both cases.',
      }),
      isPrintable,
      () => 'must not contain control characters or unpaired surrogates',
    ),
  ),
});

const Device = Type.Object({
  name: Type.String(),
  serial: Type.String(),
  active: Type.Boolean({ description: 'false: the users of this device cannot authenticate.' }),
});

const account = {
  id: Id,
  username: Type.String(),
  role: Type.Enum(['admin', 'user'], {
    description: 'The stored role. Tokens from before a promotion have the earlier role.',
  }),
  dispatcher: Type.Boolean({
    description:
      'Whether the user has the rights of a dispatcher beside the role. An administrator has them anyway.',
  }),
  device_id: Type.Union([Id, Type.Null()], { description: 'null when the user has no linked device.' }),
  created_at: Timestamp,
};

export type User = Static<typeof User>;
export const User = Type.Object(
  {
    ...account,
    device: Type.Union([Device, Type.Null()], { description: 'null when the user has no linked device.' }),
  },
  { title: 'User' },
);

const exampleAccount = {
  id: EXAMPLE.user,
  username: 'ann',
  role: 'user',
  dispatcher: false,
  device_id: EXAMPLE.device,
  created_at: EXAMPLE.at,
};
const exampleDevice = { name: 'Engine 4', serial: 'SN-1', active: true };
const example = { ...exampleAccount, device: exampleDevice };

export const UserList = OneListing(
  { users: Type.Array(User) },
  {
    title: 'UserList',
    description: 'One page of the users.',
    examples: [{ users: [example], next: EXAMPLE.user }],
  },
);

export type OneUser = Static<typeof OneUser>;
export const OneUser = Type.Object(
  {
    user: Type.Object(account),
    device: Type.Union(
      [
        Type.Object({
          id: Id,
          ...Device.properties,
          site: Type.String(),
          position_at: Type.Union([Timestamp, Type.Null()], {
            description: 'Time of the latest position. null: none is recorded.',
          }),
        }),
        Type.Null(),
      ],
      { description: 'null when the user has no linked device.' },
    ),
    talkgroups: Type.Array(
      Type.Object({
        id: Id,
        name: Type.String(),
        site: Type.String(),
        floor_mode: Type.Enum(floorModes),
        encryption: Type.Enum(encryptions),
        may_have_keys: Type.Boolean({
          description: 'Where encryption is required: whether the user gets keys, hears and talks.',
        }),
      }),
      { description: 'In the order in which the user joined, at most 1,000.' },
    ),
    talkgroups_total: Type.Integer({ description: 'Number of all talkgroups of the user.' }),
    tokens_valid_from: Type.Union([Timestamp, Type.Null()], {
      description: 'Tokens that were issued earlier are revoked. null: no token was revoked.',
    }),
    key_holders: Type.Object({
      accepted: Type.Integer(),
      waiting: Type.Integer({ description: 'Number of key holders that wait to be accepted.' }),
    }),
    emergencies: Type.Array(Id, { description: 'Ids of the open emergencies of the user, oldest first.' }),
  },
  {
    title: 'OneUser',
    description: 'The user, with device, talkgroups, key holders and open emergencies.',
    examples: [
      {
        user: exampleAccount,
        device: { id: EXAMPLE.device, ...exampleDevice, site: 'Depot', position_at: EXAMPLE.at },
        talkgroups: [
          {
            id: EXAMPLE.talkgroup,
            name: 'Fire 1',
            site: 'Depot',
            floor_mode: 'single',
            encryption: 'allowed',
            may_have_keys: false,
          },
        ],
        talkgroups_total: 1,
        tokens_valid_from: null,
        key_holders: { accepted: 1, waiting: 0 },
        emergencies: [],
      },
    ],
  },
);

export const UserChange = Type.Object(
  { dispatcher: Type.Boolean({ description: 'Whether the user is a dispatcher.' }) },
  { title: 'UserChange', examples: [{ dispatcher: true }] },
);

export const ChangedUser = Type.Object(
  { user: Type.Object(account) },
  {
    title: 'ChangedUser',
    description: 'The user after the change.',
    examples: [{ user: { ...exampleAccount, dispatcher: true } }],
  },
);
