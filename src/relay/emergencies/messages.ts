// Writes EMERGENCY, and an emergency as snapshots show it.
import type { EmergencyRow } from '../../directory/records.js';
import type { Emergency } from '../../protocol/bodies.js';
import type { EmergencyState } from '../../protocol/codes.js';
import { textOf } from '../../protocol/server-messages.js';
import type { Talkgroup } from '../members/members.js';

export function emergencyBody(
  talkgroup: Talkgroup,
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
