// The open emergencies of a radio's talkgroups, kept by snapshots and events.
import type { Emergency } from './bodies.js';

export type Emergencies = {
  /** The open ones by id. */
  readonly open: ReadonlyMap<string, Emergency>;
  /** These and no others are open in the talkgroup. */
  take(talkgroupId: string, open: Emergency[]): void;
  follow(emergency: Emergency): void;
  /** We hear nothing of the talkgroup any more. */
  left(talkgroupId: string): void;
};

/** None yet; `changed` is told of every new state, `cleared` included, also of those found on arrival. */
export function createEmergencies(changed: (emergency: Emergency) => void): Emergencies {
  const open = new Map<string, Emergency>();
  return {
    open,
    take(talkgroupId, now) {
      const present = new Set(now.map(({ emergency_id }) => emergency_id));
      for (const emergency of inTalkgroup(talkgroupId)) {
        if (!present.has(emergency.emergency_id)) follow({ ...emergency, state: 'cleared' });
      }
      for (const emergency of now) {
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
