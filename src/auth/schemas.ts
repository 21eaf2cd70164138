// Declares the bodies of registration, login and password change.

import { isPassword, PASSWORD_BYTES_MAX } from '../credentials/passwords.js';
import { isNewUsername } from '../credentials/usernames.js';
import { EXAMPLE } from '../examples.js';
import { Id, Text } from '../http/schemas.js';
import { CLEAR_TEXT_RULE } from '../text.js';
import { type Static, Type } from '../typebox.js';

const Username = Type.Refine(
  Type.String({
    minLength: 1,
    description: '1 to 64 visible characters with single spaces between them. Case-sensitive.',
  }),
  isNewUsername,
  () => `must be 1 to 64 characters and ${CLEAR_TEXT_RULE}`,
);

export const NewPassword = Type.Refine(
  Type.String({
    minLength: 1,
    description: '1 to 72 bytes of UTF-8 without NUL. The operator may set a minimum length.',
  }),
  isPassword,
  () => `must be 1 to ${PASSWORD_BYTES_MAX} bytes of UTF-8 without NUL`,
);

export type Registration = Static<typeof Registration>;
export const Registration = Type.Object(
  {
    username: Username,
    password: NewPassword,
    deviceSerial: Type.Optional(Text('Serial of the device to link. The service creates an unknown device.')),
    site: Type.Optional(Text('Site of a device that this registration creates. Otherwise unused.')),
  },
  {
    title: 'Registration',
    examples: [{ username: 'ann', password: 'ann-secret', deviceSerial: 'SN-1', site: 'Depot' }],
  },
);

const Token = Type.String({ description: 'The token for the `Authorization` header. It does not expire.' });

export const Registered = Type.Object(
  { jwt: Token, userId: Id },
  {
    title: 'Registered',
    description: 'The new account and its token.',
    examples: [{ jwt: EXAMPLE.jwt, userId: EXAMPLE.user }],
  },
);

export type Login = Static<typeof Login>;
/** Any text: what cannot be a name or a password is simply not the right one. */
export const Login = Type.Object(
  {
    username: Type.String(),
    password: Type.String(),
    deviceSerial: Type.Optional(Text('Serial of the device to link to an account that has none.')),
    site: Type.Optional(Text('Site of a device that this login creates. Otherwise unused.')),
  },
  { title: 'Login', examples: [{ username: 'ann', password: 'ann-secret' }] },
);

export const LoggedIn = Type.Object(
  { jwt: Token },
  { title: 'LoggedIn', description: 'A new token.', examples: [{ jwt: EXAMPLE.jwt }] },
);

export type PasswordSetting = Static<typeof PasswordSetting>;
export const PasswordSetting = Type.Object(
  {
    password: NewPassword,
    keep_tokens: Type.Optional(
      Type.Boolean({ description: 'true: the radios of the user stay logged in. Default: false.' }),
    ),
  },
  { title: 'PasswordSetting', examples: [{ password: 'correct horse battery', keep_tokens: false }] },
);

export type PasswordChange = Static<typeof PasswordChange>;
export const PasswordChange = Type.Object(
  { oldPassword: Type.String(), newPassword: NewPassword },
  {
    title: 'PasswordChange',
    examples: [{ oldPassword: 'ann-secret', newPassword: 'correct horse battery' }],
  },
);
