// Emergencies as clients see them, by REST and, with an event number, in the relay's EMERGENCY.
import { Type } from 'typebox';
import { InPages } from '../http/paging.js';
import { Id, Timestamp } from '../http/schemas.js';

/** `raised`, then `acknowledged` by an administrator, then `cleared`; only the first two are ever listed. */
const EmergencyState = Type.Enum(['raised', 'acknowledged', 'cleared']);

export const Emergency = Type.Object({
  emergency_id: Id,
  talkgroup_id: Id,
  user_id: Id,
  username: Type.String(),
  state: EmergencyState,
  // Where the radio was when it called, as far as it knew.
  lat: Type.Optional(Type.Number()),
  lng: Type.Optional(Type.Number()),
  alt: Type.Optional(Type.Number()),
  raised_at: Timestamp,
});

export const EmergencyList = InPages({ emergencies: Type.Array(Emergency) });
