// Describes a talkgroup as it is now, for a client that joins it, resumes, or may have missed events.
import type { Snapshot } from '../../protocol/bodies.js';
import { fixBody } from '../../protocol/fix.js';
import type { Draft } from '../../protocol/server-messages.js';
import { emergencyBody } from '../emergencies/messages.js';
import type { Bursts } from '../floor/bursts.js';
import { talkersIn } from '../floor/messages.js';
import type { Membership } from '../members/members.js';

/** What a client needs to take part in the talkgroup from now on. `online` counts sessions. */
export const snapshotOf = (
  { talkgroup, mayHaveKeys }: Membership,
  { bursts, online, nowMs }: { readonly bursts: Bursts; readonly online: number; readonly nowMs: number },
): Draft<Snapshot> => ({
  talkgroup_id: talkgroup.id,
  number: talkgroup.number,
  name: talkgroup.name,
  rotation_counter: talkgroup.rotationCounter,
  floor_mode: talkgroup.floorMode,
  max_talk_ms: talkgroup.maxTalkMs,
  encryption: talkgroup.encryption,
  clear_emergency: talkgroup.emergencyMayBeClear,
  recording_days: talkgroup.recordingDays,
  talk_counter: talkgroup.epochs.talkCounter(nowMs),
  use_in_ms: talkgroup.epochs.useInMs(nowMs),
  may_have_keys: mayHaveKeys,
  event: talkgroup.feed.event,
  talkers: talkersIn(talkgroup, bursts),
  talkers_total: bursts.countIn(talkgroup),
  emergencies: talkgroup.newestEmergencies.map((emergency) => {
    const fix = talkgroup.fixIn(emergency);
    const position = fix === null ? {} : { position: { device_id: fix.deviceId, ...fixBody(fix) } };
    return { ...emergencyBody(talkgroup, emergency, emergency.state), ...position };
  }),
  emergencies_total: talkgroup.emergencies.size,
  online,
});
