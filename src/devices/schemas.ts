// Declares devices as administrators see them.

import { EXAMPLE } from '../examples.js';
import { InListings, listingQuery } from '../http/paging.js';
import { Id, Text, Timestamp } from '../http/schemas.js';
import { type Static, Type } from '../typebox.js';

export const Device = Type.Object(
  {
    id: Id,
    name: Type.String({ description: 'At first the serial.' }),
    site: Type.String({ description: '`unknown` when the registration that created the device named none.' }),
    serial: Type.String(),
    active: Type.Boolean({ description: 'false: users of this device cannot authenticate.' }),
    created_at: Timestamp,
  },
  { title: 'Device' },
);

const exampleDevice = {
  id: EXAMPLE.device,
  name: 'SN-1',
  site: 'Depot',
  serial: 'SN-1',
  active: true,
  created_at: EXAMPLE.at,
};

/** The columns that the list is sorted by. */
export const DEVICE_COLUMNS = {
  name: 'text',
  serial: 'text',
  site: 'text',
  active: 'number',
  created_at: 'number',
} as const;

export const DeviceQuery = listingQuery({
  columns: DEVICE_COLUMNS,
  found: 'the name, the serial or the site',
  maximum: 1000,
});

export const DeviceList = InListings(
  { devices: Type.Array(Device) },
  {
    title: 'DeviceList',
    description: 'The devices.',
    examples: [{ devices: [exampleDevice], next: null }],
  },
);

/** The caller as its token names it, and the device that is linked to it. */
export const Me = Type.Object(
  {
    user: Type.Object({
      id: Id,
      username: Type.String(),
      role: Type.Enum(['admin', 'user'], {
        description: 'The role in the token.',
      }),
      dispatcher: Type.Boolean({
        description:
          'Whether the user has the rights of a dispatcher beside the role. An administrator has them anyway.',
      }),
    }),
    device: Type.Union([Device, Type.Null()], { description: 'null when the user has no linked device.' }),
  },
  {
    title: 'Me',
    description: 'The caller.',
    examples: [
      { user: { id: EXAMPLE.user, username: 'ann', role: 'user', dispatcher: false }, device: exampleDevice },
    ],
  },
);

export const DeviceStatus = Type.Object(
  {
    active: Type.Boolean({
      description: 'false: users of this device cannot log in, and their tokens and sockets are rejected.',
    }),
  },
  { title: 'DeviceStatus', examples: [{ active: false }] },
);

/** What is left out stays as it is. */
export type DeviceChange = Static<typeof DeviceChange>;
export const DeviceChange = Type.Partial(
  Type.Object({
    name: Text('1 to 128 visible characters with single spaces between them. Need not be unique.'),
    site: Text(
      '1 to 128 visible characters with single spaces between them. Memberships keep the site of their join.',
    ),
  }),
  { title: 'DeviceChange', examples: [{ name: 'Engine 4', site: 'Depot' }] },
);

export const OneDevice = Type.Object(
  { device: Device },
  { title: 'OneDevice', description: 'The device.', examples: [{ device: exampleDevice }] },
);
