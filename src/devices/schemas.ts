// Devices as administrators see them.
import { Type } from 'typebox';
import { InPages } from '../http/paging.js';
import { Id, Timestamp } from '../http/schemas.js';

export const Device = Type.Object({
  id: Id,
  name: Type.String(),
  site: Type.String(),
  serial: Type.String(),
  active: Type.Boolean(),
  created_at: Timestamp,
});

export const DeviceList = InPages({ devices: Type.Array(Device) });

/** The caller as its token names it, and the device that is linked to it. */
export const Me = Type.Object({
  user: Type.Object({
    id: Id,
    username: Type.String(),
    role: Type.Enum(['admin', 'user'], {
      description: 'As the token has it, which is what every route applies',
    }),
  }),
  device: Type.Union([Device, Type.Null()]),
});

export const DeviceStatus = Type.Object({
  active: Type.Boolean({ description: 'false: its users cannot log in, and their tokens and sockets end' }),
});
