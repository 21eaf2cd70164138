// Writes EMERGENCY, an emergency as snapshots show it, and as relays tell each other of it.
import type { EmergencyRow } from '../../directory/records.js';
import type { DeviceId, UserId } from '../../ids.js';
import { Emergency, Id, RelayedName } from '../../protocol/bodies.js';
import type { EmergencyState } from '../../protocol/codes.js';
import { type Draft, textOf } from '../../protocol/server-messages.js';
import { type Static, Type } from '../../typebox.js';
import type { Talkgroup } from '../members/members.js';

/** An emergency whose last change its relay has not stored, and who made the changes. */
export type UnsavedEmergency = Draft<Static<typeof UnsavedEmergency>>;
export const UnsavedEmergency = Type.Object({
  ...Emergency.properties,
  username: RelayedName,
  acknowledged_by: Type.Optional(Id),
  cleared_by: Type.Optional(Id),
  /** Of the user. Left out: none. */
  device_id: Type.Optional(Id),
});

export function emergencyBody(
  talkgroup: Pick<Talkgroup, 'id'>,
  emergency: EmergencyRow,
  state: EmergencyState,
): Emergency {
  const { id, user_id, username, lat, lng, alt, raised_at } = emergency;
  return {
    emergency_id: id,
    talkgroup_id: talkgroup.id,
    user_id,
    username,
    state,
    ...(lat !== null && { lat }),
    ...(lng !== null && { lng }),
    ...(alt !== null && { alt }),
    raised_at,
  };
}

export const emergencyText = (
  talkgroup: Talkgroup,
  emergency: EmergencyRow,
  state: EmergencyState,
  event: number,
) => textOf({ type: 'EMERGENCY', event, ...emergencyBody(talkgroup, emergency, state) });

/** The emergency that another relay tells of. */
export const emergencyOf = (told: UnsavedEmergency): EmergencyRow => ({
  id: told.emergency_id,
  user_id: told.user_id as UserId,
  username: told.username,
  state: told.state === 'acknowledged' ? 'acknowledged' : 'raised',
  lat: told.lat ?? null,
  lng: told.lng ?? null,
  alt: told.alt ?? null,
  raised_at: told.raised_at,
  device_id: (told.device_id as DeviceId | undefined) ?? null, // as the relay of the user has it
  fix: null,
});
