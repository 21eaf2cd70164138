// Keeps the open emergencies of a radio's talkgroups up to date from snapshots and events.
import type { Emergency, Snapshot } from '../../protocol/types.js';

export type Emergencies = {
  /** The open ones by id. */
  readonly open: ReadonlyMap<string, Emergency>;
  /** These are open in the talkgroup, and no others but older ones that the snapshot had no room for. */
  take(snapshot: Pick<Snapshot, 'talkgroup_id' | 'emergencies' | 'emergencies_total'>): void;
  follow(emergency: Emergency): void;
  /** We hear nothing of the talkgroup any more. */
  left(talkgroupId: string): void;
};

/** Creates an empty list. Calls `changed` for every new state, `cleared` included, and for emergencies of snapshots. */
export function createEmergencies(changed: (emergency: Emergency) => void): Emergencies {
  const open = new Map<string, Emergency>();
  return {
    open,
    take({ talkgroup_id, emergencies: now, emergencies_total }) {
      const present = new Set(now.map(({ emergency_id }) => emergency_id));
      // Of those before it the snapshot says nothing: none when it has all.
      const oldest = (emergencies_total > now.length && now.at(-1)?.raised_at) || '';
      for (const emergency of inTalkgroup(talkgroup_id)) {
        if (!present.has(emergency.emergency_id) && emergency.raised_at >= oldest)
          follow({ ...emergency, state: 'cleared' });
      }
      // The oldest first, as they came.
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
