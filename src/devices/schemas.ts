// Devices as administrators see them.
import { Type } from 'typebox';
import { Id, Timestamp } from '../http/schemas.js';

export const Device = Type.Object({
  id: Id,
  name: Type.String(),
  site: Type.String(),
  serial: Type.String(),
  active: Type.Boolean(),
  created_at: Timestamp,
});

export const DeviceList = Type.Object({ devices: Type.Array(Device) });

export const DeviceStatus = Type.Object({
  active: Type.Boolean({ description: 'false: its users cannot log in, and their tokens and sockets end' }),
});
