// Declares users as administrators see them. No schema has a password or its hash.

import { EXAMPLE } from '../examples.js';
import { listingQuery, OneListing } from '../http/paging.js';
import { Id, idInPath, Timestamp } from '../http/schemas.js';
import { isPrintable } from '../text.js';
import { Type } from '../typebox.js';

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

export const User = Type.Object(
  {
    id: Id,
    username: Type.String(),
    role: Type.Enum(['admin', 'user'], {
      description: 'The stored role. Tokens from before a promotion have the earlier role.',
    }),
    device_id: Type.Union([Id, Type.Null()], { description: 'null when the user has no linked device.' }),
    created_at: Timestamp,
  },
  { title: 'User' },
);

const example = {
  id: EXAMPLE.user,
  username: 'ann',
  role: 'user',
  device_id: EXAMPLE.device,
  created_at: EXAMPLE.at,
};

export const UserList = OneListing(
  { users: Type.Array(User) },
  {
    title: 'UserList',
    description: 'One page of the users.',
    examples: [{ users: [example], next: EXAMPLE.user }],
  },
);

export const UserInPath = idInPath('Id of the user.', EXAMPLE.user);
