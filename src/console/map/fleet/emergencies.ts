// Where the open emergencies are: followed by the relay, or the position of the user's device.
import type { Device, Fleet } from './fleet.js';
import type { OpenEmergency } from './wire.js';

export interface Place {
  readonly lat: number;
  readonly lng: number;
  /** Unix time (ms) of the server. */
  readonly atMs: number;
}

export interface EmergencyMark extends Place {
  readonly id: string;
  readonly userId: string;
  readonly username: string;
  readonly talkgroupId: string;
  readonly isAcknowledged: boolean;
}

/** Those with a place. `places`: the last EMERGENCY_POSITION of each. The latest place wins. */
export function marksOf(
  emergencies: readonly OpenEmergency[],
  places: ReadonlyMap<string, Place>,
  fleet: Fleet,
): EmergencyMark[] {
  if (emergencies.length === 0) return [];
  const byUser = latestByUser(fleet.devices.values());
  return emergencies.flatMap((emergency) => {
    const { emergency_id: id, user_id: userId, username, talkgroup_id: talkgroupId, state } = emergency;
    const known = [places.get(id), raisedAt(emergency), lastAt(emergency), byUser.get(userId)].filter(
      (one) => one !== undefined,
    );
    const [latest] = known.sort((a, b) => b.atMs - a.atMs);
    const isAcknowledged = state !== 'raised';
    return latest === undefined ? [] : [{ id, userId, username, talkgroupId, isAcknowledged, ...latest }];
  });
}

function raisedAt({ lat, lng, raised_at }: OpenEmergency): Place | undefined {
  return lat === undefined || lng === undefined ? undefined : { lat, lng, atMs: Date.parse(raised_at) };
}

function lastAt({ position }: OpenEmergency): Place | undefined {
  if (position === undefined) return undefined;
  return { lat: position.lat, lng: position.lng, atMs: Date.parse(position.updated_at) };
}

function latestByUser(devices: Iterable<Device>): Map<string, Place> {
  const places = new Map<string, Place>();
  for (const { userId, lat, lng, fixedAtMs: atMs } of devices) {
    if (!Number.isNaN(lat) && atMs > (places.get(userId)?.atMs ?? Number.NEGATIVE_INFINITY)) {
      places.set(userId, { lat, lng, atMs });
    }
  }
  return places;
}
