// Keeps the open emergencies of a radio's talkgroups up to date from snapshots and events.
import type { Emergency, Snapshot } from '../../protocol/types.js';

export type Emergencies = {
  /** The open emergencies by id. */
  readonly open: ReadonlyMap<string, Emergency>;
  /** Takes over the open emergencies of a snapshot. Others are cleared, except older ones that it has no room for. */
  take(snapshot: Pick<Snapshot, 'talkgroup_id' | 'emergencies' | 'emergencies_total'>): void;
  follow(emergency: Emergency): void;
  /** The radio is not subscribed to the talkgroup any more. */
  left(talkgroupId: string): void;
};

/** Creates an empty list. Calls `changed` for every new state, `cleared` included, and for emergencies of snapshots. */
export function createEmergencies(changed: (emergency: Emergency) => void): Emergencies {
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
      }
    },
    follow,
    left(talkgroupId) {
      for (const { emergency_id } of inTalkgroup(talkgroupId)) open.delete(emergency_id);
    },
  };

  function inTalkgroup(talkgroupId: string): Emergency[] {
    return [...open.values()].filter((emergency) => emergency.talkgroup_id === talkgroupId);
  }

  function follow(emergency: Emergency): void {
    if (emergency.state === 'cleared') open.delete(emergency.emergency_id);
    else open.set(emergency.emergency_id, emergency);
    changed(emergency);
  }
}
