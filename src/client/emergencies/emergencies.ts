// Keeps the open emergencies of a radio's talkgroups up to date from snapshots and events.
import type { DevicePosition, Emergency, ServerMessageOf, Snapshot } from '../../protocol/types.js';

export type Emergencies = {
  /** The open emergencies by id. */
  readonly open: ReadonlyMap<string, Emergency>;
  /** Takes over the open emergencies of a snapshot. Others are cleared, except older ones that it has no room for. */
  take(snapshot: Pick<Snapshot, 'talkgroup_id' | 'emergencies' | 'emergencies_total'>): void;
  follow(emergency: Emergency): void;
  /** Where the user of an open emergency is now. */
  moved(message: ServerMessageOf<'EMERGENCY_POSITION'>): void;
  /** The radio is not subscribed to the talkgroup any more. */
  left(talkgroupId: string): void;
};

/** An open emergency, and where the device of its user is. */
export type EmergencyPosition = { readonly emergency: Emergency; readonly position: DevicePosition };

/**
 * Creates an empty list. Calls `changed` for every new state, `cleared` included, and for emergencies of snapshots. Calls
 * `moved` for each new position.
 */
export function createEmergencies(
  changed: (emergency: Emergency) => void,
  moved: (moved: EmergencyPosition) => void,
): Emergencies {
  const open = new Map<string, Emergency>();
  return {
    open,
    take({ talkgroup_id, emergencies: now, emergencies_total }) {
      const present = new Set(now.map(({ emergency_id }) => emergency_id));
      // Older emergencies than this may be missing from the snapshot. Empty if the snapshot has all.
      const oldest = (emergencies_total > now.length && now.at(-1)?.raised_at) || '';
      for (const emergency of inTalkgroup(talkgroup_id)) {
        if (!present.has(emergency.emergency_id) && emergency.raised_at >= oldest)
          follow({ ...emergency, state: 'cleared' });
      }
      // The oldest first, in the order in which they were raised.
      for (const emergency of now.toReversed()) {
        if (open.get(emergency.emergency_id)?.state !== emergency.state) follow(emergency);
        else if (emergency.position) move(emergency.emergency_id, emergency.position);
      }
    },
    follow,
    moved({ type, emergency_id, talkgroup_id, user_id, ...position }) {
      move(emergency_id, position);
    },
    left(talkgroupId) {
      for (const { emergency_id } of inTalkgroup(talkgroupId)) open.delete(emergency_id);
    },
  };

  function inTalkgroup(talkgroupId: string): Emergency[] {
    return [...open.values()].filter((emergency) => emergency.talkgroup_id === talkgroupId);
  }

  /** EMERGENCY has no position: the last one stays. */
  function follow(emergency: Emergency): void {
    const { emergency_id: id } = emergency;
    const position = emergency.position ?? open.get(id)?.position;
    const now = position === undefined ? emergency : { ...emergency, position };
    if (emergency.state === 'cleared') open.delete(id);
    else open.set(id, now);
    changed(now);
  }

  function move(id: string, position: DevicePosition): void {
    const known = open.get(id);
    if (known === undefined || known.position?.updated_at === position.updated_at) return;
    const emergency = { ...known, position };
    open.set(id, emergency);
    moved({ emergency, position });
  }
}
