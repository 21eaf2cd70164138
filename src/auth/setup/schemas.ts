// Declares setup codes, and the body that redeems one.
import { HOURS_MAX, HOURS_PRESET } from '../../credentials/setup-codes.js';
import { EXAMPLE } from '../../examples.js';
import { Text, Timestamp } from '../../http/schemas.js';
import { type Static, Type } from '../../typebox.js';
import { NewPassword, Registered } from '../schemas.js';

export const CodeOrder = Type.Object(
  {
    hours: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: HOURS_MAX,
        description: `How long the code is valid. Default: ${HOURS_PRESET}.`,
      }),
    ),
  },
  { title: 'CodeOrder', examples: [{ hours: 24 }] },
);

export const NewCode = Type.Object(
  {
    code: Type.String({
      description: '16 characters in groups of four. The service shows it once and keeps only a hash.',
    }),
    expires_at: Timestamp,
  },
  {
    title: 'NewCode',
    description: 'The code.',
    examples: [{ code: 'K7QF-2M9X-R4TD-0W8E', expires_at: EXAMPLE.at }],
  },
);

export const SetUp = Type.Object(Registered.properties, {
  title: 'SetUp',
  description: 'The user and its token.',
  examples: [{ jwt: EXAMPLE.jwt, userId: EXAMPLE.user }],
});

export type Setup = Static<typeof Setup>;
export const Setup = Type.Object(
  {
    code: Type.String({ description: 'The code. Case, hyphens and spaces do not matter.' }),
    password: NewPassword,
    deviceSerial: Type.Optional(
      Text(
        'Serial of the device to link, also in the place of another one. The service creates an unknown device.',
      ),
    ),
    site: Type.Optional(Text('Site of a device that this creates. Otherwise unused.')),
  },
  {
    title: 'Setup',
    examples: [{ code: 'K7QF-2M9X-R4TD-0W8E', password: 'correct horse battery', deviceSerial: 'SN-1' }],
  },
);
